-- What a thread was told of earlier ones, and whether it was itself remembered: counts and reasons, never the content. An empty
-- memory and one that could not be asked must look different to whoever decides.
-- depends: 0002_run

ALTER TABLE interlock.run ADD COLUMN memory json;
