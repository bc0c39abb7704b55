--
-- PostgreSQL database dump
--

\restrict 0fec0h5YJEYuUqSxUStNhUBNH9UDh9YfLxALSTtTExgxg1OeGlcJiGzyTSx9guf

-- Dumped from database version 18.6
-- Dumped by pg_dump version 18.6

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: interlock; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA interlock;


--
-- Name: interlock_analytics; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA interlock_analytics;


--
-- Name: audit(text, text, text, text, text); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.audit(thread_id text, kind text, actor text, actor_source text, payload text) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO interlock.audit_event (thread_id, kind, actor, actor_source, payload)
    VALUES (thread_id, kind, actor, actor_source, payload::json)
$$;


--
-- Name: audit_chain(); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.audit_chain() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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


--
-- Name: audit_hash(text, text, bigint, timestamp with time zone, text, text, text, text); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.audit_hash(prev_hash text, thread_id text, seq bigint, at timestamp with time zone, kind text, actor text, actor_source text, payload text) RETURNS text
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    AS $$ SELECT interlock.sha(
    prev_hash || interlock.sha(thread_id) || interlock.sha(seq::text) || interlock.sha(interlock.utc(at))
    || interlock.sha(kind) || interlock.sha(actor) || interlock.sha(actor_source) || interlock.sha(payload)
) $$;


--
-- Name: audit_is_append_only(); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.audit_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the audit record is append-only' USING ERRCODE = 'IL010';
END $$;


--
-- Name: drop_superseded(text, text, text, text, jsonb, jsonb); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.drop_superseded(of_thread text, ns text, id text, parent text, checkpoint jsonb, metadata jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- Before version 4 of its form a checkpoint reads its pending sends from the writes of its parent.
    kept text[] := array_remove(ARRAY[id, CASE WHEN (checkpoint ->> 'v')::int < 4 THEN parent END], NULL);
    gone text[];
    calls text[];
BEGIN
    -- A DeltaChannel is put together from older checkpoints until it is stored in full again; then it is counted no more.
    IF ns <> '' OR metadata ? 'counters_since_delta_snapshot'
       OR NOT EXISTS (SELECT FROM interlock.run r WHERE r.thread_id = of_thread) THEN
        RETURN true;
    END IF;
    WITH dropped AS (
        DELETE FROM checkpoints c
        WHERE c.thread_id = of_thread AND c.checkpoint_ns = '' AND c.checkpoint_id <> ALL (kept)
        RETURNING c.checkpoint_id
    )
    SELECT array_agg(d.checkpoint_id) INTO gone FROM dropped d;
    IF gone IS NULL THEN
        RETURN true;
    END IF;
    -- Some writes are stored late, after their checkpoint was dropped, and some early, before the checkpoint that they belong to.
    DELETE FROM checkpoint_writes w
    WHERE w.thread_id = of_thread AND w.checkpoint_ns = '' AND w.checkpoint_id <> ALL (kept)
      AND (w.checkpoint_id = ANY (gone) OR w.checkpoint_id < id);
    DELETE FROM checkpoint_blobs b
    WHERE b.thread_id = of_thread AND b.checkpoint_ns = ''
      AND checkpoint -> 'channel_versions' ->> b.channel IS DISTINCT FROM b.version
      AND NOT EXISTS (
          SELECT FROM checkpoints c
          WHERE c.thread_id = of_thread AND c.checkpoint_ns = '' AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version);
    -- A call of a subgraph has a namespace of its own, named after its task, and is over when the thread leaves the checkpoint it began at.
    WITH dropped AS (
        DELETE FROM checkpoints c
        WHERE c.thread_id = of_thread AND c.checkpoint_ns LIKE '%:%' AND c.metadata -> 'parents' ->> '' = ANY (gone)
        RETURNING c.checkpoint_ns
    )
    SELECT array_agg(DISTINCT d.checkpoint_ns) INTO calls FROM dropped d;
    IF calls IS NOT NULL THEN
        DELETE FROM checkpoint_writes w WHERE w.thread_id = of_thread AND w.checkpoint_ns = ANY (calls);
        DELETE FROM checkpoint_blobs b WHERE b.thread_id = of_thread AND b.checkpoint_ns = ANY (calls);
    END IF;
    RETURN true;
END $$;


--
-- Name: guard_checkpoint(text, text, text, text, jsonb, jsonb); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.guard_checkpoint(of_thread text, ns text, id text, parent text, checkpoint jsonb, metadata jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    r interlock.run;
    epoch bigint := (metadata ->> 'lease_epoch')::bigint;
    next_nodes text;
BEGIN
    SELECT * INTO r FROM interlock.run WHERE thread_id = of_thread FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    IF r.lease_owner = 'node@' || (metadata ->> 'lease_writer') THEN
        -- Under a server that drives by itself a node holds the lease, and checkpoints come beside it, in the background.
        epoch := NULL;
    ELSIF epoch IS NULL AND r.lease_until > clock_timestamp() THEN
        RAISE EXCEPTION 'thread % is driven by %', of_thread, r.lease_owner USING ERRCODE = 'IL001';
    ELSIF epoch <> r.lease_epoch OR (epoch IS NOT NULL AND r.lease_owner IS NULL) THEN
        RAISE EXCEPTION 'the lease of thread % was lost', of_thread USING ERRCODE = 'IL001';
    END IF;
    IF ns <> '' THEN
        RETURN true;
    END IF;
    IF r.head_checkpoint_id IS DISTINCT FROM parent AND r.head_checkpoint_id IS DISTINCT FROM id
       AND r.head_checkpoint_id IS NOT NULL THEN
        RAISE EXCEPTION 'thread % has moved on from checkpoint %', of_thread, parent USING ERRCODE = 'IL002';
    END IF;
    UPDATE interlock.run SET head_checkpoint_id = id, updated_at = clock_timestamp() WHERE thread_id = of_thread;
    -- Only calls of tools are sent one by one (Send): LangGraph keeps those in a channel of its own.
    SELECT coalesce(string_agg(to_jsonb(CASE c WHEN '__pregel_tasks' THEN 'execute_tools' ELSE substr(c, 11) END)::text, ','
                               ORDER BY c COLLATE "C"), '') INTO next_nodes
    FROM jsonb_array_elements_text(coalesce(nullif(checkpoint -> 'updated_channels', 'null'), '[]')) AS c
    WHERE c LIKE 'branch:to:%' OR c = '__pregel_tasks';
    PERFORM interlock.audit(
        of_thread, 'transition', coalesce(r.lease_owner, 'outside'), CASE WHEN epoch IS NULL THEN 'unleased' ELSE 'process' END,
        '{"checkpoint_id":' || to_jsonb(id)::text || ',"next":[' || next_nodes || '],"source":'
        || coalesce(to_jsonb(metadata ->> 'source')::text, 'null') || ',"step":' || coalesce(metadata ->> 'step', 'null') || '}');
    RETURN true;
END $$;


--
-- Name: sha(text); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.sha(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT encode(sha256(convert_to(value, 'UTF8')), 'hex') $$;


--
-- Name: utc(timestamp with time zone); Type: FUNCTION; Schema: interlock; Owner: -
--

CREATE FUNCTION interlock.utc(value timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    AS $$ SELECT to_char(value AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: _yoyo_log; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock._yoyo_log (
    id character varying(36) NOT NULL,
    migration_hash character varying(64),
    migration_id character varying(255),
    operation character varying(10),
    username character varying(255),
    hostname character varying(255),
    comment character varying(255),
    created_at_utc timestamp without time zone
);


--
-- Name: _yoyo_migration; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock._yoyo_migration (
    migration_hash character varying(64) NOT NULL,
    migration_id character varying(255),
    applied_at_utc timestamp without time zone
);


--
-- Name: _yoyo_version; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock._yoyo_version (
    version integer NOT NULL,
    installed_at_utc timestamp without time zone
);


--
-- Name: analytics_reader; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.analytics_reader (
    role text NOT NULL,
    password text NOT NULL
);


--
-- Name: approval; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.approval (
    approval_id text NOT NULL,
    thread_id text NOT NULL,
    call_key text NOT NULL,
    tool_call_id text NOT NULL,
    kind text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    tool text NOT NULL,
    args json NOT NULL,
    args_sha256 text NOT NULL,
    proposed_args json NOT NULL,
    schema_sha256 text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    said text DEFAULT ''::text NOT NULL,
    tier integer NOT NULL,
    required integer NOT NULL,
    rules json NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    graph_version text NOT NULL,
    outcome json,
    requested_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    decided_at timestamp with time zone,
    CONSTRAINT approval_check CHECK (((status = 'pending'::text) = (decided_at IS NULL))),
    CONSTRAINT approval_kind_check CHECK ((kind = ANY (ARRAY['pre_execution'::text, 'unknown_outcome'::text, 'compensation'::text, 'final_answer'::text]))),
    CONSTRAINT approval_required_check CHECK ((required >= 1)),
    CONSTRAINT approval_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text, 'expired'::text, 'escalated'::text, 'cancelled'::text]))),
    CONSTRAINT approval_tier_check CHECK ((tier >= 1))
);


--
-- Name: audit_event; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.audit_event (
    thread_id text NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    actor_source text NOT NULL,
    payload json NOT NULL,
    prev_hash text NOT NULL,
    hash text NOT NULL
);


--
-- Name: audit_head; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.audit_head (
    thread_id text NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL,
    seal text NOT NULL
);


--
-- Name: decision; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.decision (
    approval_id text NOT NULL,
    version integer NOT NULL,
    voter text NOT NULL,
    actor text NOT NULL,
    actor_source text NOT NULL,
    type text NOT NULL,
    comment text DEFAULT ''::text NOT NULL,
    detail json NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT decision_type_check CHECK ((type = ANY (ARRAY['approve'::text, 'modify'::text, 'reject'::text, 'escalate'::text, 'done'::text, 'retry'::text, 'abandon'::text, 'cancel'::text])))
);


--
-- Name: execution; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.execution (
    call_key text NOT NULL,
    thread_id text NOT NULL,
    tool_call_id text NOT NULL,
    tool text NOT NULL,
    args json NOT NULL,
    args_sha256 text NOT NULL,
    critical boolean NOT NULL,
    approval_id text,
    idempotency_key text NOT NULL,
    status text NOT NULL,
    attempts integer DEFAULT 1 NOT NULL,
    lease_epoch bigint NOT NULL,
    result text,
    error text,
    late json,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT execution_check CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'abandoned'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT execution_status_check CHECK ((status = ANY (ARRAY['started'::text, 'succeeded'::text, 'failed'::text, 'unknown'::text, 'abandoned'::text])))
);


--
-- Name: operator; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.operator (
    id bigint NOT NULL,
    name text NOT NULL,
    tier integer NOT NULL,
    token_sha256 text NOT NULL,
    added_by text NOT NULL,
    added_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT operator_tier_check CHECK ((tier >= 1))
);


--
-- Name: operator_id_seq; Type: SEQUENCE; Schema: interlock; Owner: -
--

ALTER TABLE interlock.operator ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME interlock.operator_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: release; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.release (
    release_id bigint NOT NULL,
    project_id text NOT NULL,
    environment text NOT NULL,
    version text NOT NULL,
    idempotency_key text NOT NULL,
    replaces text,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: release_release_id_seq; Type: SEQUENCE; Schema: interlock; Owner: -
--

ALTER TABLE interlock.release ALTER COLUMN release_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME interlock.release_release_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: run; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.run (
    thread_id text NOT NULL,
    status text DEFAULT 'running'::text NOT NULL,
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
    wake_seq bigint DEFAULT 0 NOT NULL,
    lease_owner text,
    lease_epoch bigint DEFAULT 0 NOT NULL,
    lease_since timestamp with time zone,
    lease_until timestamp with time zone,
    head_checkpoint_id text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT run_check CHECK (((lease_owner IS NULL) = (lease_until IS NULL))),
    CONSTRAINT run_status_check CHECK ((status = ANY (ARRAY['running'::text, 'waiting'::text, 'completed'::text, 'rejected'::text, 'failed'::text, 'cancelled'::text, 'stopped'::text])))
);


--
-- Name: ticket; Type: TABLE; Schema: interlock; Owner: -
--

CREATE TABLE interlock.ticket (
    number bigint NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    labels text[] NOT NULL,
    idempotency_key text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: ticket_number_seq; Type: SEQUENCE; Schema: interlock; Owner: -
--

ALTER TABLE interlock.ticket ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME interlock.ticket_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: customers; Type: TABLE; Schema: interlock_analytics; Owner: -
--

CREATE TABLE interlock_analytics.customers (
    customer_id integer NOT NULL,
    name text NOT NULL,
    country text NOT NULL,
    plan text NOT NULL,
    since date NOT NULL,
    closed_on date
);


--
-- Name: TABLE customers; Type: COMMENT; Schema: interlock_analytics; Owner: -
--

COMMENT ON TABLE interlock_analytics.customers IS 'Companies that buy from us; closed_on is empty while they are customers. Invented.';


--
-- Name: deployments; Type: TABLE; Schema: interlock_analytics; Owner: -
--

CREATE TABLE interlock_analytics.deployments (
    deployment_id integer NOT NULL,
    project text NOT NULL,
    version text NOT NULL,
    environment text NOT NULL,
    deployed_at timestamp with time zone NOT NULL,
    succeeded boolean NOT NULL,
    note text
);


--
-- Name: TABLE deployments; Type: COMMENT; Schema: interlock_analytics; Owner: -
--

COMMENT ON TABLE interlock_analytics.deployments IS 'What was deployed in June 2026, and how it went. Invented.';


--
-- Name: orders; Type: TABLE; Schema: interlock_analytics; Owner: -
--

CREATE TABLE interlock_analytics.orders (
    order_id integer NOT NULL,
    customer_id integer NOT NULL,
    ordered_on date NOT NULL,
    product text NOT NULL,
    quantity integer NOT NULL,
    amount numeric(10,2) NOT NULL,
    status text NOT NULL
);


--
-- Name: TABLE orders; Type: COMMENT; Schema: interlock_analytics; Owner: -
--

COMMENT ON TABLE interlock_analytics.orders IS 'Orders of the first half of 2026; amount is in euros, status is paid, open or refunded. Invented.';


--
-- Name: monthly_revenue; Type: VIEW; Schema: interlock_analytics; Owner: -
--

CREATE VIEW interlock_analytics.monthly_revenue AS
 SELECT to_char((ordered_on)::timestamp with time zone, 'YYYY-MM'::text) AS month,
    count(*) AS orders,
    sum(amount) AS revenue
   FROM interlock_analytics.orders
  WHERE (status = 'paid'::text)
  GROUP BY (to_char((ordered_on)::timestamp with time zone, 'YYYY-MM'::text))
  ORDER BY (to_char((ordered_on)::timestamp with time zone, 'YYYY-MM'::text));


--
-- Name: VIEW monthly_revenue; Type: COMMENT; Schema: interlock_analytics; Owner: -
--

COMMENT ON VIEW interlock_analytics.monthly_revenue IS 'What was paid in each month, in euros.';


--
-- Name: users; Type: TABLE; Schema: interlock_analytics; Owner: -
--

CREATE TABLE interlock_analytics.users (
    user_id integer NOT NULL,
    customer_id integer NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    last_seen_at timestamp with time zone
);


--
-- Name: TABLE users; Type: COMMENT; Schema: interlock_analytics; Owner: -
--

COMMENT ON TABLE interlock_analytics.users IS 'People who may log in, each of one customer; last_seen_at is empty for those who never did. Invented.';


--
-- Name: checkpoint_blobs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.checkpoint_blobs (
    thread_id text NOT NULL,
    checkpoint_ns text DEFAULT ''::text NOT NULL,
    channel text NOT NULL,
    version text NOT NULL,
    type text NOT NULL,
    blob bytea
);


--
-- Name: checkpoint_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.checkpoint_migrations (
    v integer NOT NULL
);


--
-- Name: checkpoint_writes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.checkpoint_writes (
    thread_id text NOT NULL,
    checkpoint_ns text DEFAULT ''::text NOT NULL,
    checkpoint_id text NOT NULL,
    task_id text NOT NULL,
    idx integer NOT NULL,
    channel text NOT NULL,
    type text,
    blob bytea NOT NULL,
    task_path text DEFAULT ''::text NOT NULL
);


--
-- Name: checkpoints; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.checkpoints (
    thread_id text NOT NULL,
    checkpoint_ns text DEFAULT ''::text NOT NULL,
    checkpoint_id text NOT NULL,
    parent_checkpoint_id text,
    type text,
    checkpoint jsonb NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL
);


--
-- Data for Name: _yoyo_log; Type: TABLE DATA; Schema: interlock; Owner: -
--



--
-- Data for Name: _yoyo_migration; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock._yoyo_migration VALUES
	('f3bfe0f7498d36c49d1932bd1b29a358f5a898d957c6b741aa6fff3ec94d550c', '0001_audit', '2026-12-07 11:01:59.053224'),
	('27a36b34a5ad8dda7de2a0bc2ca070c48b3f12af497ef25247ff513c36dbc61a', '0002_run', '2026-12-07 11:01:59.070438'),
	('4c32759ec4c32df29e9a1bd6ac1dc0e04b5336904940653146863d552736f14a', '0003_approval', '2026-12-07 11:01:59.085236'),
	('da44312c08613afa61f58e9e63628a303618a392373a362042201eadb060c9a0', '0004_execution', '2026-12-07 11:01:59.089125'),
	('bace6d916b6e96a732a70e970a12d4a5a6ed9d0b6aa891352fed5cd6648e00ad', '0005_checkpoint_guard', '2026-12-07 11:01:59.092025'),
	('07b8dabb7acd019e7a86e84f038da788d853acaebcfaca5476789bf86b7d5579', '0006_release', '2026-12-07 11:01:59.099094'),
	('9003a09251be0f694636a41a025a1599f3ff053e4fba8706e055d3861d7d8e0e', '0007_analytics', '2026-12-07 11:01:59.119386'),
	('275b94fce6468cc95d33b34768dd2786843eda6df3af29f1687e9e4f1b5da375', '0008_ticket', '2026-12-07 11:01:59.126127'),
	('8fcc7f7b152ba686758f6757abd2e4c9ab67d642e5ca95a237fbfa9cd7f99d84', '0009_superseded', '2026-12-07 11:01:59.129754'),
	('d579fb0fea74373c2c64c3ea318fe10b8b2845d11079a29a0ab967f8fe7a97a8', '0010_audit_owner', '2026-12-07 11:01:59.133267'),
	('bf3c730eef503270fcb91c176f7be0cff74617699d56e6da12d710fb7e8c89e2', '0011_operator', '2026-12-07 11:01:59.141158'),
	('1b55b692f796b8ddedc823f8b497ea1e36d093958e7d9e17396d24663d5099b5', 'langgraph-checkpoint-postgres-3.2.0', '2026-12-07 11:01:59.162504');


--
-- Data for Name: _yoyo_version; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock._yoyo_version VALUES
	(2, '2026-12-07 11:01:58.970175');


--
-- Data for Name: analytics_reader; Type: TABLE DATA; Schema: interlock; Owner: -
--



--
-- Data for Name: approval; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock.approval VALUES
	('263d33c1a4aed979c6b3c811e40b8628', 'waits', '058d1d1e3c60c9f374eb80e5009544dc4ca9a7df8b21834dc4b1e87a727c7bec', 'call_a4b4a6873409424e06f3d626', 'pre_execution', 'pending', 'transfer', '{"to": "bob", "amount": 5}', '6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746', '{"to": "bob", "amount": 5}', '983e79f3a456375bde05f8d4ef3f18c0ef197149f021b71e5970fc10993911e3', '', '', 1, 1, '{"sources": ["token", "oidc", "os", "ui", "claimed"], "four_eyes": false, "deadline": null, "on_expiry": "reject", "rule": "default", "policy": "built-in", "reminder": null, "secret": []}', 1, '1', NULL, '2026-12-07 11:02:04.344576+00', NULL, NULL),
	('7f1dc9723f94c93e16060b968dadedb1', 'unknown', '410ede43da163ca733b568d9a05ed817263e2c226ff8c77968d7f12a0a006d67', 'call_bab8a91aeef298407bc59576', 'pre_execution', 'approved', 'transfer', '{"to": "bob", "amount": 5}', '6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746', '{"to": "bob", "amount": 5}', '983e79f3a456375bde05f8d4ef3f18c0ef197149f021b71e5970fc10993911e3', '', '', 1, 1, '{"sources": ["token", "oidc", "os", "ui", "claimed"], "four_eyes": false, "deadline": null, "on_expiry": "reject", "rule": "default", "policy": "built-in", "reminder": null, "secret": []}', 1, '1', '{"by": "root@example", "comment": "", "source": "claimed", "type": "approve"}', '2026-12-07 11:02:10.269427+00', NULL, '2026-12-07 11:02:13.487689+00'),
	('46aaf4c264bde6ccf416d4223eef4271', 'left', '0f101cb8422e369f62c222dde3958176baff28286f26034ac781061e7f8d4d8d', 'call_7946810c48f7edee633266ff', 'pre_execution', 'approved', 'transfer_checked', '{"to": "bob", "amount": 5}', '862142e633c4d7f4beff36806d8856d8fcc05a66b40bf90a6fe726bb74369fe8', '{"to": "bob", "amount": 5}', 'a7cbc118d751612e213b9965c3add4fb1ec38c72dd2a22c760589781ecc4711b', '', '', 1, 1, '{"sources": ["token", "oidc", "os", "ui", "claimed"], "four_eyes": false, "deadline": null, "on_expiry": "reject", "rule": "default", "policy": "built-in", "reminder": null, "secret": []}', 1, '1', '{"by": "root@example", "comment": "", "source": "claimed", "type": "approve"}', '2026-12-07 11:02:19.511129+00', NULL, '2026-12-07 11:02:21.559389+00'),
	('2b9574617c82b832e783b8b7489078f5', 'quorum', '53a61a136b7874a6a512ce42746559b4f428172907ab36d771bdecddf2496c7f', 'call_c3bee06942aa535f165fb53e', 'pre_execution', 'pending', 'transfer', '{"to": "bob", "amount": 5}', '6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746', '{"to": "bob", "amount": 5}', '983e79f3a456375bde05f8d4ef3f18c0ef197149f021b71e5970fc10993911e3', '', '', 1, 2, '{"sources": ["token", "oidc", "os"], "four_eyes": false, "deadline": null, "on_expiry": "reject", "rule": "defaults", "policy": "f60916f58b5f33678890b56597737624399d7ff72e742f57d0db0933c512f312", "reminder": null, "secret": []}', 1, '1', NULL, '2026-12-07 11:02:23.915326+00', NULL, NULL);


--
-- Data for Name: audit_event; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock.audit_event VALUES
	('waits', 1, '2026-12-07 11:02:04.022358+00', 'thread_started', 'root@example', 'claimed', '{"checkpoint_id":null,"graph_version":"1","input":"do what is due","requester":"root@example","requester_source":"claimed","tenant":"default","tools_version":"c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb"}', '', '577237944d072cdd281b62a81cd58865df36d49789dbe613bd8e6e50f24b5482'),
	('waits', 2, '2026-12-07 11:02:04.195938+00', 'process_began', 'example:28548:6003662:98920ce7-4026531836', 'process', '{"epoch":1,"from":null,"since":null}', '577237944d072cdd281b62a81cd58865df36d49789dbe613bd8e6e50f24b5482', '7ec59ea5ad74b5b7587a2592e9c0216d81bc56ebaff8d71e89f69106fc55397a'),
	('waits', 3, '2026-12-07 11:02:04.284604+00', 'transition', 'example:28548:6003662:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-2b1f-6e36-bfff-4c625dac34d4","next":[],"source":"input","step":-1}', '7ec59ea5ad74b5b7587a2592e9c0216d81bc56ebaff8d71e89f69106fc55397a', '8eb09fcf1e3e68e00e986cb86fc8e5cdc5a828350a86155b5bbcfc79ad5c01d7'),
	('waits', 4, '2026-12-07 11:02:04.295098+00', 'transition', 'example:28548:6003662:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-2b2d-6b12-8000-b8c7735901c3","next":["retrieve_episodes"],"source":"loop","step":0}', '8eb09fcf1e3e68e00e986cb86fc8e5cdc5a828350a86155b5bbcfc79ad5c01d7', '3daac427f5d7135d5ec29c530174c862214d5fe4300e82bdcd0c40aab9e969ef'),
	('waits', 5, '2026-12-07 11:02:04.300247+00', 'transition', 'example:28548:6003662:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-2bd6-68d5-8001-cab54239bec5","next":["agent_think"],"source":"loop","step":1}', '3daac427f5d7135d5ec29c530174c862214d5fe4300e82bdcd0c40aab9e969ef', '4ae775921155f82abd68045264841f33d7824da71a8efd80cd18305982b89788'),
	('waits', 6, '2026-12-07 11:02:04.333124+00', 'transition', 'example:28548:6003662:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-2c28-680e-8002-edd784a0907a","next":["await_human_approval"],"source":"loop","step":2}', '4ae775921155f82abd68045264841f33d7824da71a8efd80cd18305982b89788', 'd577f51b6df85801d569bbb0a309baf52e452898cbfa2909b46f4a30e4e43f10'),
	('waits', 7, '2026-12-07 11:02:04.345282+00', 'approval_requested', 'agent', 'process', '{"approval_id":"263d33c1a4aed979c6b3c811e40b8628","args":{"amount":5,"to":"bob"},"args_sha256":"6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746","call_key":"058d1d1e3c60c9f374eb80e5009544dc4ca9a7df8b21834dc4b1e87a727c7bec","kind":"pre_execution","note":"","required":1,"rules":{"deadline":null,"four_eyes":false,"on_expiry":"reject","policy":"built-in","reminder":null,"rule":"default","sources":["token","oidc","os","ui","claimed"]},"said":"","tier":1,"tool":"transfer"}', 'd577f51b6df85801d569bbb0a309baf52e452898cbfa2909b46f4a30e4e43f10', '0dbdff47d182c14b81ffa30aa0a50ccb5372139ec2930b1db4f9bbb27535b29f'),
	('unknown', 1, '2026-12-07 11:02:10.006421+00', 'thread_started', 'root@example', 'claimed', '{"checkpoint_id":null,"graph_version":"1","input":"do what is due","requester":"root@example","requester_source":"claimed","tenant":"default","tools_version":"c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb"}', '', 'f7063030708600df5729f7eb8da6e8760d38beee9cf00b757fdaba472b03963e'),
	('unknown', 2, '2026-12-07 11:02:10.124564+00', 'process_began', 'example:28938:6004296:98920ce7-4026531836', 'process', '{"epoch":1,"from":null,"since":null}', 'f7063030708600df5729f7eb8da6e8760d38beee9cf00b757fdaba472b03963e', '872037096259c475ced273316e7b99c5035434b2784187332ab7ae5ae2f1c6cb'),
	('unknown', 3, '2026-12-07 11:02:10.181457+00', 'transition', 'example:28938:6004296:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-638b-62c6-bfff-392f895b2e49","next":[],"source":"input","step":-1}', '872037096259c475ced273316e7b99c5035434b2784187332ab7ae5ae2f1c6cb', '4cb349e5d51a267f0e482a1ea297119653f27b67c3fdbccadfdca497990f27d6'),
	('unknown', 4, '2026-12-07 11:02:10.188456+00', 'transition', 'example:28938:6004296:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-639c-6ad5-8000-6e5bb6f380fe","next":["retrieve_episodes"],"source":"loop","step":0}', '4cb349e5d51a267f0e482a1ea297119653f27b67c3fdbccadfdca497990f27d6', '4e0825baf6138c28ede808c1cae39786c99e80cfffcb50e507a81017198793b2'),
	('unknown', 5, '2026-12-07 11:02:10.198285+00', 'transition', 'example:28938:6004296:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-640b-689f-8001-741d7b18fc75","next":["agent_think"],"source":"loop","step":1}', '4e0825baf6138c28ede808c1cae39786c99e80cfffcb50e507a81017198793b2', '97e53a53c8a13999ac1c6cc553526fc189ee2729ce89650adfb0c82f7cfbe6f6'),
	('unknown', 6, '2026-12-07 11:02:10.256327+00', 'transition', 'example:28938:6004296:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-649a-69bc-8002-7799f3d7dd46","next":["await_human_approval"],"source":"loop","step":2}', '97e53a53c8a13999ac1c6cc553526fc189ee2729ce89650adfb0c82f7cfbe6f6', '44c9ef77b6bd5cf2fc1553c254848b68cf10b92f80986d999c697c91ace3942b'),
	('unknown', 7, '2026-12-07 11:02:10.270003+00', 'approval_requested', 'agent', 'process', '{"approval_id":"7f1dc9723f94c93e16060b968dadedb1","args":{"amount":5,"to":"bob"},"args_sha256":"6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746","call_key":"410ede43da163ca733b568d9a05ed817263e2c226ff8c77968d7f12a0a006d67","kind":"pre_execution","note":"","required":1,"rules":{"deadline":null,"four_eyes":false,"on_expiry":"reject","policy":"built-in","reminder":null,"rule":"default","sources":["token","oidc","os","ui","claimed"]},"said":"","tier":1,"tool":"transfer"}', '44c9ef77b6bd5cf2fc1553c254848b68cf10b92f80986d999c697c91ace3942b', '8d8adbe24e232ce809ee22f6dd4bfe6719524aee0ca9603d4e6ceb672d65782a'),
	('unknown', 8, '2026-12-07 11:02:13.494443+00', 'approval_decided', 'root@example', 'claimed', '{"approval_id":"7f1dc9723f94c93e16060b968dadedb1","args_sha256":"6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746","comment":"","detail":{},"modified_args":null,"own_request":true,"status":"approved","tier":1,"type":"approve","version":1}', '8d8adbe24e232ce809ee22f6dd4bfe6719524aee0ca9603d4e6ceb672d65782a', '9415cc55e55b5573846d3046eac25bbac417f51d21aa982f21ebc5de3f850179'),
	('unknown', 9, '2026-12-07 11:02:15.499421+00', 'process_began', 'example:29248:6004878:98920ce7-4026531836', 'process', '{"epoch":2,"from":null,"since":null}', '9415cc55e55b5573846d3046eac25bbac417f51d21aa982f21ebc5de3f850179', '027f6cc30923b35855e90b9f50f7f1494d72b01330740fa67a2fcac8c9388bc1'),
	('unknown', 10, '2026-12-07 11:02:15.538665+00', 'transition', 'example:29248:6004878:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-96fb-63f5-8003-5af726cd97ae","next":["execute_tools"],"source":"loop","step":3}', '027f6cc30923b35855e90b9f50f7f1494d72b01330740fa67a2fcac8c9388bc1', 'b02246cf2127afe3a3d350c1a8ca3a8d8c6965f9f16c91175af2cf3315eb47ba'),
	('unknown', 11, '2026-12-07 11:02:15.590638+00', 'execution_started', 'example:29248:6004878:98920ce7-4026531836', 'process', '{"approval_id":"7f1dc9723f94c93e16060b968dadedb1","args":{"amount":5,"to":"bob"},"args_sha256":"6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746","attempt":1,"call_key":"410ede43da163ca733b568d9a05ed817263e2c226ff8c77968d7f12a0a006d67","epoch":2,"tool":"transfer","why":""}', 'b02246cf2127afe3a3d350c1a8ca3a8d8c6965f9f16c91175af2cf3315eb47ba', 'e3804a1734543790143998e66f93118839cfc13b897bc902e41c75be375562ab'),
	('left', 1, '2026-12-07 11:02:19.281033+00', 'thread_started', 'root@example', 'claimed', '{"checkpoint_id":null,"graph_version":"1","input":"do what is due","requester":"root@example","requester_source":"claimed","tenant":"default","tools_version":"c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb"}', '', 'b9cc237a80eeb827aa9e48410a7dff199582e3e21405f49e237749229d3d51f7'),
	('left', 2, '2026-12-07 11:02:19.408676+00', 'process_began', 'example:29474:6005276:98920ce7-4026531836', 'process', '{"epoch":1,"from":null,"since":null}', 'b9cc237a80eeb827aa9e48410a7dff199582e3e21405f49e237749229d3d51f7', 'f67040abb65b7d7626b1f7783893605d6fb302a4da452a14b8d400412c558976'),
	('left', 3, '2026-12-07 11:02:19.468648+00', 'transition', 'example:29474:6005276:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-bc17-678f-bfff-41340d43b15a","next":[],"source":"input","step":-1}', 'f67040abb65b7d7626b1f7783893605d6fb302a4da452a14b8d400412c558976', '0da6b018b5da3271141709eaaf5d264bb9a8143e17beb87cf0ab383471152b94'),
	('left', 4, '2026-12-07 11:02:19.483035+00', 'transition', 'example:29474:6005276:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-bc28-6f3e-8000-a7e0968bc294","next":["retrieve_episodes"],"source":"loop","step":0}', '0da6b018b5da3271141709eaaf5d264bb9a8143e17beb87cf0ab383471152b94', '58bf0666d9ead40bfaaf79b014d1d305ee299d08661bb0208db6847ee4ece0cc'),
	('left', 5, '2026-12-07 11:02:19.486369+00', 'transition', 'example:29474:6005276:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-bcae-6873-8001-0c0a3b7ca7cc","next":["agent_think"],"source":"loop","step":1}', '58bf0666d9ead40bfaaf79b014d1d305ee299d08661bb0208db6847ee4ece0cc', 'a3d980eae36eabf88d48fa5c0a837d6eddb567baf30a17db9dc21d7619f1e71f'),
	('left', 6, '2026-12-07 11:02:19.50859+00', 'transition', 'example:29474:6005276:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-bce5-67d2-8002-6a41a14427f0","next":["await_human_approval"],"source":"loop","step":2}', 'a3d980eae36eabf88d48fa5c0a837d6eddb567baf30a17db9dc21d7619f1e71f', 'fbb6bdabf455478cc4edf8a1c3483a8f75f2c376ff652c647cfc163df186e642'),
	('left', 7, '2026-12-07 11:02:19.512545+00', 'approval_requested', 'agent', 'process', '{"approval_id":"46aaf4c264bde6ccf416d4223eef4271","args":{"amount":5,"to":"bob"},"args_sha256":"862142e633c4d7f4beff36806d8856d8fcc05a66b40bf90a6fe726bb74369fe8","call_key":"0f101cb8422e369f62c222dde3958176baff28286f26034ac781061e7f8d4d8d","kind":"pre_execution","note":"","required":1,"rules":{"deadline":null,"four_eyes":false,"on_expiry":"reject","policy":"built-in","reminder":null,"rule":"default","sources":["token","oidc","os","ui","claimed"]},"said":"","tier":1,"tool":"transfer_checked"}', 'fbb6bdabf455478cc4edf8a1c3483a8f75f2c376ff652c647cfc163df186e642', 'ce01b48bfa9370cfa4f79b6b8633b77d670e6a46eed17bcaf043b66b4ec7a689'),
	('left', 8, '2026-12-07 11:02:21.562641+00', 'approval_decided', 'root@example', 'claimed', '{"approval_id":"46aaf4c264bde6ccf416d4223eef4271","args_sha256":"862142e633c4d7f4beff36806d8856d8fcc05a66b40bf90a6fe726bb74369fe8","comment":"","detail":{},"modified_args":null,"own_request":true,"status":"approved","tier":1,"type":"approve","version":1}', 'ce01b48bfa9370cfa4f79b6b8633b77d670e6a46eed17bcaf043b66b4ec7a689', 'd581eb4f7f44d6909f1486337049a68de9d869f251fa250fbab4c8d446ca871e'),
	('quorum', 1, '2026-12-07 11:02:23.779375+00', 'thread_started', 'root@example', 'claimed', '{"checkpoint_id":null,"graph_version":"1","input":"do what is due","requester":"root@example","requester_source":"claimed","tenant":"default","tools_version":"c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb"}', '', '1ad830d152521d3e4352414f580a2d888acc414296b5a8b2eec5a12e622d76df'),
	('quorum', 2, '2026-12-07 11:02:23.833848+00', 'process_began', 'example:29796:6005889:98920ce7-4026531836', 'process', '{"epoch":1,"from":null,"since":null}', '1ad830d152521d3e4352414f580a2d888acc414296b5a8b2eec5a12e622d76df', 'cb3e9b0afd1453883c375859fa1c8735a73602b42e95cbcac7426bc198e4785d'),
	('quorum', 3, '2026-12-07 11:02:23.861873+00', 'transition', 'example:29796:6005889:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-e63b-625a-bfff-9746da612027","next":[],"source":"input","step":-1}', 'cb3e9b0afd1453883c375859fa1c8735a73602b42e95cbcac7426bc198e4785d', 'b0a92d8843c9d3dc1c6c2c8afb9d5919574187ebb9f45684c363cc243d81531f'),
	('quorum', 4, '2026-12-07 11:02:23.867423+00', 'transition', 'example:29796:6005889:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-e642-6408-8000-72ba88510405","next":["retrieve_episodes"],"source":"loop","step":0}', 'b0a92d8843c9d3dc1c6c2c8afb9d5919574187ebb9f45684c363cc243d81531f', '34ab32434695818df7dd057743179a029322d1e00afd80cfc88c52bb425ed066'),
	('quorum', 5, '2026-12-07 11:02:23.874644+00', 'transition', 'example:29796:6005889:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-e67f-6816-8001-781de6756bcd","next":["agent_think"],"source":"loop","step":1}', '34ab32434695818df7dd057743179a029322d1e00afd80cfc88c52bb425ed066', '3a311e0cb388ebfd9783d9492e38933ccc2c0130db1539091c1fe85c6740ac09'),
	('quorum', 6, '2026-12-07 11:02:23.904914+00', 'transition', 'example:29796:6005889:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22da-e6d0-6b20-8002-8b9298aca1ec","next":["await_human_approval"],"source":"loop","step":2}', '3a311e0cb388ebfd9783d9492e38933ccc2c0130db1539091c1fe85c6740ac09', 'ed44f1f83fa9f56d05b41cbe65a3ae32947fc0382bc5952777c98c2e6274ca48'),
	('quorum', 7, '2026-12-07 11:02:23.916221+00', 'approval_requested', 'agent', 'process', '{"approval_id":"2b9574617c82b832e783b8b7489078f5","args":{"amount":5,"to":"bob"},"args_sha256":"6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746","call_key":"53a61a136b7874a6a512ce42746559b4f428172907ab36d771bdecddf2496c7f","kind":"pre_execution","note":"","required":2,"rules":{"deadline":null,"four_eyes":false,"on_expiry":"reject","policy":"f60916f58b5f33678890b56597737624399d7ff72e742f57d0db0933c512f312","reminder":null,"rule":"defaults","sources":["token","oidc","os"]},"said":"","tier":1,"tool":"transfer"}', 'ed44f1f83fa9f56d05b41cbe65a3ae32947fc0382bc5952777c98c2e6274ca48', 'ee7057d1d1fb5c824922fab6a213f06b75484bcdbe08011d8cb01ffdca0e244c'),
	('@operators', 1, '2026-12-07 11:02:25.274265+00', 'operator_added', 'root@example', 'claimed', '{"expires_at":null,"name":"carol","tier":1}', '', '275e8660812e0f15460b96fe12a9a4451131ce8b79e6ff1f6daa6a5536d144ce'),
	('quorum', 8, '2026-12-07 11:02:26.915177+00', 'vote_cast', 'carol', 'token', '{"approval_id":"2b9574617c82b832e783b8b7489078f5","args_sha256":"6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746","comment":"","detail":{},"modified_args":null,"own_request":false,"status":"pending","tier":1,"type":"approve","version":1}', 'ee7057d1d1fb5c824922fab6a213f06b75484bcdbe08011d8cb01ffdca0e244c', '5e2ddda0a3a9aa79d23f1c7fb174e016645029f980559e5a2d6c3759c44784e3'),
	('done', 1, '2026-12-07 11:02:33.25491+00', 'thread_started', 'root@example', 'claimed', '{"checkpoint_id":null,"graph_version":"1","input":"do what is due","requester":"root@example","requester_source":"claimed","tenant":"default","tools_version":"c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb"}', '', 'f9f23aa0c2edd8b16743ae1310b63273cf6cd44005212494feca2d60a76d36d4'),
	('done', 2, '2026-12-07 11:02:33.437466+00', 'process_began', 'example:29968:6006459:98920ce7-4026531836', 'process', '{"epoch":1,"from":null,"since":null}', 'f9f23aa0c2edd8b16743ae1310b63273cf6cd44005212494feca2d60a76d36d4', 'b8dbc99bf09ec7d9fa9e4dc5cc8df8cc0e8cd5d74f6fcc93d18ee6356f5c8b3d'),
	('done', 3, '2026-12-07 11:02:33.526522+00', 'transition', 'example:29968:6006459:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22db-41f9-693b-bfff-a65a8a32d80b","next":[],"source":"input","step":-1}', 'b8dbc99bf09ec7d9fa9e4dc5cc8df8cc0e8cd5d74f6fcc93d18ee6356f5c8b3d', 'bcb02e7ec7d53ddfe642dedf45d771ffce2a807cc975a4bb6ed9d71249c0848b'),
	('done', 4, '2026-12-07 11:02:33.549691+00', 'transition', 'example:29968:6006459:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22db-4207-6f7d-8000-91240b8f1d9a","next":["retrieve_episodes"],"source":"loop","step":0}', 'bcb02e7ec7d53ddfe642dedf45d771ffce2a807cc975a4bb6ed9d71249c0848b', '01f976bb2bcdf0ef836f291c895020eab1a8e0ab50feab427db1a66245e3b51d'),
	('done', 5, '2026-12-07 11:02:33.558958+00', 'transition', 'example:29968:6006459:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22db-42d9-688b-8001-e8433653c8ad","next":["agent_think"],"source":"loop","step":1}', '01f976bb2bcdf0ef836f291c895020eab1a8e0ab50feab427db1a66245e3b51d', '73c02f0aed13e26bed0f38bb8c6c13081f420e2919de59fdcc550fe12cd75236'),
	('done', 6, '2026-12-07 11:02:33.6152+00', 'transition', 'example:29968:6006459:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22db-4355-69e0-8002-8c347c1ab472","next":["remember_episode"],"source":"loop","step":2}', '73c02f0aed13e26bed0f38bb8c6c13081f420e2919de59fdcc550fe12cd75236', '28d08ea4202f0f2360cb1d955eec146067b7193918f2c407a9565c798f28d690'),
	('done', 7, '2026-12-07 11:02:33.649268+00', 'transition', 'example:29968:6006459:98920ce7-4026531836', 'process', '{"checkpoint_id":"1f1f22db-438b-66e9-8003-fb2418dbc5f0","next":[],"source":"loop","step":3}', '28d08ea4202f0f2360cb1d955eec146067b7193918f2c407a9565c798f28d690', '4a078271115998a45e0dd8488ca2799c0d8d71f35b123d1b1563a3d5f03b874c'),
	('done', 8, '2026-12-07 11:02:33.686364+00', 'thread_ended', 'example:29968:6006459:98920ce7-4026531836', 'process', '{"error":null,"final_answer":"Hello.","status":"completed"}', '4a078271115998a45e0dd8488ca2799c0d8d71f35b123d1b1563a3d5f03b874c', '29a5694c0f2b011f02d602bf2ba7ce1b14d0138f676bb695f362473598620bc5');


--
-- Data for Name: audit_head; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock.audit_head VALUES
	('done', 8, '29a5694c0f2b011f02d602bf2ba7ce1b14d0138f676bb695f362473598620bc5', 'daa5be6f4b7f8f91aafeaa2d131f99f6200dae54031394649c124425f4aa17c3'),
	('waits', 7, '0dbdff47d182c14b81ffa30aa0a50ccb5372139ec2930b1db4f9bbb27535b29f', '1c1a878faa64c70b6d0a937bb399a06b1fcdc2d27752debe152e75a35d977272'),
	('unknown', 11, 'e3804a1734543790143998e66f93118839cfc13b897bc902e41c75be375562ab', 'acddf5daf49334c8c4301bbe5039a6fc1d2c0f5c0ca184500a154dd697324435'),
	('left', 8, 'd581eb4f7f44d6909f1486337049a68de9d869f251fa250fbab4c8d446ca871e', 'a4ac99d40f45dc0496abfcbef9a9edba9e3f546d40f5cdaa3de1f1e3a386517c'),
	('@operators', 1, '275e8660812e0f15460b96fe12a9a4451131ce8b79e6ff1f6daa6a5536d144ce', '179f56eea493514b2f88b345e595d11ca91a87bbfee94b9a4f7102dbf6d4cab6'),
	('quorum', 8, '5e2ddda0a3a9aa79d23f1c7fb174e016645029f980559e5a2d6c3759c44784e3', 'fdca29b8052ab78d75891f3bbc415a9ebf6e5ddce4a6b6d935a333a666019df1');


--
-- Data for Name: decision; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock.decision VALUES
	('7f1dc9723f94c93e16060b968dadedb1', 1, 'unverified', 'root@example', 'claimed', 'approve', '', '{}', '2026-12-07 11:02:13.486864+00'),
	('46aaf4c264bde6ccf416d4223eef4271', 1, 'unverified', 'root@example', 'claimed', 'approve', '', '{}', '2026-12-07 11:02:21.553165+00'),
	('2b9574617c82b832e783b8b7489078f5', 1, 'token:carol', 'carol', 'token', 'approve', '', '{}', '2026-12-07 11:02:26.913195+00');


--
-- Data for Name: execution; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock.execution VALUES
	('410ede43da163ca733b568d9a05ed817263e2c226ff8c77968d7f12a0a006d67', 'unknown', 'call_bab8a91aeef298407bc59576', 'transfer', '{"to": "bob", "amount": 5}', '6a415388a358eb7d478e9d0c624834c80204e596f245bd31cd197c246c928746', true, '7f1dc9723f94c93e16060b968dadedb1', '410ede43da163ca733b568d9a05ed817263e2c226ff8c77968d7f12a0a006d67', 'started', 1, 2, NULL, NULL, NULL, '2026-12-07 11:02:15.583858+00', NULL);


--
-- Data for Name: operator; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock.operator OVERRIDING SYSTEM VALUE VALUES
	(1, 'carol', 1, '5d986240e85e2f4b6330d1a493fe09e2cdcec0b4da987d280712543a4fe91ada', 'root@example (claimed)', '2026-12-07 11:02:25.270693+00', NULL, NULL);


--
-- Data for Name: release; Type: TABLE DATA; Schema: interlock; Owner: -
--



--
-- Data for Name: run; Type: TABLE DATA; Schema: interlock; Owner: -
--

INSERT INTO interlock.run VALUES
	('waits', 'waiting', 'do what is due', 'root@example', 'claimed', 'root@example', 'claimed', 'default', 'waits', '1', 'c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb', NULL, NULL, NULL, 0, NULL, 1, '2026-12-07 11:02:04.195496+00', NULL, '1f1f22da-2c28-680e-8002-edd784a0907a', '2026-12-07 11:02:04.009279+00', '2026-12-07 11:02:04.372035+00'),
	('left', 'waiting', 'do what is due', 'root@example', 'claimed', 'root@example', 'claimed', 'default', 'left', '1', 'c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb', NULL, NULL, NULL, 1, NULL, 1, '2026-12-07 11:02:19.405853+00', NULL, '1f1f22da-bce5-67d2-8002-6a41a14427f0', '2026-12-07 11:02:19.277229+00', '2026-12-07 11:02:19.519989+00'),
	('unknown', 'running', 'do what is due', 'root@example', 'claimed', 'root@example', 'claimed', 'default', 'unknown', '1', 'c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb', NULL, NULL, NULL, 1, 'example:29248:6004878:98920ce7-4026531836', 2, '2026-12-07 11:02:15.498997+00', '2026-12-07 11:02:45.498997+00', '1f1f22da-96fb-63f5-8003-5af726cd97ae', '2026-12-07 11:02:09.997936+00', '2026-12-07 11:02:15.538101+00'),
	('quorum', 'waiting', 'do what is due', 'root@example', 'claimed', 'root@example', 'claimed', 'default', 'quorum', '1', 'c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb', NULL, NULL, NULL, 0, NULL, 1, '2026-12-07 11:02:23.833217+00', NULL, '1f1f22da-e6d0-6b20-8002-8b9298aca1ec', '2026-12-07 11:02:23.776531+00', '2026-12-07 11:02:23.938108+00'),
	('done', 'completed', 'do what is due', 'root@example', 'claimed', 'root@example', 'claimed', 'default', 'done', '1', 'c5d9c891b4f0631d75c55c8e75f43a8ae8ba1f8937b88a13c4c7f58060c8d5fb', 'Hello.', NULL, NULL, 0, NULL, 1, '2026-12-07 11:02:33.435822+00', NULL, '1f1f22db-438b-66e9-8003-fb2418dbc5f0', '2026-12-07 11:02:33.240404+00', '2026-12-07 11:02:33.685966+00');


--
-- Data for Name: ticket; Type: TABLE DATA; Schema: interlock; Owner: -
--



--
-- Data for Name: customers; Type: TABLE DATA; Schema: interlock_analytics; Owner: -
--

INSERT INTO interlock_analytics.customers VALUES
	(1, 'Almhof Bakeries', 'AT', 'team', '2023-04-11', NULL),
	(2, 'Bright Harbour Shipping', 'IE', 'enterprise', '2022-09-01', NULL),
	(3, 'Café Mirabelle', 'FR', 'starter', '2025-01-20', NULL),
	(4, 'Dunes Outdoor', 'NL', 'team', '2024-06-15', NULL),
	(5, 'Eskola & Pojat', 'FI', 'team', '2023-11-03', NULL),
	(6, 'Fjord Analytics', 'NO', 'enterprise', '2021-05-27', NULL),
	(7, 'Granja del Sol', 'ES', 'starter', '2025-08-09', '2026-04-30'),
	(8, 'Hollow Oak Press', 'GB', 'starter', '2024-12-01', NULL),
	(9, 'Ilmarinen Tools', 'EE', 'team', '2024-02-29', NULL),
	(10, 'Jansen Fietsen', 'NL', 'starter', '2025-10-14', NULL),
	(11, 'Krüger Medizintechnik', 'DE', 'enterprise', '2022-03-08', NULL),
	(12, 'Lumen Studio', 'PT', 'team', '2025-05-05', '2026-02-28');


--
-- Data for Name: deployments; Type: TABLE DATA; Schema: interlock_analytics; Owner: -
--

INSERT INTO interlock_analytics.deployments VALUES
	(1, 'shop', '1.3.0', 'staging', '2026-06-01 09:12:00+00', true, NULL),
	(2, 'shop', '1.3.0', 'production', '2026-06-02 08:30:00+00', true, NULL),
	(3, 'billing', '4.0.1', 'production', '2026-06-04 13:45:00+00', true, 'new tax rates'),
	(4, 'search', '0.9.0', 'staging', '2026-06-08 10:05:00+00', false, 'index did not fit into memory'),
	(5, 'search', '0.9.1', 'staging', '2026-06-09 15:20:00+00', true, NULL),
	(6, 'shop', '1.4.0', 'staging', '2026-06-15 09:00:00+00', true, NULL),
	(7, 'shop', '1.4.0', 'production', '2026-06-16 08:30:00+00', false, 'checkout answered 500, rolled back after 6 minutes'),
	(8, 'shop', '1.3.0', 'production', '2026-06-16 08:36:00+00', true, 'rollback of 1.4.0'),
	(9, 'shop', '1.4.1', 'production', '2026-06-18 08:30:00+00', true, NULL),
	(10, 'billing', '4.0.2', 'production', '2026-06-22 14:10:00+00', true, NULL),
	(11, 'search', '0.9.1', 'production', '2026-06-24 09:40:00+00', true, NULL),
	(12, 'billing', '4.1.0', 'staging', '2026-06-29 16:25:00+00', true, NULL);


--
-- Data for Name: orders; Type: TABLE DATA; Schema: interlock_analytics; Owner: -
--

INSERT INTO interlock_analytics.orders VALUES
	(1, 8, '2026-01-08', 'training', 3, 147.00, 'paid'),
	(2, 3, '2026-01-11', 'support', 5, 1200.00, 'paid'),
	(3, 10, '2026-01-14', 'storage', 7, 108.50, 'paid'),
	(4, 5, '2026-01-17', 'seats', 9, 179.10, 'paid'),
	(5, 12, '2026-01-20', 'training', 2, 98.00, 'paid'),
	(6, 7, '2026-01-23', 'support', 4, 960.00, 'refunded'),
	(7, 2, '2026-01-26', 'storage', 6, 93.00, 'paid'),
	(8, 9, '2026-01-29', 'seats', 8, 159.20, 'paid'),
	(9, 4, '2026-02-01', 'training', 1, 49.00, 'paid'),
	(10, 11, '2026-02-04', 'support', 3, 720.00, 'paid'),
	(11, 6, '2026-02-07', 'storage', 5, 77.50, 'paid'),
	(12, 1, '2026-02-10', 'seats', 7, 139.30, 'paid'),
	(13, 8, '2026-02-13', 'training', 9, 441.00, 'paid'),
	(14, 3, '2026-02-16', 'support', 2, 480.00, 'paid'),
	(15, 10, '2026-02-19', 'storage', 4, 62.00, 'paid'),
	(16, 5, '2026-02-22', 'seats', 6, 119.40, 'paid'),
	(17, 12, '2026-02-25', 'training', 8, 392.00, 'paid'),
	(18, 7, '2026-02-28', 'support', 1, 240.00, 'paid'),
	(19, 2, '2026-03-03', 'storage', 3, 46.50, 'refunded'),
	(20, 9, '2026-03-06', 'seats', 5, 99.50, 'paid'),
	(21, 4, '2026-03-09', 'training', 7, 343.00, 'paid'),
	(22, 11, '2026-03-12', 'support', 9, 2160.00, 'paid'),
	(23, 6, '2026-03-15', 'storage', 2, 31.00, 'paid'),
	(24, 1, '2026-03-18', 'seats', 4, 79.60, 'paid'),
	(25, 8, '2026-03-21', 'training', 6, 294.00, 'paid'),
	(26, 3, '2026-03-24', 'support', 8, 1920.00, 'paid'),
	(27, 10, '2026-03-27', 'storage', 1, 15.50, 'paid'),
	(28, 5, '2026-03-30', 'seats', 3, 59.70, 'paid'),
	(29, 12, '2026-04-02', 'training', 5, 245.00, 'paid'),
	(30, 7, '2026-04-05', 'support', 7, 1680.00, 'paid'),
	(31, 2, '2026-04-08', 'storage', 9, 139.50, 'paid'),
	(32, 9, '2026-04-11', 'seats', 2, 39.80, 'refunded'),
	(33, 4, '2026-04-14', 'training', 4, 196.00, 'paid'),
	(34, 11, '2026-04-17', 'support', 6, 1440.00, 'paid'),
	(35, 6, '2026-04-20', 'storage', 8, 124.00, 'paid'),
	(36, 1, '2026-04-23', 'seats', 1, 19.90, 'paid'),
	(37, 8, '2026-04-26', 'training', 3, 147.00, 'paid'),
	(38, 3, '2026-04-29', 'support', 5, 1200.00, 'paid'),
	(39, 10, '2026-05-02', 'storage', 7, 108.50, 'paid'),
	(40, 5, '2026-05-05', 'seats', 9, 179.10, 'paid'),
	(41, 12, '2026-05-08', 'training', 2, 98.00, 'paid'),
	(42, 7, '2026-05-11', 'support', 4, 960.00, 'paid'),
	(43, 2, '2026-05-14', 'storage', 6, 93.00, 'paid'),
	(44, 9, '2026-05-17', 'seats', 8, 159.20, 'paid'),
	(45, 4, '2026-05-20', 'training', 1, 49.00, 'refunded'),
	(46, 11, '2026-05-23', 'support', 3, 720.00, 'paid'),
	(47, 6, '2026-05-26', 'storage', 5, 77.50, 'paid'),
	(48, 1, '2026-05-29', 'seats', 7, 139.30, 'paid'),
	(49, 8, '2026-06-01', 'training', 9, 441.00, 'paid'),
	(50, 3, '2026-06-04', 'support', 2, 480.00, 'paid');
INSERT INTO interlock_analytics.orders VALUES
	(51, 10, '2026-06-07', 'storage', 4, 62.00, 'paid'),
	(52, 5, '2026-06-10', 'seats', 6, 119.40, 'paid'),
	(53, 12, '2026-06-13', 'training', 8, 392.00, 'paid'),
	(54, 7, '2026-06-16', 'support', 1, 240.00, 'paid'),
	(55, 2, '2026-06-19', 'storage', 3, 46.50, 'open'),
	(56, 9, '2026-06-22', 'seats', 5, 99.50, 'open'),
	(57, 4, '2026-06-25', 'training', 7, 343.00, 'open'),
	(58, 11, '2026-06-28', 'support', 9, 2160.00, 'refunded');


--
-- Data for Name: users; Type: TABLE DATA; Schema: interlock_analytics; Owner: -
--

INSERT INTO interlock_analytics.users VALUES
	(1, 6, 'hugo.1@example.com', 'member', '2026-06-30 15:23:00+00'),
	(2, 11, 'clara.2@example.com', 'member', '2026-06-30 10:32:00+00'),
	(3, 4, 'jonas.3@example.com', 'viewer', '2026-06-30 02:27:00+00'),
	(4, 9, 'elif.4@example.com', 'member', NULL),
	(5, 2, 'liam.5@example.com', 'member', '2026-06-29 00:35:00+00'),
	(6, 7, 'greta.6@example.com', 'admin', '2026-06-28 06:48:00+00'),
	(7, 12, 'bruno.7@example.com', 'member', '2026-06-27 09:47:00+00'),
	(8, 5, 'ines.8@example.com', 'member', '2026-06-26 09:32:00+00'),
	(9, 10, 'dirk.9@example.com', 'viewer', '2026-06-25 06:03:00+00'),
	(10, 3, 'karin.10@example.com', 'member', '2026-06-23 23:20:00+00'),
	(11, 8, 'finn.11@example.com', 'member', '2026-06-22 13:23:00+00'),
	(12, 1, 'ana.12@example.com', 'admin', '2026-06-21 00:12:00+00'),
	(13, 6, 'hugo.13@example.com', 'member', NULL),
	(14, 11, 'clara.14@example.com', 'member', '2026-06-17 12:08:00+00'),
	(15, 4, 'jonas.15@example.com', 'viewer', '2026-06-15 13:15:00+00'),
	(16, 9, 'elif.16@example.com', 'member', '2026-06-13 11:08:00+00'),
	(17, 2, 'liam.17@example.com', 'member', '2026-06-11 05:47:00+00'),
	(18, 7, 'greta.18@example.com', 'admin', '2026-06-08 21:12:00+00'),
	(19, 12, 'bruno.19@example.com', 'member', '2026-06-06 09:23:00+00'),
	(20, 5, 'ines.20@example.com', 'member', '2026-06-03 18:20:00+00'),
	(21, 10, 'dirk.21@example.com', 'viewer', '2026-06-01 00:03:00+00'),
	(22, 3, 'karin.22@example.com', 'member', NULL),
	(23, 8, 'finn.23@example.com', 'member', '2026-05-26 01:47:00+00'),
	(24, 1, 'ana.24@example.com', 'admin', '2026-05-22 21:48:00+00'),
	(25, 6, 'hugo.25@example.com', 'member', '2026-05-19 14:35:00+00'),
	(26, 11, 'clara.26@example.com', 'member', '2026-05-16 04:08:00+00'),
	(27, 4, 'jonas.27@example.com', 'viewer', '2026-05-12 14:27:00+00'),
	(28, 9, 'elif.28@example.com', 'member', '2026-05-08 21:32:00+00'),
	(29, 2, 'liam.29@example.com', 'member', '2026-05-05 01:23:00+00'),
	(30, 7, 'greta.30@example.com', 'admin', '2026-05-01 02:00:00+00'),
	(31, 12, 'bruno.31@example.com', 'member', NULL),
	(32, 5, 'ines.32@example.com', 'member', '2026-04-22 17:32:00+00'),
	(33, 10, 'dirk.33@example.com', 'viewer', '2026-04-18 08:27:00+00'),
	(34, 3, 'karin.34@example.com', 'member', '2026-04-13 20:08:00+00'),
	(35, 8, 'finn.35@example.com', 'member', '2026-04-09 04:35:00+00'),
	(36, 1, 'ana.36@example.com', 'admin', '2026-04-04 09:48:00+00');


--
-- Data for Name: checkpoint_blobs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.checkpoint_blobs VALUES
	('waits', '', 'input', '00000000000000000000000000000002.0.38014395105514587', 'msgpack', '\x81a474657874ae646f207768617420697320647565'),
	('waits', '', 'memories', '00000000000000000000000000000003.0.3694889337541656', 'msgpack', '\x82a6737461747573ab756e617661696c61626c65a77265636f72647390'),
	('waits', '', 'messages', '00000000000000000000000000000004.0.8200344951654943', 'msgpack', '\x92c7b80594bd6c616e67636861696e5f636f72652e6d657373616765732e68756d616eac48756d616e4d65737361676586a7636f6e74656e74ae646f207768617420697320647565b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a568756d616ea46e616d65c0a26964d92430643965623063352d623436342d343830302d396237652d343239346237313632353537b36d6f64656c5f76616c69646174655f6a736f6ec801250594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a0b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92430653336393031302d636363352d343136632d616139612d376635653733316238653531aa746f6f6c5f63616c6c739184a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a26964bd63616c6c5f613462346136383733343039343234653036663364363236a474797065a9746f6f6c5f63616c6cb2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e'),
	('waits', '', 'tool_calls', '00000000000000000000000000000004.0.8200344951654943', 'msgpack', '\x91de0012a863616c6c5f6b6579d94030353864316431653363363063396633373465623830653530303935343464633463613961376466386232313833346463346231653837613732376337626563a26964bd63616c6c5f613462346136383733343039343234653036663364363236aa6d6573736167655f6964d92430653336393031302d636363352d343136632d616139612d376635653733316238653531a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a777616974696e67ab617070726f76616c5f6964d9203236336433336331613461656439373963366233633831316534306238363238a67065726d6974d9203236336433336331613461656439373963366233633831316534306238363238a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d65c0'),
	('waits', '', 'proposed_action', '00000000000000000000000000000004.0.8200344951654943', 'msgpack', '\x82a474797065a9746f6f6c5f63616c6ca764657461696c7387ab617070726f76616c5f6964d9203236336433336331613461656439373963366233633831316534306238363238a863616c6c5f6b6579d94030353864316431653363363063396633373465623830653530303935343464633463613961376466386232313833346463346231653837613732376337626563ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436a46b696e64ad7072655f657865637574696f6ea4746f6f6ca87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a776657273696f6e01'),
	('unknown', '', 'input', '00000000000000000000000000000002.0.4452529740066453', 'msgpack', '\x81a474657874ae646f207768617420697320647565'),
	('unknown', '', 'memories', '00000000000000000000000000000003.0.9955057926414596', 'msgpack', '\x82a6737461747573ab756e617661696c61626c65a77265636f72647390'),
	('unknown', '', 'messages', '00000000000000000000000000000004.0.5900050017304161', 'msgpack', '\x92c7b80594bd6c616e67636861696e5f636f72652e6d657373616765732e68756d616eac48756d616e4d65737361676586a7636f6e74656e74ae646f207768617420697320647565b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a568756d616ea46e616d65c0a26964d92437326265386132342d363266642d343433632d383034652d343438623139636638623035b36d6f64656c5f76616c69646174655f6a736f6ec801250594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a0b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92436306461313464322d636337352d346366642d616334312d343137653963373862333439aa746f6f6c5f63616c6c739184a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a26964bd63616c6c5f626162386139316165656632393834303762633539353736a474797065a9746f6f6c5f63616c6cb2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e'),
	('unknown', '', 'tool_calls', '00000000000000000000000000000005.0.6864914056113225', 'msgpack', '\x91de0012a863616c6c5f6b6579d94034313065646534336461313633636137333362353638643961303565643831373236336532633232366666386337373936386437663132613061303036643637a26964bd63616c6c5f626162386139316165656632393834303762633539353736aa6d6573736167655f6964d92436306461313464322d636337352d346366642d616334312d343137653963373862333439a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a57265616479ab617070726f76616c5f6964d9203766316463393732336639346339336531363036306239363864616465646231a67065726d6974d9203766316463393732336639346339336531363036306239363864616465646231a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d6584a26279ac726f6f74406578616d706c65a7636f6d6d656e74a0a6736f75726365a7636c61696d6564a474797065a7617070726f7665'),
	('unknown', '', '__pregel_tasks', '00000000000000000000000000000005.0.6864914056113225', 'msgpack', '\x91c8032f0193af6c616e6767726170682e7479706573a453656e6492ad657865637574655f746f6f6c7382a463616c6cde0012a863616c6c5f6b6579d94034313065646534336461313633636137333362353638643961303565643831373236336532633232366666386337373936386437663132613061303036643637a26964bd63616c6c5f626162386139316165656632393834303762633539353736aa6d6573736167655f6964d92436306461313464322d636337352d346366642d616334312d343137653963373862333439a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a57265616479ab617070726f76616c5f6964d9203766316463393732336639346339336531363036306239363864616465646231a67065726d6974d9203766316463393732336639346339336531363036306239363864616465646231a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d6584a26279ac726f6f74406578616d706c65a7636f6d6d656e74a0a6736f75726365a7636c61696d6564a474797065a7617070726f7665a361736b90'),
	('left', '', 'input', '00000000000000000000000000000002.0.5800888452809856', 'msgpack', '\x81a474657874ae646f207768617420697320647565'),
	('left', '', 'memories', '00000000000000000000000000000003.0.33541327544284016', 'msgpack', '\x82a6737461747573ab756e617661696c61626c65a77265636f72647390'),
	('left', '', 'messages', '00000000000000000000000000000004.0.7134556891292014', 'msgpack', '\x92c7b80594bd6c616e67636861696e5f636f72652e6d657373616765732e68756d616eac48756d616e4d65737361676586a7636f6e74656e74ae646f207768617420697320647565b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a568756d616ea46e616d65c0a26964d92466333736393137332d653439382d343561652d393164352d613364303936313839306533b36d6f64656c5f76616c69646174655f6a736f6ec8012d0594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a0b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92464643363646539652d633933332d343866312d623463362d356463393230363830316163aa746f6f6c5f63616c6c739184a46e616d65b07472616e736665725f636865636b6564a46172677382a2746fa3626f62a6616d6f756e7405a26964bd63616c6c5f373934363831306334386637656465653633333236366666a474797065a9746f6f6c5f63616c6cb2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e'),
	('left', '', 'tool_calls', '00000000000000000000000000000004.0.7134556891292014', 'msgpack', '\x91de0012a863616c6c5f6b6579d94030663130316362383432326533363966363263323232646465333935383137366261666632383238366632363033346163373831303631653766386434643864a26964bd63616c6c5f373934363831306334386637656465653633333236366666aa6d6573736167655f6964d92464643363646539652d633933332d343866312d623463362d356463393230363830316163a8706f736974696f6e00a46e616d65b07472616e736665725f636865636b6564a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94038363231343265363333633464376634626566663336383036643838353664386663633035613636623430626639306136666537323662623734333639666538ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94061376362633131386437353136313265323133623939363563336164643466623165633338633732646432613232633736303538393738316563633437313162a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a777616974696e67ab617070726f76616c5f6964d9203436616166346332363462646536636366343136643432323365656634323731a67065726d6974d9203436616166346332363462646536636366343136643432323365656634323731a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d65c0'),
	('left', '', 'proposed_action', '00000000000000000000000000000004.0.7134556891292014', 'msgpack', '\x82a474797065a9746f6f6c5f63616c6ca764657461696c7387ab617070726f76616c5f6964d9203436616166346332363462646536636366343136643432323365656634323731a863616c6c5f6b6579d94030663130316362383432326533363966363263323232646465333935383137366261666632383238366632363033346163373831303631653766386434643864ab617267735f736861323536d94038363231343265363333633464376634626566663336383036643838353664386663633035613636623430626639306136666537323662623734333639666538a46b696e64ad7072655f657865637574696f6ea4746f6f6cb07472616e736665725f636865636b6564a46172677382a2746fa3626f62a6616d6f756e7405a776657273696f6e01'),
	('quorum', '', 'input', '00000000000000000000000000000002.0.31765419533974115', 'msgpack', '\x81a474657874ae646f207768617420697320647565'),
	('quorum', '', 'memories', '00000000000000000000000000000003.0.2841142109249325', 'msgpack', '\x82a6737461747573ab756e617661696c61626c65a77265636f72647390'),
	('quorum', '', 'messages', '00000000000000000000000000000004.0.562862091100283', 'msgpack', '\x92c7b80594bd6c616e67636861696e5f636f72652e6d657373616765732e68756d616eac48756d616e4d65737361676586a7636f6e74656e74ae646f207768617420697320647565b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a568756d616ea46e616d65c0a26964d92463633636363638662d633162332d343034342d616162632d616536343239303331313166b36d6f64656c5f76616c69646174655f6a736f6ec801250594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a0b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92461633966396636332d373165342d343431392d623164302d393932353831303537653235aa746f6f6c5f63616c6c739184a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a26964bd63616c6c5f633362656530363934326161353335663136356662353365a474797065a9746f6f6c5f63616c6cb2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e'),
	('quorum', '', 'tool_calls', '00000000000000000000000000000004.0.562862091100283', 'msgpack', '\x91de0012a863616c6c5f6b6579d94035336136316131333662373837346136613531326365343237343635353962346634323831373239303761623336643737316264656364646632343936633766a26964bd63616c6c5f633362656530363934326161353335663136356662353365aa6d6573736167655f6964d92461633966396636332d373165342d343431392d623164302d393932353831303537653235a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656402a7736f757263657393a5746f6b656ea46f696463a26f73a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a864656661756c7473a6706f6c696379d94066363039313666353862356633333637383839306235363539373733373632343339396437666637326537343266353764306462303933336335313266333132a872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a777616974696e67ab617070726f76616c5f6964d9203262393537343631376338326238333265373833623862373438393037386635a67065726d6974d9203262393537343631376338326238333265373833623862373438393037386635a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d65c0'),
	('quorum', '', 'proposed_action', '00000000000000000000000000000004.0.562862091100283', 'msgpack', '\x82a474797065a9746f6f6c5f63616c6ca764657461696c7387ab617070726f76616c5f6964d9203262393537343631376338326238333265373833623862373438393037386635a863616c6c5f6b6579d94035336136316131333662373837346136613531326365343237343635353962346634323831373239303761623336643737316264656364646632343936633766ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436a46b696e64ad7072655f657865637574696f6ea4746f6f6ca87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a776657273696f6e01'),
	('done', '', 'input', '00000000000000000000000000000002.0.5624231603377932', 'msgpack', '\x81a474657874ae646f207768617420697320647565'),
	('done', '', 'memories', '00000000000000000000000000000003.0.10796456776686603', 'msgpack', '\x82a6737461747573ab756e617661696c61626c65a77265636f72647390'),
	('done', '', 'messages', '00000000000000000000000000000004.0.3701657002014169', 'msgpack', '\x92c7b80594bd6c616e67636861696e5f636f72652e6d657373616765732e68756d616eac48756d616e4d65737361676586a7636f6e74656e74ae646f207768617420697320647565b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a568756d616ea46e616d65c0a26964d92464353337656234342d376333612d346531652d623065342d303133653932333865323762b36d6f64656c5f76616c69646174655f6a736f6ec7d70594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a648656c6c6f2eb16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92437323337376337302d643134372d343864352d623565322d336333613063356630626236aa746f6f6c5f63616c6c7390b2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e'),
	('done', '', 'tool_calls', '00000000000000000000000000000004.0.3701657002014169', 'msgpack', '\x90'),
	('done', '', 'final_answer', '00000000000000000000000000000004.0.3701657002014169', 'msgpack', '\x81a474657874a648656c6c6f2e');


--
-- Data for Name: checkpoint_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.checkpoint_migrations VALUES
	(0),
	(1),
	(2),
	(3),
	(4),
	(5),
	(6),
	(7),
	(8),
	(9);


--
-- Data for Name: checkpoint_writes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.checkpoint_writes VALUES
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 0, 'messages', 'msgpack', '\x91c801250594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a0b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92430653336393031302d636363352d343136632d616139612d376635653733316238653531aa746f6f6c5f63616c6c739184a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a26964bd63616c6c5f613462346136383733343039343234653036663364363236a474797065a9746f6f6c5f63616c6cb2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 1, 'tool_calls', 'msgpack', '\x91de0012a863616c6c5f6b6579d94030353864316431653363363063396633373465623830653530303935343464633463613961376466386232313833346463346231653837613732376337626563a26964bd63616c6c5f613462346136383733343039343234653036663364363236aa6d6573736167655f6964d92430653336393031302d636363352d343136632d616139612d376635653733316238653531a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a777616974696e67ab617070726f76616c5f6964d9203236336433336331613461656439373963366233633831316534306238363238a67065726d6974d9203236336433336331613461656439373963366233633831316534306238363238a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d65c0', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 2, 'proposed_action', 'msgpack', '\x82a474797065a9746f6f6c5f63616c6ca764657461696c7387ab617070726f76616c5f6964d9203236336433336331613461656439373963366233633831316534306238363238a863616c6c5f6b6579d94030353864316431653363363063396633373465623830653530303935343464633463613961376466386232313833346463346231653837613732376337626563ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436a46b696e64ad7072655f657865637574696f6ea4746f6f6ca87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a776657273696f6e01', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 3, 'awaiting_human_approval', 'msgpack', '\xc3', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 4, 'final_answer', 'null', '\x', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 5, 'human_feedback', 'null', '\x', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 6, 'modification_details', 'null', '\x', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 7, 'status', 'msgpack', '\xa772756e6e696e67', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2bd6-68d5-8001-cab54239bec5', 'a5ef5609-c427-372e-00e1-9474eb64fb04', 8, 'branch:to:await_human_approval', 'null', '\x', '~__pregel_pull, agent_think'),
	('waits', '', '1f1f22da-2c28-680e-8002-edd784a0907a', '7154d7a4-a12d-3361-9ea0-6965a949a50c', -3, '__interrupt__', 'msgpack', '\x91c802950293af6c616e6767726170682e7479706573a9496e7465727275707483a576616c756583af616374696f6e5f72657175657374739184a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a9617267756d656e747382a2746fa3626f62a6616d6f756e7405ab6465736372697074696f6ed945726f6f74406578616d706c652028636c61696d6564292061736b65642e2052756e207472616e736665723f205469657220312c2030206f66203120617070726f76616c732eae7265766965775f636f6e666967739184ab616374696f6e5f6e616d65a87472616e73666572b1616c6c6f7765645f6465636973696f6e7393a7617070726f7665a465646974a672656a656374aa616374696f6e4e616d65a87472616e73666572b0616c6c6f7765644465636973696f6e7393a7617070726f7665a465646974a672656a656374a4676174658ca6736368656d6101ab617070726f76616c5f6964d9203236336433336331613461656439373963366233633831316534306238363238a97468726561645f6964a57761697473ac746f6f6c5f63616c6c5f6964bd63616c6c5f613462346136383733343039343234653036663364363236ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436a47469657201a8726571756972656401a46861766500a776657273696f6e01a46b696e64ad7072655f657865637574696f6eaa657870697265735f6174c0ad67726170685f76657273696f6ea131a26964d9203733633963366665623063343432623634326139613738663039613735373961af726573706f6e73655f736368656d61c0', '~__pregel_pull, await_human_approval'),
	('unknown', '', '1f1f22da-649a-69bc-8002-7799f3d7dd46', 'e7506afb-7362-6923-d779-92b5f6457b2e', -4, '__resume__', 'msgpack', '\x9181a8676174655f72656681ab617070726f76616c5f6964d9203766316463393732336639346339336531363036306239363864616465646231', '~__pregel_pull, await_human_approval'),
	('unknown', '', '1f1f22da-649a-69bc-8002-7799f3d7dd46', 'e7506afb-7362-6923-d779-92b5f6457b2e', 1, 'human_feedback', 'msgpack', '\xa7617070726f7665', '~__pregel_pull, await_human_approval'),
	('unknown', '', '1f1f22da-649a-69bc-8002-7799f3d7dd46', 'e7506afb-7362-6923-d779-92b5f6457b2e', 2, 'tool_calls', 'msgpack', '\x91de0012a863616c6c5f6b6579d94034313065646534336461313633636137333362353638643961303565643831373236336532633232366666386337373936386437663132613061303036643637a26964bd63616c6c5f626162386139316165656632393834303762633539353736aa6d6573736167655f6964d92436306461313464322d636337352d346366642d616334312d343137653963373862333439a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a57265616479ab617070726f76616c5f6964d9203766316463393732336639346339336531363036306239363864616465646231a67065726d6974d9203766316463393732336639346339336531363036306239363864616465646231a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d6584a26279ac726f6f74406578616d706c65a7636f6d6d656e74a0a6736f75726365a7636c61696d6564a474797065a7617070726f7665', '~__pregel_pull, await_human_approval'),
	('unknown', '', '1f1f22da-649a-69bc-8002-7799f3d7dd46', 'e7506afb-7362-6923-d779-92b5f6457b2e', 3, 'proposed_action', 'null', '\x', '~__pregel_pull, await_human_approval'),
	('unknown', '', '1f1f22da-649a-69bc-8002-7799f3d7dd46', 'e7506afb-7362-6923-d779-92b5f6457b2e', 4, 'awaiting_human_approval', 'msgpack', '\xc2', '~__pregel_pull, await_human_approval'),
	('unknown', '', '1f1f22da-649a-69bc-8002-7799f3d7dd46', 'e7506afb-7362-6923-d779-92b5f6457b2e', 5, '__pregel_tasks', 'msgpack', '\xc8032f0193af6c616e6767726170682e7479706573a453656e6492ad657865637574655f746f6f6c7382a463616c6cde0012a863616c6c5f6b6579d94034313065646534336461313633636137333362353638643961303565643831373236336532633232366666386337373936386437663132613061303036643637a26964bd63616c6c5f626162386139316165656632393834303762633539353736aa6d6573736167655f6964d92436306461313464322d636337352d346366642d616334312d343137653963373862333439a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a57265616479ab617070726f76616c5f6964d9203766316463393732336639346339336531363036306239363864616465646231a67065726d6974d9203766316463393732336639346339336531363036306239363864616465646231a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d6584a26279ac726f6f74406578616d706c65a7636f6d6d656e74a0a6736f75726365a7636c61696d6564a474797065a7617070726f7665a361736b90', '~__pregel_pull, await_human_approval'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 0, 'messages', 'msgpack', '\x91c8012d0594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a0b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92464643363646539652d633933332d343866312d623463362d356463393230363830316163aa746f6f6c5f63616c6c739184a46e616d65b07472616e736665725f636865636b6564a46172677382a2746fa3626f62a6616d6f756e7405a26964bd63616c6c5f373934363831306334386637656465653633333236366666a474797065a9746f6f6c5f63616c6cb2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 1, 'tool_calls', 'msgpack', '\x91de0012a863616c6c5f6b6579d94030663130316362383432326533363966363263323232646465333935383137366261666632383238366632363033346163373831303631653766386434643864a26964bd63616c6c5f373934363831306334386637656465653633333236366666aa6d6573736167655f6964d92464643363646539652d633933332d343866312d623463362d356463393230363830316163a8706f736974696f6e00a46e616d65b07472616e736665725f636865636b6564a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94038363231343265363333633464376634626566663336383036643838353664386663633035613636623430626639306136666537323662623734333639666538ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94061376362633131386437353136313265323133623939363563336164643466623165633338633732646432613232633736303538393738316563633437313162a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656401a7736f757263657395a5746f6b656ea46f696463a26f73a27569a7636c61696d6564a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a764656661756c74a6706f6c696379a86275696c742d696ea872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a777616974696e67ab617070726f76616c5f6964d9203436616166346332363462646536636366343136643432323365656634323731a67065726d6974d9203436616166346332363462646536636366343136643432323365656634323731a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d65c0', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 2, 'proposed_action', 'msgpack', '\x82a474797065a9746f6f6c5f63616c6ca764657461696c7387ab617070726f76616c5f6964d9203436616166346332363462646536636366343136643432323365656634323731a863616c6c5f6b6579d94030663130316362383432326533363966363263323232646465333935383137366261666632383238366632363033346163373831303631653766386434643864ab617267735f736861323536d94038363231343265363333633464376634626566663336383036643838353664386663633035613636623430626639306136666537323662623734333639666538a46b696e64ad7072655f657865637574696f6ea4746f6f6cb07472616e736665725f636865636b6564a46172677382a2746fa3626f62a6616d6f756e7405a776657273696f6e01', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 3, 'awaiting_human_approval', 'msgpack', '\xc3', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 4, 'final_answer', 'null', '\x', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 5, 'human_feedback', 'null', '\x', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 6, 'modification_details', 'null', '\x', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 7, 'status', 'msgpack', '\xa772756e6e696e67', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', 'f946b803-a704-cce5-7ca1-bbab22c22769', 8, 'branch:to:await_human_approval', 'null', '\x', '~__pregel_pull, agent_think'),
	('left', '', '1f1f22da-bce5-67d2-8002-6a41a14427f0', 'e93caa5a-fb9e-3bbb-fd88-1af445d751a0', -3, '__interrupt__', 'msgpack', '\x91c802b40293af6c616e6767726170682e7479706573a9496e7465727275707483a576616c756583af616374696f6e5f72657175657374739184a46e616d65b07472616e736665725f636865636b6564a46172677382a2746fa3626f62a6616d6f756e7405a9617267756d656e747382a2746fa3626f62a6616d6f756e7405ab6465736372697074696f6ed94d726f6f74406578616d706c652028636c61696d6564292061736b65642e2052756e207472616e736665725f636865636b65643f205469657220312c2030206f66203120617070726f76616c732eae7265766965775f636f6e666967739184ab616374696f6e5f6e616d65b07472616e736665725f636865636b6564b1616c6c6f7765645f6465636973696f6e7393a7617070726f7665a465646974a672656a656374aa616374696f6e4e616d65b07472616e736665725f636865636b6564b0616c6c6f7765644465636973696f6e7393a7617070726f7665a465646974a672656a656374a4676174658ca6736368656d6101ab617070726f76616c5f6964d9203436616166346332363462646536636366343136643432323365656634323731a97468726561645f6964a46c656674ac746f6f6c5f63616c6c5f6964bd63616c6c5f373934363831306334386637656465653633333236366666ab617267735f736861323536d94038363231343265363333633464376634626566663336383036643838353664386663633035613636623430626639306136666537323662623734333639666538a47469657201a8726571756972656401a46861766500a776657273696f6e01a46b696e64ad7072655f657865637574696f6eaa657870697265735f6174c0ad67726170685f76657273696f6ea131a26964d9203566306532376465343337633464303532643139313965643561326239613033af726573706f6e73655f736368656d61c0', '~__pregel_pull, await_human_approval'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 0, 'messages', 'msgpack', '\x91c801250594ba6c616e67636861696e5f636f72652e6d657373616765732e6169a941494d65737361676589a7636f6e74656e74a0b16164646974696f6e616c5f6b776172677380b1726573706f6e73655f6d6574616461746180a474797065a26169a46e616d65c0a26964d92461633966396636332d373165342d343431392d623164302d393932353831303537653235aa746f6f6c5f63616c6c739184a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a26964bd63616c6c5f633362656530363934326161353335663136356662353365a474797065a9746f6f6c5f63616c6cb2696e76616c69645f746f6f6c5f63616c6c7390ae75736167655f6d65746164617461c0b36d6f64656c5f76616c69646174655f6a736f6e', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 1, 'tool_calls', 'msgpack', '\x91de0012a863616c6c5f6b6579d94035336136316131333662373837346136613531326365343237343635353962346634323831373239303761623336643737316264656364646632343936633766a26964bd63616c6c5f633362656530363934326161353335663136356662353365aa6d6573736167655f6964d92461633966396636332d373165342d343431392d623164302d393932353831303537653235a8706f736974696f6e00a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436ad70726f706f7365645f6172677382a2746fa3626f62a6616d6f756e7405ad736368656d615f736861323536d94039383365373966336134353633373562646530356638643465663366313863306566313937313439663032316237316535393730666331303939333931316533a7766572646963748da6616374696f6ea361736ba47469657201a8726571756972656402a7736f757263657393a5746f6b656ea46f696463a26f73a9666f75725f65796573c2a8646561646c696e65c0a96f6e5f657870697279a672656a656374a472756c65a864656661756c7473a6706f6c696379d94066363039313666353862356633333637383839306235363539373733373632343339396437666637326537343266353764306462303933336335313266333132a872656d696e646572c0ac7072655f617070726f766564c2a6726576696577c0a46e6f7465a0a57374617465a777616974696e67ab617070726f76616c5f6964d9203262393537343631376338326238333265373833623862373438393037386635a67065726d6974d9203262393537343631376338326238333265373833623862373438393037386635a46b696e64ad7072655f657865637574696f6ea5726f756e6400a46e6f7465a0a473616964a0a76f7574636f6d65c0', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 2, 'proposed_action', 'msgpack', '\x82a474797065a9746f6f6c5f63616c6ca764657461696c7387ab617070726f76616c5f6964d9203262393537343631376338326238333265373833623862373438393037386635a863616c6c5f6b6579d94035336136316131333662373837346136613531326365343237343635353962346634323831373239303761623336643737316264656364646632343936633766ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436a46b696e64ad7072655f657865637574696f6ea4746f6f6ca87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a776657273696f6e01', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 3, 'awaiting_human_approval', 'msgpack', '\xc3', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 4, 'final_answer', 'null', '\x', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 5, 'human_feedback', 'null', '\x', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 6, 'modification_details', 'null', '\x', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 7, 'status', 'msgpack', '\xa772756e6e696e67', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e67f-6816-8001-781de6756bcd', '3d3776f6-528b-bd9a-8ca1-74ed5d47c3eb', 8, 'branch:to:await_human_approval', 'null', '\x', '~__pregel_pull, agent_think'),
	('quorum', '', '1f1f22da-e6d0-6b20-8002-8b9298aca1ec', '1ab19f15-3f45-4d0b-b40c-90e5fbac9012', -3, '__interrupt__', 'msgpack', '\x91c802960293af6c616e6767726170682e7479706573a9496e7465727275707483a576616c756583af616374696f6e5f72657175657374739184a46e616d65a87472616e73666572a46172677382a2746fa3626f62a6616d6f756e7405a9617267756d656e747382a2746fa3626f62a6616d6f756e7405ab6465736372697074696f6ed945726f6f74406578616d706c652028636c61696d6564292061736b65642e2052756e207472616e736665723f205469657220312c2030206f66203220617070726f76616c732eae7265766965775f636f6e666967739184ab616374696f6e5f6e616d65a87472616e73666572b1616c6c6f7765645f6465636973696f6e7393a7617070726f7665a465646974a672656a656374aa616374696f6e4e616d65a87472616e73666572b0616c6c6f7765644465636973696f6e7393a7617070726f7665a465646974a672656a656374a4676174658ca6736368656d6101ab617070726f76616c5f6964d9203262393537343631376338326238333265373833623862373438393037386635a97468726561645f6964a671756f72756dac746f6f6c5f63616c6c5f6964bd63616c6c5f633362656530363934326161353335663136356662353365ab617267735f736861323536d94036613431353338386133353865623764343738653964306336323438333463383032303465353936663234356264333163643139376332343663393238373436a47469657201a8726571756972656402a46861766500a776657273696f6e01a46b696e64ad7072655f657865637574696f6eaa657870697265735f6174c0ad67726170685f76657273696f6ea131a26964d9203330393430396339333132363439396562306161333038653031363633616432af726573706f6e73655f736368656d61c0', '~__pregel_pull, await_human_approval'),
	('done', '', '1f1f22db-4355-69e0-8002-8c347c1ab472', '3308225f-7659-ecd2-fb83-686a13445fc6', 0, 'status', 'msgpack', '\xa9636f6d706c65746564', '~__pregel_pull, remember_episode');


--
-- Data for Name: checkpoints; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.checkpoints VALUES
	('waits', '', '1f1f22da-2c28-680e-8002-edd784a0907a', '1f1f22da-2bd6-68d5-8001-cab54239bec5', NULL, '{"v": 4, "id": "1f1f22da-2c28-680e-8002-edd784a0907a", "ts": "2026-12-07T11:02:04.330375+00:00", "versions_seen": {"__input__": {}, "__start__": {"__start__": "00000000000000000000000000000001.0.8666498118063506"}, "agent_think": {"branch:to:agent_think": "00000000000000000000000000000003.0.3694889337541656"}, "retrieve_episodes": {"branch:to:retrieve_episodes": "00000000000000000000000000000002.0.38014395105514587"}}, "channel_values": {"status": "running", "final_answer": null, "human_feedback": null, "modification_details": null, "awaiting_human_approval": true, "branch:to:await_human_approval": null}, "channel_versions": {"input": "00000000000000000000000000000002.0.38014395105514587", "status": "00000000000000000000000000000004.0.8200344951654943", "memories": "00000000000000000000000000000003.0.3694889337541656", "messages": "00000000000000000000000000000004.0.8200344951654943", "__start__": "00000000000000000000000000000002.0.38014395105514587", "tool_calls": "00000000000000000000000000000004.0.8200344951654943", "final_answer": "00000000000000000000000000000004.0.8200344951654943", "human_feedback": "00000000000000000000000000000004.0.8200344951654943", "proposed_action": "00000000000000000000000000000004.0.8200344951654943", "modification_details": "00000000000000000000000000000004.0.8200344951654943", "branch:to:agent_think": "00000000000000000000000000000004.0.8200344951654943", "awaiting_human_approval": "00000000000000000000000000000004.0.8200344951654943", "branch:to:retrieve_episodes": "00000000000000000000000000000003.0.3694889337541656", "branch:to:await_human_approval": "00000000000000000000000000000004.0.8200344951654943"}, "updated_channels": ["awaiting_human_approval", "branch:to:await_human_approval", "final_answer", "human_feedback", "messages", "modification_details", "proposed_action", "status", "tool_calls"]}', '{"step": 2, "source": "loop", "parents": {}, "lease_epoch": 1, "lease_writer": "example:28548:6003662:98920ce7-4026531836"}'),
	('unknown', '', '1f1f22da-96fb-63f5-8003-5af726cd97ae', '1f1f22da-649a-69bc-8002-7799f3d7dd46', NULL, '{"v": 4, "id": "1f1f22da-96fb-63f5-8003-5af726cd97ae", "ts": "2026-12-07T11:02:15.531597+00:00", "versions_seen": {"__input__": {}, "__start__": {"__start__": "00000000000000000000000000000001.0.2675647663880135"}, "agent_think": {"branch:to:agent_think": "00000000000000000000000000000003.0.9955057926414596"}, "__interrupt__": {"input": "00000000000000000000000000000002.0.4452529740066453", "status": "00000000000000000000000000000004.0.5900050017304161", "memories": "00000000000000000000000000000003.0.9955057926414596", "messages": "00000000000000000000000000000004.0.5900050017304161", "__start__": "00000000000000000000000000000002.0.4452529740066453", "tool_calls": "00000000000000000000000000000004.0.5900050017304161", "final_answer": "00000000000000000000000000000004.0.5900050017304161", "human_feedback": "00000000000000000000000000000004.0.5900050017304161", "proposed_action": "00000000000000000000000000000004.0.5900050017304161", "modification_details": "00000000000000000000000000000004.0.5900050017304161", "branch:to:agent_think": "00000000000000000000000000000004.0.5900050017304161", "awaiting_human_approval": "00000000000000000000000000000004.0.5900050017304161", "branch:to:retrieve_episodes": "00000000000000000000000000000003.0.9955057926414596", "branch:to:await_human_approval": "00000000000000000000000000000004.0.5900050017304161"}, "retrieve_episodes": {"branch:to:retrieve_episodes": "00000000000000000000000000000002.0.4452529740066453"}, "await_human_approval": {"branch:to:await_human_approval": "00000000000000000000000000000004.0.5900050017304161"}}, "channel_values": {"status": "running", "final_answer": null, "human_feedback": "approve", "proposed_action": null, "modification_details": null, "awaiting_human_approval": false}, "channel_versions": {"input": "00000000000000000000000000000002.0.4452529740066453", "status": "00000000000000000000000000000004.0.5900050017304161", "memories": "00000000000000000000000000000003.0.9955057926414596", "messages": "00000000000000000000000000000004.0.5900050017304161", "__start__": "00000000000000000000000000000002.0.4452529740066453", "tool_calls": "00000000000000000000000000000005.0.6864914056113225", "final_answer": "00000000000000000000000000000004.0.5900050017304161", "__pregel_tasks": "00000000000000000000000000000005.0.6864914056113225", "human_feedback": "00000000000000000000000000000005.0.6864914056113225", "proposed_action": "00000000000000000000000000000005.0.6864914056113225", "modification_details": "00000000000000000000000000000004.0.5900050017304161", "branch:to:agent_think": "00000000000000000000000000000004.0.5900050017304161", "awaiting_human_approval": "00000000000000000000000000000005.0.6864914056113225", "branch:to:retrieve_episodes": "00000000000000000000000000000003.0.9955057926414596", "branch:to:await_human_approval": "00000000000000000000000000000005.0.6864914056113225"}, "updated_channels": ["__pregel_tasks", "awaiting_human_approval", "human_feedback", "proposed_action", "tool_calls"]}', '{"step": 3, "source": "loop", "parents": {}, "lease_epoch": 2, "lease_writer": "example:29248:6004878:98920ce7-4026531836"}'),
	('left', '', '1f1f22da-bce5-67d2-8002-6a41a14427f0', '1f1f22da-bcae-6873-8001-0c0a3b7ca7cc', NULL, '{"v": 4, "id": "1f1f22da-bce5-67d2-8002-6a41a14427f0", "ts": "2026-12-07T11:02:19.507284+00:00", "versions_seen": {"__input__": {}, "__start__": {"__start__": "00000000000000000000000000000001.0.5274313818738775"}, "agent_think": {"branch:to:agent_think": "00000000000000000000000000000003.0.33541327544284016"}, "retrieve_episodes": {"branch:to:retrieve_episodes": "00000000000000000000000000000002.0.5800888452809856"}}, "channel_values": {"status": "running", "final_answer": null, "human_feedback": null, "modification_details": null, "awaiting_human_approval": true, "branch:to:await_human_approval": null}, "channel_versions": {"input": "00000000000000000000000000000002.0.5800888452809856", "status": "00000000000000000000000000000004.0.7134556891292014", "memories": "00000000000000000000000000000003.0.33541327544284016", "messages": "00000000000000000000000000000004.0.7134556891292014", "__start__": "00000000000000000000000000000002.0.5800888452809856", "tool_calls": "00000000000000000000000000000004.0.7134556891292014", "final_answer": "00000000000000000000000000000004.0.7134556891292014", "human_feedback": "00000000000000000000000000000004.0.7134556891292014", "proposed_action": "00000000000000000000000000000004.0.7134556891292014", "modification_details": "00000000000000000000000000000004.0.7134556891292014", "branch:to:agent_think": "00000000000000000000000000000004.0.7134556891292014", "awaiting_human_approval": "00000000000000000000000000000004.0.7134556891292014", "branch:to:retrieve_episodes": "00000000000000000000000000000003.0.33541327544284016", "branch:to:await_human_approval": "00000000000000000000000000000004.0.7134556891292014"}, "updated_channels": ["awaiting_human_approval", "branch:to:await_human_approval", "final_answer", "human_feedback", "messages", "modification_details", "proposed_action", "status", "tool_calls"]}', '{"step": 2, "source": "loop", "parents": {}, "lease_epoch": 1, "lease_writer": "example:29474:6005276:98920ce7-4026531836"}'),
	('quorum', '', '1f1f22da-e6d0-6b20-8002-8b9298aca1ec', '1f1f22da-e67f-6816-8001-781de6756bcd', NULL, '{"v": 4, "id": "1f1f22da-e6d0-6b20-8002-8b9298aca1ec", "ts": "2026-12-07T11:02:23.902782+00:00", "versions_seen": {"__input__": {}, "__start__": {"__start__": "00000000000000000000000000000001.0.03061351203877094"}, "agent_think": {"branch:to:agent_think": "00000000000000000000000000000003.0.2841142109249325"}, "retrieve_episodes": {"branch:to:retrieve_episodes": "00000000000000000000000000000002.0.31765419533974115"}}, "channel_values": {"status": "running", "final_answer": null, "human_feedback": null, "modification_details": null, "awaiting_human_approval": true, "branch:to:await_human_approval": null}, "channel_versions": {"input": "00000000000000000000000000000002.0.31765419533974115", "status": "00000000000000000000000000000004.0.562862091100283", "memories": "00000000000000000000000000000003.0.2841142109249325", "messages": "00000000000000000000000000000004.0.562862091100283", "__start__": "00000000000000000000000000000002.0.31765419533974115", "tool_calls": "00000000000000000000000000000004.0.562862091100283", "final_answer": "00000000000000000000000000000004.0.562862091100283", "human_feedback": "00000000000000000000000000000004.0.562862091100283", "proposed_action": "00000000000000000000000000000004.0.562862091100283", "modification_details": "00000000000000000000000000000004.0.562862091100283", "branch:to:agent_think": "00000000000000000000000000000004.0.562862091100283", "awaiting_human_approval": "00000000000000000000000000000004.0.562862091100283", "branch:to:retrieve_episodes": "00000000000000000000000000000003.0.2841142109249325", "branch:to:await_human_approval": "00000000000000000000000000000004.0.562862091100283"}, "updated_channels": ["awaiting_human_approval", "branch:to:await_human_approval", "final_answer", "human_feedback", "messages", "modification_details", "proposed_action", "status", "tool_calls"]}', '{"step": 2, "source": "loop", "parents": {}, "lease_epoch": 1, "lease_writer": "example:29796:6005889:98920ce7-4026531836"}'),
	('done', '', '1f1f22db-438b-66e9-8003-fb2418dbc5f0', '1f1f22db-4355-69e0-8002-8c347c1ab472', NULL, '{"v": 4, "id": "1f1f22db-438b-66e9-8003-fb2418dbc5f0", "ts": "2026-12-07T11:02:33.626169+00:00", "versions_seen": {"__input__": {}, "__start__": {"__start__": "00000000000000000000000000000001.0.9700059424317781"}, "agent_think": {"branch:to:agent_think": "00000000000000000000000000000003.0.10796456776686603"}, "remember_episode": {"branch:to:remember_episode": "00000000000000000000000000000004.0.3701657002014169"}, "retrieve_episodes": {"branch:to:retrieve_episodes": "00000000000000000000000000000002.0.5624231603377932"}}, "channel_values": {"status": "completed", "proposed_action": null, "awaiting_human_approval": false}, "channel_versions": {"input": "00000000000000000000000000000002.0.5624231603377932", "status": "00000000000000000000000000000005.0.892641367570177", "memories": "00000000000000000000000000000003.0.10796456776686603", "messages": "00000000000000000000000000000004.0.3701657002014169", "__start__": "00000000000000000000000000000002.0.5624231603377932", "tool_calls": "00000000000000000000000000000004.0.3701657002014169", "final_answer": "00000000000000000000000000000004.0.3701657002014169", "proposed_action": "00000000000000000000000000000004.0.3701657002014169", "branch:to:agent_think": "00000000000000000000000000000004.0.3701657002014169", "awaiting_human_approval": "00000000000000000000000000000004.0.3701657002014169", "branch:to:remember_episode": "00000000000000000000000000000005.0.892641367570177", "branch:to:retrieve_episodes": "00000000000000000000000000000003.0.10796456776686603"}, "updated_channels": ["status"]}', '{"step": 3, "source": "loop", "parents": {}, "lease_epoch": 1, "lease_writer": "example:29968:6006459:98920ce7-4026531836"}');


--
-- Name: operator_id_seq; Type: SEQUENCE SET; Schema: interlock; Owner: -
--

SELECT pg_catalog.setval('interlock.operator_id_seq', 1, true);


--
-- Name: release_release_id_seq; Type: SEQUENCE SET; Schema: interlock; Owner: -
--

SELECT pg_catalog.setval('interlock.release_release_id_seq', 1, false);


--
-- Name: ticket_number_seq; Type: SEQUENCE SET; Schema: interlock; Owner: -
--

SELECT pg_catalog.setval('interlock.ticket_number_seq', 1, false);


--
-- Name: _yoyo_log _yoyo_log_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock._yoyo_log
    ADD CONSTRAINT _yoyo_log_pkey PRIMARY KEY (id);


--
-- Name: _yoyo_migration _yoyo_migration_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock._yoyo_migration
    ADD CONSTRAINT _yoyo_migration_pkey PRIMARY KEY (migration_hash);


--
-- Name: _yoyo_version _yoyo_version_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock._yoyo_version
    ADD CONSTRAINT _yoyo_version_pkey PRIMARY KEY (version);


--
-- Name: analytics_reader analytics_reader_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.analytics_reader
    ADD CONSTRAINT analytics_reader_pkey PRIMARY KEY (role);


--
-- Name: approval approval_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (approval_id);


--
-- Name: audit_event audit_event_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.audit_event
    ADD CONSTRAINT audit_event_pkey PRIMARY KEY (thread_id, seq);


--
-- Name: audit_head audit_head_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (thread_id);


--
-- Name: decision decision_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.decision
    ADD CONSTRAINT decision_pkey PRIMARY KEY (approval_id, version, voter);


--
-- Name: execution execution_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (call_key);


--
-- Name: operator operator_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.operator
    ADD CONSTRAINT operator_pkey PRIMARY KEY (id);


--
-- Name: operator operator_token_sha256_key; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.operator
    ADD CONSTRAINT operator_token_sha256_key UNIQUE (token_sha256);


--
-- Name: release release_idempotency_key_key; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.release
    ADD CONSTRAINT release_idempotency_key_key UNIQUE (idempotency_key);


--
-- Name: release release_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.release
    ADD CONSTRAINT release_pkey PRIMARY KEY (release_id);


--
-- Name: run run_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (thread_id);


--
-- Name: ticket ticket_idempotency_key_key; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.ticket
    ADD CONSTRAINT ticket_idempotency_key_key UNIQUE (idempotency_key);


--
-- Name: ticket ticket_pkey; Type: CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.ticket
    ADD CONSTRAINT ticket_pkey PRIMARY KEY (number);


--
-- Name: customers customers_pkey; Type: CONSTRAINT; Schema: interlock_analytics; Owner: -
--

ALTER TABLE ONLY interlock_analytics.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (customer_id);


--
-- Name: deployments deployments_pkey; Type: CONSTRAINT; Schema: interlock_analytics; Owner: -
--

ALTER TABLE ONLY interlock_analytics.deployments
    ADD CONSTRAINT deployments_pkey PRIMARY KEY (deployment_id);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: interlock_analytics; Owner: -
--

ALTER TABLE ONLY interlock_analytics.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (order_id);


--
-- Name: users users_email_key; Type: CONSTRAINT; Schema: interlock_analytics; Owner: -
--

ALTER TABLE ONLY interlock_analytics.users
    ADD CONSTRAINT users_email_key UNIQUE (email);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: interlock_analytics; Owner: -
--

ALTER TABLE ONLY interlock_analytics.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (user_id);


--
-- Name: checkpoint_blobs checkpoint_blobs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkpoint_blobs
    ADD CONSTRAINT checkpoint_blobs_pkey PRIMARY KEY (thread_id, checkpoint_ns, channel, version);


--
-- Name: checkpoint_migrations checkpoint_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkpoint_migrations
    ADD CONSTRAINT checkpoint_migrations_pkey PRIMARY KEY (v);


--
-- Name: checkpoint_writes checkpoint_writes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkpoint_writes
    ADD CONSTRAINT checkpoint_writes_pkey PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx);


--
-- Name: checkpoints checkpoints_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id);


--
-- Name: approval_pending; Type: INDEX; Schema: interlock; Owner: -
--

CREATE INDEX approval_pending ON interlock.approval USING btree (requested_at) WHERE (status = 'pending'::text);


--
-- Name: approval_thread; Type: INDEX; Schema: interlock; Owner: -
--

CREATE INDEX approval_thread ON interlock.approval USING btree (thread_id);


--
-- Name: audit_event_at; Type: INDEX; Schema: interlock; Owner: -
--

CREATE INDEX audit_event_at ON interlock.audit_event USING btree (at);


--
-- Name: execution_thread; Type: INDEX; Schema: interlock; Owner: -
--

CREATE INDEX execution_thread ON interlock.execution USING btree (thread_id, started_at);


--
-- Name: operator_in_force; Type: INDEX; Schema: interlock; Owner: -
--

CREATE UNIQUE INDEX operator_in_force ON interlock.operator USING btree (name) WHERE (revoked_at IS NULL);


--
-- Name: release_of_project; Type: INDEX; Schema: interlock; Owner: -
--

CREATE INDEX release_of_project ON interlock.release USING btree (project_id, environment, release_id DESC);


--
-- Name: run_open; Type: INDEX; Schema: interlock; Owner: -
--

CREATE INDEX run_open ON interlock.run USING btree (status) WHERE (status = ANY (ARRAY['running'::text, 'waiting'::text]));


--
-- Name: run_updated; Type: INDEX; Schema: interlock; Owner: -
--

CREATE INDEX run_updated ON interlock.run USING btree (updated_at DESC);


--
-- Name: checkpoint_blobs_thread_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX checkpoint_blobs_thread_id_idx ON public.checkpoint_blobs USING btree (thread_id);


--
-- Name: checkpoint_writes_thread_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX checkpoint_writes_thread_id_idx ON public.checkpoint_writes USING btree (thread_id);


--
-- Name: checkpoints_thread_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX checkpoints_thread_id_idx ON public.checkpoints USING btree (thread_id);


--
-- Name: audit_event audit_chain; Type: TRIGGER; Schema: interlock; Owner: -
--

CREATE TRIGGER audit_chain BEFORE INSERT ON interlock.audit_event FOR EACH ROW EXECUTE FUNCTION interlock.audit_chain();


--
-- Name: audit_event audit_is_append_only; Type: TRIGGER; Schema: interlock; Owner: -
--

CREATE TRIGGER audit_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON interlock.audit_event FOR EACH STATEMENT EXECUTE FUNCTION interlock.audit_is_append_only();


--
-- Name: approval approval_thread_id_fkey; Type: FK CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.approval
    ADD CONSTRAINT approval_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES interlock.run(thread_id);


--
-- Name: decision decision_approval_id_fkey; Type: FK CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.decision
    ADD CONSTRAINT decision_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES interlock.approval(approval_id);


--
-- Name: execution execution_approval_id_fkey; Type: FK CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.execution
    ADD CONSTRAINT execution_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES interlock.approval(approval_id);


--
-- Name: execution execution_thread_id_fkey; Type: FK CONSTRAINT; Schema: interlock; Owner: -
--

ALTER TABLE ONLY interlock.execution
    ADD CONSTRAINT execution_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES interlock.run(thread_id);


--
-- Name: orders orders_customer_id_fkey; Type: FK CONSTRAINT; Schema: interlock_analytics; Owner: -
--

ALTER TABLE ONLY interlock_analytics.orders
    ADD CONSTRAINT orders_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES interlock_analytics.customers(customer_id);


--
-- Name: users users_customer_id_fkey; Type: FK CONSTRAINT; Schema: interlock_analytics; Owner: -
--

ALTER TABLE ONLY interlock_analytics.users
    ADD CONSTRAINT users_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES interlock_analytics.customers(customer_id);


--
-- PostgreSQL database dump complete
--

\unrestrict 0fec0h5YJEYuUqSxUStNhUBNH9UDh9YfLxALSTtTExgxg1OeGlcJiGzyTSx9guf

