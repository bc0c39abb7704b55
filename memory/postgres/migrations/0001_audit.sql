-- The record comes first, because every later table writes into it in its own transactions.
-- Number, time and hash are set by the database, so no client can choose them; the chain is one per thread, so that
-- threads do not wait for each other. The payload is kept as text (type json), because the hash is over that text.
-- depends:

CREATE TABLE interlock.audit_head (
    thread_id text PRIMARY KEY,
    seq bigint NOT NULL,
    hash text NOT NULL,
    seal text NOT NULL
);

CREATE TABLE interlock.audit_event (
    thread_id text NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    actor_source text NOT NULL,
    payload json NOT NULL,
    prev_hash text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (thread_id, seq)
);

CREATE INDEX audit_event_at ON interlock.audit_event (at);

CREATE FUNCTION interlock.sha(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT encode(sha256(convert_to(value, 'UTF8')), 'hex') $$;

CREATE FUNCTION interlock.utc(value timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
AS $$ SELECT to_char(value AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

-- Each field is hashed alone before they are joined: no two different events can give the same joined text.
CREATE FUNCTION interlock.audit_hash(
    prev_hash text, thread_id text, seq bigint, at timestamptz, kind text, actor text, actor_source text, payload text
) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
AS $$ SELECT interlock.sha(
    prev_hash || interlock.sha(thread_id) || interlock.sha(seq::text) || interlock.sha(interlock.utc(at))
    || interlock.sha(kind) || interlock.sha(actor) || interlock.sha(actor_source) || interlock.sha(payload)
) $$;

CREATE FUNCTION interlock.audit_chain() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    head interlock.audit_head;
BEGIN
    INSERT INTO interlock.audit_head AS h VALUES (NEW.thread_id, 0, '', '') ON CONFLICT (thread_id) DO NOTHING;
    SELECT * INTO STRICT head FROM interlock.audit_head h WHERE h.thread_id = NEW.thread_id FOR UPDATE;
    NEW.seq := head.seq + 1;
    NEW.at := clock_timestamp();
    NEW.prev_hash := head.hash;
    NEW.hash := interlock.audit_hash(
        NEW.prev_hash, NEW.thread_id, NEW.seq, NEW.at, NEW.kind, NEW.actor, NEW.actor_source, NEW.payload::text);
    UPDATE interlock.audit_head h
    SET seq = NEW.seq, hash = NEW.hash, seal = interlock.sha(NEW.thread_id || ' ' || NEW.seq || ' ' || NEW.hash)
    WHERE h.thread_id = NEW.thread_id;
    RETURN NEW;
END $$;

CREATE FUNCTION interlock.audit_is_append_only() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'the audit record is append-only' USING ERRCODE = 'IL010';
END $$;

CREATE TRIGGER audit_chain BEFORE INSERT ON interlock.audit_event
FOR EACH ROW EXECUTE FUNCTION interlock.audit_chain();

CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock.audit_event
FOR EACH STATEMENT EXECUTE FUNCTION interlock.audit_is_append_only();

CREATE FUNCTION interlock.audit(thread_id text, kind text, actor text, actor_source text, payload text) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO interlock.audit_event (thread_id, kind, actor, actor_source, payload)
    VALUES (thread_id, kind, actor, actor_source, payload::json)
$$;
