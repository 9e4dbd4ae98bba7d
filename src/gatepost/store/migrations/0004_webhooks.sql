-- Webhooks: how an endpoint wants its deliveries, how it fares, and deliveries that are asked for again.

ALTER TABLE endpoints
    ADD COLUMN ordered       boolean NOT NULL DEFAULT false,     -- within a conversation, one event after the other
    ADD COLUMN batch         smallint NOT NULL DEFAULT 1,        -- most events in one POST
    ADD COLUMN batch_wait    real NOT NULL DEFAULT 0,            -- seconds that a batch gathers
    ADD COLUMN rate          int,                                -- most POSTs in a second; null: as many as it takes
    ADD COLUMN version       smallint NOT NULL DEFAULT 1,        -- of the payload
    -- Written by the channel's owner. state: active | paused (by the breaker) | disabled.
    ADD COLUMN failing_since timestamptz,                        -- the first failure since the last success
    ADD COLUMN failures      int NOT NULL DEFAULT 0,             -- since the last success
    ADD COLUMN notices       smallint NOT NULL DEFAULT 0,        -- which early notices were given since then
    ADD COLUMN succeeded_at  timestamptz,
    ADD COLUMN probes        int NOT NULL DEFAULT 0,             -- while paused: failed ones so far
    ADD COLUMN probe_at      timestamptz;                        -- while paused: when the next one is due

ALTER TABLE events ADD COLUMN about uuid;                        -- the conversation; null: the channel as a whole
ALTER TABLE deliveries ADD COLUMN begun smallint NOT NULL DEFAULT 0; -- attempts before it was last asked for again

-- The events of one POST have an attempt each; the first of them keeps what all share: the answer, and who they are.
ALTER TABLE attempts
    ADD COLUMN batch_first uuid,
    ADD COLUMN batch       uuid[];

-- Of an ordered endpoint this holds, besides those that failed, all that wait behind them, with next_at = infinity.
ALTER TABLE delivery_retries ADD COLUMN about uuid;
CREATE INDEX delivery_retries_order ON delivery_retries (channel_id, endpoint_id, about, event_id) WHERE about IS NOT NULL;

-- Events that an endpoint is to get (again). The channel's owner works them off, a piece at a time.
CREATE TABLE recoveries (
    channel_id  uuid NOT NULL REFERENCES channels ON DELETE CASCADE,
    id          uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    first_id    uuid NOT NULL,               -- events from this one on
    end_id      uuid NOT NULL,               -- and before this one
    types       text[],                      -- null: those that the endpoint's switches let through
    states      smallint[],                  -- of deliveries; null: all that never arrived, and events with none
    position    uuid NOT NULL,               -- how far it is
    recovered   bigint NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    PRIMARY KEY (channel_id, id)
);
CREATE INDEX recoveries_open ON recoveries (channel_id, endpoint_id, id) WHERE ended_at IS NULL;
CREATE INDEX recoveries_endpoint ON recoveries (channel_id, endpoint_id, id);
