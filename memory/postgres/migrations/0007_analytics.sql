-- What read_database reads until INTERLOCK_ANALYTICS_URL names something better: the invented figures of a small shop, in a schema
-- of their own, so that the account that reads them can be kept from everything else. That account is made at the first query.
-- depends: 0006_release

CREATE TABLE interlock.analytics_reader (
    role text PRIMARY KEY,
    password text NOT NULL
);

CREATE SCHEMA interlock_analytics;

CREATE TABLE interlock_analytics.customers (
    customer_id integer PRIMARY KEY,
    name text NOT NULL,
    country text NOT NULL,
    plan text NOT NULL,
    since date NOT NULL,
    closed_on date
);
COMMENT ON TABLE interlock_analytics.customers IS 'Companies that buy from us; closed_on is empty while they are customers. Invented.';

CREATE TABLE interlock_analytics.users (
    user_id integer PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES interlock_analytics.customers,
    email text NOT NULL UNIQUE,
    role text NOT NULL,
    last_seen_at timestamptz
);
COMMENT ON TABLE interlock_analytics.users IS 'People who may log in, each of one customer; last_seen_at is empty for those who never did. Invented.';

CREATE TABLE interlock_analytics.orders (
    order_id integer PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES interlock_analytics.customers,
    ordered_on date NOT NULL,
    product text NOT NULL,
    quantity integer NOT NULL,
    amount numeric(10, 2) NOT NULL,
    status text NOT NULL
);
COMMENT ON TABLE interlock_analytics.orders IS 'Orders of the first half of 2026; amount is in euros, status is paid, open or refunded. Invented.';

CREATE TABLE interlock_analytics.deployments (
    deployment_id integer PRIMARY KEY,
    project text NOT NULL,
    version text NOT NULL,
    environment text NOT NULL,
    deployed_at timestamptz NOT NULL,
    succeeded boolean NOT NULL,
    note text
);
COMMENT ON TABLE interlock_analytics.deployments IS 'What was deployed in June 2026, and how it went. Invented.';

INSERT INTO interlock_analytics.customers VALUES
    (1, 'Almhof Bakeries', 'AT', 'team', '2023-04-11', NULL),
    (2, 'Bright Harbour Shipping', 'IE', 'enterprise', '2022-09-01', NULL),
    (3, 'Café Mirabelle', 'FR', 'starter', '2025-01-20', NULL),
    (4, 'Dunes Outdoor', 'NL', 'team', '2024-06-15', NULL),
    (5, 'Eskola & Pojat', 'FI', 'team', '2023-11-03', NULL),
    (6, 'Fjord Analytics', 'NO', 'enterprise', '2021-05-27', NULL),
    (7, 'Granja del Sol', 'ES', 'starter', '2025-08-09', '2026-04-30'),
    (8, 'Hollow Oak Press', 'GB', 'starter', '2024-12-01', NULL),
    (9, 'Ilmarinen Tools', 'EE', 'team', '2024-02-29', NULL),
    (10, 'Jansen Fietsen', 'NL', 'starter', '2025-10-14', NULL),
    (11, 'Krüger Medizintechnik', 'DE', 'enterprise', '2022-03-08', NULL),
    (12, 'Lumen Studio', 'PT', 'team', '2025-05-05', '2026-02-28');

INSERT INTO interlock_analytics.users
SELECT number, 1 + number * 5 % 12,
    (ARRAY['ana', 'bruno', 'clara', 'dirk', 'elif', 'finn', 'greta', 'hugo', 'ines', 'jonas', 'karin', 'liam'])[1 + number * 7 % 12]
        || '.' || number || '@example.com',
    CASE WHEN number % 6 = 0 THEN 'admin' WHEN number % 6 = 3 THEN 'viewer' ELSE 'member' END,
    CASE WHEN number % 9 <> 4 THEN timestamptz '2026-06-30 17:00:00+00' - number * number * interval '97 minutes' END
FROM generate_series(1, 36) AS number;

INSERT INTO interlock_analytics.orders
SELECT number, 1 + number * 7 % 12, date '2026-01-05' + number * 3,
    (ARRAY['seats', 'storage', 'support', 'training'])[1 + number * 3 % 4], 1 + number * 11 % 9,
    (1 + number * 11 % 9) * (ARRAY[19.90, 49.00, 240.00, 15.50])[1 + number % 4],
    CASE WHEN number % 13 = 6 THEN 'refunded' WHEN number > 54 THEN 'open' ELSE 'paid' END
FROM generate_series(1, 58) AS number;

INSERT INTO interlock_analytics.deployments VALUES
    (1, 'shop', '1.3.0', 'staging', '2026-06-01 09:12:00+00', true, NULL),
    (2, 'shop', '1.3.0', 'production', '2026-06-02 08:30:00+00', true, NULL),
    (3, 'billing', '4.0.1', 'production', '2026-06-04 13:45:00+00', true, 'new tax rates'),
    (4, 'search', '0.9.0', 'staging', '2026-06-08 10:05:00+00', false, 'index did not fit into memory'),
    (5, 'search', '0.9.1', 'staging', '2026-06-09 15:20:00+00', true, NULL),
    (6, 'shop', '1.4.0', 'staging', '2026-06-15 09:00:00+00', true, NULL),
    (7, 'shop', '1.4.0', 'production', '2026-06-16 08:30:00+00', false, 'checkout answered 500, rolled back after 6 minutes'),
    (8, 'shop', '1.3.0', 'production', '2026-06-16 08:36:00+00', true, 'rollback of 1.4.0'),
    (9, 'shop', '1.4.1', 'production', '2026-06-18 08:30:00+00', true, NULL),
    (10, 'billing', '4.0.2', 'production', '2026-06-22 14:10:00+00', true, NULL),
    (11, 'search', '0.9.1', 'production', '2026-06-24 09:40:00+00', true, NULL),
    (12, 'billing', '4.1.0', 'staging', '2026-06-29 16:25:00+00', true, NULL);

CREATE VIEW interlock_analytics.monthly_revenue AS
SELECT to_char(ordered_on, 'YYYY-MM') AS month, count(*) AS orders, sum(amount) AS revenue
FROM interlock_analytics.orders
WHERE status = 'paid'
GROUP BY 1
ORDER BY 1;
COMMENT ON VIEW interlock_analytics.monthly_revenue IS 'What was paid in each month, in euros.';
