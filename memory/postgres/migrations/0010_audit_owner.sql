-- The chain is kept with the rights of its owner, so that a role which runs the application needs none to change it: such a role may
-- add events and read them, and cannot touch where a chain ends.
-- depends: 0009_superseded

ALTER FUNCTION interlock.audit_chain() SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
