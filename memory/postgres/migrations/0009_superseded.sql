-- Every checkpoint carries the whole of the messages, so what a thread stores would grow with the square of its steps. Called inside
-- the statement that stores a checkpoint, after guard_checkpoint let it pass and locked the row of the run: what is superseded goes
-- in the commit that brings what supersedes it. Threads without a run row keep everything.
-- depends: 0005_checkpoint_guard

CREATE FUNCTION interlock.drop_superseded(
    of_thread text, ns text, id text, parent text, checkpoint jsonb, metadata jsonb
) RETURNS boolean
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
