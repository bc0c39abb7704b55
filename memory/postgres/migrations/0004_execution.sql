-- The ledger. A row is written before an effect (intent) and again after it (outcome): one that stays at 'started' tells
-- that nobody knows. Results are kept in full. Late news of an attempt that was given up joins `late`, and changes nothing.
-- depends: 0003_approval

CREATE TABLE interlock.execution (
    call_key text PRIMARY KEY,
    thread_id text NOT NULL REFERENCES interlock.run,
    tool_call_id text NOT NULL,
    tool text NOT NULL,
    args json NOT NULL,
    args_sha256 text NOT NULL,
    critical boolean NOT NULL,
    approval_id text REFERENCES interlock.approval,
    idempotency_key text NOT NULL,
    status text NOT NULL CHECK (status IN ('started', 'succeeded', 'failed', 'unknown', 'abandoned')),
    attempts integer NOT NULL DEFAULT 1,
    lease_epoch bigint NOT NULL,
    result text,
    error text,
    late json,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    CHECK ((status IN ('succeeded', 'failed', 'abandoned')) = (finished_at IS NOT NULL))
);

CREATE INDEX execution_thread ON interlock.execution (thread_id, started_at);
