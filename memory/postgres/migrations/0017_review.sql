-- A pre-approved call runs at once and, drawn by the share that its rule names, is looked at afterwards. A row is written with the
-- permit itself, so that no such call can run without it; it is never deleted, and what was said of it is said once.
-- depends: 0011_operator

CREATE TABLE interlock.review (
    approval_id text PRIMARY KEY REFERENCES interlock.approval,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'flagged')),
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reviewer text,
    reviewer_source text,
    comment text NOT NULL DEFAULT '',
    reviewed_at timestamptz,
    CHECK ((status = 'open') = (reviewed_at IS NULL)),
    CHECK ((status = 'open') = (reviewer IS NULL))
);

CREATE INDEX review_open ON interlock.review (opened_at) WHERE status = 'open';
