-- Called inside the very statement that stores a checkpoint of LangGraph: a process that lost its lease, or that goes on
-- from an older checkpoint, cannot write, and each state transition is on the record in the same transaction.
-- Threads without a run row are not ours and pass.
-- depends: 0004_execution

CREATE FUNCTION interlock.guard_checkpoint(
    of_thread text, ns text, id text, parent text, checkpoint jsonb, metadata jsonb
) RETURNS boolean
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
