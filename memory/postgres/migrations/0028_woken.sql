-- Tells the workers who listen that a thread was woken, with the transaction that woke it: never before the wake-up can be seen, and
-- not at all if it is rolled back. A hint beside the row, which is the truth. Leases and checkpoints tell nobody anything.
-- depends: 0025_settled

CREATE FUNCTION interlock.tell_woken() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_catalog.pg_notify('interlock_woken', '');
    RETURN NULL;
END $$;

CREATE TRIGGER run_woken AFTER UPDATE OF wake_seq ON interlock.run
FOR EACH ROW WHEN (NEW.wake_seq > OLD.wake_seq) EXECUTE FUNCTION interlock.tell_woken();

CREATE TRIGGER run_begun AFTER INSERT ON interlock.run
FOR EACH ROW WHEN (NEW.wake_seq > 0) EXECUTE FUNCTION interlock.tell_woken();
