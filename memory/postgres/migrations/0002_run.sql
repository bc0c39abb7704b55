-- One row a thread: who asked, how it stands, and who may drive it. The lease excludes a second driver, its epoch makes
-- an older holder harmless, and wake_seq counts the reasons to go on, so that none is lost while a driver leaves.
-- depends: 0001_audit

CREATE TABLE interlock.run (
    thread_id text PRIMARY KEY,
    status text NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'waiting', 'completed', 'rejected', 'failed', 'cancelled', 'stopped')),
    input text,
    requester text NOT NULL,
    requester_source text NOT NULL,
    starter text NOT NULL,
    starter_source text NOT NULL,
    tenant text NOT NULL,
    lineage_root text NOT NULL,
    graph_version text NOT NULL,
    tools_version text NOT NULL,
    final_answer text,
    error json,
    cancel_requested json,
    wake_seq bigint NOT NULL DEFAULT 0,
    lease_owner text,
    lease_epoch bigint NOT NULL DEFAULT 0,
    lease_since timestamptz,
    lease_until timestamptz,
    head_checkpoint_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL))
);

CREATE INDEX run_updated ON interlock.run (updated_at DESC);
CREATE INDEX run_open ON interlock.run (status) WHERE status IN ('running', 'waiting');
