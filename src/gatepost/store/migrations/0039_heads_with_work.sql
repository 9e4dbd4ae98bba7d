-- The sweep for channels without an owner reads only those that have work. An index on `work_at` would make every write
-- of a busy channel change it (no HOT update); `has_work` changes only when a channel wakes or becomes idle.
ALTER TABLE channel_heads ADD COLUMN has_work boolean GENERATED ALWAYS AS (work_at IS NOT NULL) STORED;
CREATE INDEX channel_heads_with_work ON channel_heads (channel_id) WHERE has_work;
