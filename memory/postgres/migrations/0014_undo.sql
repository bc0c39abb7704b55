-- What undoes an effect is an execution of its own, tied to the one that it undoes: at most one row for each effect, so that no effect
-- is undone twice. `undo` is the name of the way back that the tool declared when it ran; none means that there is none.
-- depends: 0004_execution

ALTER TABLE interlock.execution
    ADD COLUMN undo text,
    ADD COLUMN undoes text UNIQUE REFERENCES interlock.execution;
