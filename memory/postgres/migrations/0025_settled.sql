-- How far the decisions and wishes of a thread were taken up: wake_seq says that there was one, settled_seq that a driver saw it.
-- Where they differ and nobody drives the thread, `recover` goes on with it, whatever its status: a wish is never passed over because
-- a later checkpoint is newer than it, or because the thread had ended when a person told what became of a call.
-- depends: 0011_operator
ALTER TABLE interlock.run ADD COLUMN settled_seq bigint NOT NULL DEFAULT 0;
UPDATE interlock.run SET settled_seq = wake_seq WHERE status IN ('completed', 'rejected', 'cancelled', 'failed', 'stopped');
