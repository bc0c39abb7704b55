-- Which arguments of an execution are secret, as its tool said when it was begun: so that the others can be shown, also after the tool
-- has gone. Of a row from before nobody knows it (NULL), and none of its arguments are shown.
-- depends: 0004_execution
ALTER TABLE interlock.execution ADD COLUMN secret text[];
