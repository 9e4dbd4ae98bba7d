-- A key that replaces another one has its limits: what both of them sent counts together.
ALTER TABLE api_keys ADD COLUMN lineage uuid;  -- the first key of a row of rotations; NULL: this one
