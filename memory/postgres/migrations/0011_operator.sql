-- Who may decide with a token. Only a hash of the token is kept: the secret in it is random and long, so it needs no salt.
-- Rows are never deleted, because the record names them; a name has at most one that is in force.
-- depends: 0006_release

CREATE TABLE interlock.operator (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    tier integer NOT NULL CHECK (tier >= 1),
    token_sha256 text NOT NULL UNIQUE,
    added_by text NOT NULL,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz
);

CREATE UNIQUE INDEX operator_in_force ON interlock.operator (name) WHERE revoked_at IS NULL;
