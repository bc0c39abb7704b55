-- One row a question to people, bound by hash to what will run; one row a vote. A modification makes a new version of the
-- same question, and votes count for the version they were given for. `rules` keeps what the policy said when it was asked.
-- depends: 0002_run

CREATE TABLE interlock.approval (
    approval_id text PRIMARY KEY,
    thread_id text NOT NULL REFERENCES interlock.run,
    call_key text NOT NULL,
    tool_call_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('pre_execution', 'unknown_outcome', 'compensation', 'final_answer')),
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'escalated', 'cancelled')),
    tool text NOT NULL,
    args json NOT NULL,
    args_sha256 text NOT NULL,
    proposed_args json NOT NULL,
    schema_sha256 text NOT NULL,
    note text NOT NULL DEFAULT '',
    said text NOT NULL DEFAULT '',
    tier integer NOT NULL CHECK (tier >= 1),
    required integer NOT NULL CHECK (required >= 1),
    rules json NOT NULL,
    version integer NOT NULL DEFAULT 1,
    graph_version text NOT NULL,
    outcome json,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    decided_at timestamptz,
    CHECK ((status = 'pending') = (decided_at IS NULL))
);

CREATE INDEX approval_thread ON interlock.approval (thread_id);
CREATE INDEX approval_pending ON interlock.approval (requested_at) WHERE status = 'pending';

CREATE TABLE interlock.decision (
    approval_id text NOT NULL REFERENCES interlock.approval,
    version integer NOT NULL,
    voter text NOT NULL,
    actor text NOT NULL,
    actor_source text NOT NULL,
    type text NOT NULL CHECK (type IN ('approve', 'modify', 'reject', 'escalate', 'done', 'retry', 'abandon', 'cancel')),
    comment text NOT NULL DEFAULT '',
    detail json NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (approval_id, version, voter)
);
