-- The release register: where deploy_code writes when no deploy command is set, so that a first run shows an effect.
-- depends: 0004_execution

CREATE TABLE interlock.release (
    release_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id text NOT NULL,
    environment text NOT NULL,
    version text NOT NULL,
    idempotency_key text NOT NULL UNIQUE,
    replaces text,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX release_of_project ON interlock.release (project_id, environment, release_id DESC);
