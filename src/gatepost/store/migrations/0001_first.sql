-- Small tables: who may use the gateway, and with what. They may be joined by everything.

CREATE TABLE accounts (
    id            uuid PRIMARY KEY,
    name          text NOT NULL,
    plan          text NOT NULL,
    suspended     boolean NOT NULL DEFAULT false,
    trial_ends_at timestamptz NOT NULL,
    created_at    timestamptz NOT NULL
);

CREATE TABLE account_addons (
    account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
    addon      text NOT NULL,
    since      timestamptz NOT NULL,
    PRIMARY KEY (account_id, addon)
);

CREATE TABLE account_usage (
    account_id uuid   NOT NULL,
    month      date   NOT NULL,
    used       bigint NOT NULL,
    PRIMARY KEY (account_id, month)
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE users (
    id            uuid PRIMARY KEY,
    account_id    uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
    email         text NOT NULL,
    password_hash text NOT NULL,
    role          text NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TABLE channels (
    id         uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
    kind       text NOT NULL,
    phone      text NOT NULL,
    name       text NOT NULL,
    network    jsonb NOT NULL,              -- addresses and ids on the network; nothing secret
    secrets    bytea,                       -- AES-GCM over JSON: token, app secret, verify token
    limits     jsonb NOT NULL,              -- throughput and tier of the number
    connection text NOT NULL,
    reason     text,
    created_at timestamptz NOT NULL
);
CREATE INDEX channels_account ON channels (account_id);

CREATE TABLE api_keys (
    id           uuid PRIMARY KEY,
    channel_id   uuid NOT NULL REFERENCES channels ON DELETE CASCADE,
    name         text NOT NULL,
    hint         text NOT NULL,             -- the first characters, to recognise it by
    hash         bytea NOT NULL UNIQUE,
    scopes       text[] NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_keys_channel ON api_keys (channel_id);

CREATE TABLE endpoints (
    channel_id  uuid NOT NULL REFERENCES channels ON DELETE CASCADE,
    id          uuid NOT NULL,
    url         text NOT NULL,
    events      text[] NOT NULL,            -- the switches that are on
    headers     jsonb NOT NULL,
    secret      bytea NOT NULL,             -- AES-GCM
    state       text NOT NULL,              -- active | disabled
    reason      text,
    cursor      uuid NOT NULL,              -- every delivery up to this event is settled or waits in delivery_retries
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (channel_id, id)
) WITH (fillfactor = 50);

-- One row per channel: who owns it, and where its log ends. Every change of a channel's messages locks this row
-- first, so that commits of one channel come one after the other, ids and sequence numbers follow the order of the
-- commits, two batches cannot deadlock, and a stale owner is found out.

CREATE TABLE channel_heads (
    channel_id      uuid PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    owner           uuid,
    epoch           bigint NOT NULL DEFAULT 0,
    expires_at      timestamptz,
    work_at         timestamptz,            -- when an owner is next needed; null: nothing to do
    seq             bigint NOT NULL DEFAULT 0,
    last_event_id   uuid NOT NULL,
    last_message_id uuid NOT NULL,          -- the newest outgoing message
    send_floor      uuid NOT NULL,          -- every unscheduled outgoing message up to this one is settled
    pace            jsonb NOT NULL DEFAULT '{}'
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Hot tables. The big ones are partitioned by a time-ordered id, so that a range of ids is a range of time.

CREATE TABLE contacts (
    channel_id uuid NOT NULL,
    id         uuid NOT NULL,
    phone      text NOT NULL,
    name       text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, id),
    UNIQUE (channel_id, phone)
) WITH (fillfactor = 90);

-- One conversation per contact, under the contact's id.
CREATE TABLE conversations (
    channel_id  uuid NOT NULL,
    contact_id  uuid NOT NULL,
    last_in_at  timestamptz,                -- the customer-service window counts from here
    opened_at   timestamptz,                -- when the business last opened it: counts toward the tier
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (channel_id, contact_id)
) WITH (fillfactor = 80);
CREATE INDEX conversations_opened ON conversations (channel_id, opened_at) WHERE opened_at IS NOT NULL;

CREATE TABLE messages (
    channel_id   uuid NOT NULL,
    id           uuid NOT NULL,
    contact_id   uuid NOT NULL,
    incoming     boolean NOT NULL,
    bulk         boolean NOT NULL,
    state        smallint NOT NULL,
    attempt      int NOT NULL DEFAULT 0,
    fail_unknown boolean NOT NULL DEFAULT false,
    epoch        bigint,
    phone        text NOT NULL,
    type         text NOT NULL,
    content      text NOT NULL,             -- JSON, as accepted or as received
    client_ref   text,
    reply_to     uuid,
    network_id   text,
    created_at   timestamptz NOT NULL,
    send_at      timestamptz,
    expires_at   timestamptz,
    next_at      timestamptz,
    sending_at   timestamptz,
    sent_at      timestamptz,
    delivered_at timestamptz,
    read_at      timestamptz,
    played_at    timestamptz,
    ended_at     timestamptz,
    error        text,                      -- JSON: why it failed, or why the last attempt did
    history      text[],                    -- JSON, one per attempt that did not succeed
    event_ids    uuid[] NOT NULL,
    PRIMARY KEY (channel_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX messages_network ON messages (channel_id, network_id) WHERE network_id IS NOT NULL;

-- Messages with a send_at wait here, so that the owner's cursor need not stop for them.
CREATE TABLE scheduled (
    channel_id uuid NOT NULL,
    send_at    timestamptz NOT NULL,
    message_id uuid NOT NULL,
    PRIMARY KEY (channel_id, send_at, message_id)
);

-- Statuses that name a network id we have not committed yet.
CREATE TABLE parked_statuses (
    channel_id uuid NOT NULL,
    network_id text NOT NULL,
    id         uuid NOT NULL,
    status     text NOT NULL,               -- JSON
    PRIMARY KEY (channel_id, network_id, id)
);

CREATE TABLE idempotency_keys (
    channel_id uuid NOT NULL,
    route      text NOT NULL,
    key        text NOT NULL,
    body_hash  bytea NOT NULL,
    answer     bytea,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, route, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

CREATE TABLE events (
    channel_id uuid NOT NULL,
    id         uuid NOT NULL,
    seq        bigint NOT NULL,
    type       text NOT NULL,
    body       text NOT NULL,               -- the JSON that webhook, feed and log all carry
    PRIMARY KEY (channel_id, id)
) PARTITION BY RANGE (id);

CREATE TABLE deliveries (
    channel_id  uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id    uuid NOT NULL,
    state       smallint NOT NULL DEFAULT 0,
    attempts    smallint NOT NULL DEFAULT 0,
    next_at     timestamptz,
    settled_at  timestamptz,
    PRIMARY KEY (channel_id, endpoint_id, event_id)
) PARTITION BY RANGE (event_id);

CREATE TABLE attempts (
    channel_id       uuid NOT NULL,
    endpoint_id      uuid NOT NULL,
    event_id         uuid NOT NULL,
    number           smallint NOT NULL,
    at               timestamptz NOT NULL,
    latency_ms       real NOT NULL,
    status           smallint,
    error            text,
    url              text NOT NULL,
    request_headers  text NOT NULL,         -- JSON; the body is the event's
    answer_headers   text,                  -- JSON
    answer_body      bytea,
    PRIMARY KEY (channel_id, endpoint_id, event_id, number, at)
) PARTITION BY RANGE (event_id);

-- Deliveries whose first attempt failed. Few, so that its index on time may move.
CREATE TABLE delivery_retries (
    channel_id  uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id    uuid NOT NULL,
    next_at     timestamptz NOT NULL,
    PRIMARY KEY (channel_id, endpoint_id, event_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX delivery_retries_due ON delivery_retries (channel_id, endpoint_id, next_at);
