-- What people are to be told, written in the transaction of what it tells: an event that is rolled back is not told, and none is
-- forgotten. A row is one message to one target, named by its place in the policy file's list, because its address holds secrets.
-- depends: 0004_execution

CREATE TABLE interlock.notification (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread_id text NOT NULL REFERENCES interlock.run,
    approval_id text REFERENCES interlock.approval,
    event text NOT NULL CHECK (event IN ('asked', 'reminder', 'escalated', 'expired', 'unknown_outcome', 'ended')),
    target integer NOT NULL,
    about text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts integer NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_at timestamptz,
    sent_at timestamptz,
    given_up_at timestamptz,
    error text
);

CREATE INDEX notification_due ON interlock.notification (next_at) WHERE sent_at IS NULL AND given_up_at IS NULL;
