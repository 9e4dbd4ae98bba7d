-- The processes that own channels, while they work (`store/leases.py`): each takes an equal part of the channels.

CREATE TABLE channel_owners (
    id         uuid PRIMARY KEY,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
