-- Who was shown which version of a question, and when first: so that it can be told who decided without having seen it. The record
-- has the same; here it is once for each person, and beside the votes.
-- depends: 0017_review

CREATE TABLE interlock.shown (
    approval_id text NOT NULL REFERENCES interlock.approval,
    version integer NOT NULL,
    actor text NOT NULL,
    actor_source text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (approval_id, version, actor, actor_source)
);
