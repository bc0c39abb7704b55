-- A fork is a copy of a thread into a new one: it knows where it comes from, so that what its lineage did is part of its history.
-- depends: 0011_operator

ALTER TABLE interlock.run ADD COLUMN forked_from text REFERENCES interlock.run;
