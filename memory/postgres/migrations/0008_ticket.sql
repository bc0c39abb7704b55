-- The tickets of create_ticket, where no INTERLOCK_GITHUB_REPO is set. The key is that of the call: one call is one ticket.
-- depends: 0006_release

CREATE TABLE interlock.ticket (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title text NOT NULL,
    body text NOT NULL,
    labels text[] NOT NULL,
    idempotency_key text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
