-- Both networks whole: files, templates, people with several names, orders, labels, links, and what the network says
-- of a number. Everything is added; a node of before goes on beside.

ALTER TABLE messages
    ADD COLUMN target_id  uuid,             -- the message that a reaction, an edit or a revoke is about
    ADD COLUMN media_id   uuid,             -- the file of an incoming message
    ADD COLUMN context    text,             -- JSON: forwarded, referral, product
    ADD COLUMN pricing    text,             -- JSON, as the network told
    ADD COLUMN reactions  text,             -- JSON: who reacted with what
    ADD COLUMN edited_at  timestamptz,
    ADD COLUMN deleted_at timestamptz;
-- A conversation's history, and what moves when two contacts turn out to be one person.
CREATE INDEX messages_contact ON messages (channel_id, contact_id, id);
-- With the id in it, so that no planner without statistics takes the index above for a look-up by the network's id.
DROP INDEX messages_network;
CREATE INDEX messages_network ON messages (channel_id, network_id, id) WHERE network_id IS NOT NULL;

-- A person's further names. A contact's own `phone` holds its number, or, where none is known, the first of these.
CREATE TABLE contact_aliases (
    channel_id uuid NOT NULL,
    alias      text NOT NULL,               -- lid:…, user:…, or a number that the network writes in two ways
    contact_id uuid NOT NULL,
    PRIMARY KEY (channel_id, alias)
);
CREATE INDEX contact_aliases_contact ON contact_aliases (channel_id, contact_id);

-- How often contacts of a channel were joined: whoever read contacts before that has to look again.
ALTER TABLE channel_heads ADD COLUMN joined bigint NOT NULL DEFAULT 0;

ALTER TABLE contacts
    ADD COLUMN username  text,
    ADD COLUMN opted_out timestamptz;       -- wants no marketing since then

-- Files. The bytes are in the object storage, under the key `<channel>/<id>`.
CREATE TABLE media (
    channel_id    uuid NOT NULL,
    id            uuid NOT NULL,
    state         text NOT NULL,            -- ready | waiting (to be fetched) | failed
    mime_type     text NOT NULL,
    size          bigint,
    sha256        text,
    filename      text,
    source        text,                     -- JSON: where an incoming file is to be fetched
    message_id    uuid,                     -- the incoming message that it came with
    network_id    text,                     -- its name on the network, once uploaded
    network_until timestamptz,              -- the network forgets it then
    attempts      smallint NOT NULL DEFAULT 0,
    next_at       timestamptz,
    error         text,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (channel_id, id)
) WITH (fillfactor = 80);
CREATE INDEX media_waiting ON media (channel_id, next_at) WHERE state = 'waiting';

CREATE TABLE templates (
    channel_id       uuid NOT NULL,
    id               uuid NOT NULL,
    network_id       text,
    name             text NOT NULL,
    language         text NOT NULL,
    category         text NOT NULL,
    status           text NOT NULL,
    reason           text,
    quality          text NOT NULL,
    parameter_format text NOT NULL,
    components       text NOT NULL,         -- JSON, as the network has them
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    PRIMARY KEY (channel_id, id),
    UNIQUE (channel_id, name, language)
);

-- An order has the id of the message that brought it.
CREATE TABLE orders (
    channel_id uuid NOT NULL,
    id         uuid NOT NULL,
    contact_id uuid NOT NULL,
    status     text NOT NULL,
    catalog_id text NOT NULL,
    note       text NOT NULL,
    items      text NOT NULL,               -- JSON
    total      numeric,                     -- null where items are in several currencies
    currency   text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, id)
);
CREATE INDEX orders_contact ON orders (channel_id, contact_id);

CREATE TABLE labels (
    channel_id uuid NOT NULL,
    id         uuid NOT NULL,
    network_id text,
    name       text NOT NULL,
    color      text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, id)
);
CREATE UNIQUE INDEX labels_network ON labels (channel_id, network_id) WHERE network_id IS NOT NULL;

CREATE TABLE label_uses (
    channel_id uuid NOT NULL,
    label_id   uuid NOT NULL,
    target     text NOT NULL,               -- conversation | contact
    contact_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, label_id, target, contact_id)
);
CREATE INDEX label_uses_contact ON label_uses (channel_id, contact_id);

-- What the network says of an official number: quality, status, throughput, tier, name.
ALTER TABLE channels ADD COLUMN state jsonb NOT NULL DEFAULT '{}';

-- The link of a QR channel: what is wanted of it, and what it shows at the moment.
CREATE TABLE channel_links (
    channel_id   uuid PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    wanted       boolean NOT NULL DEFAULT false,
    logout       boolean NOT NULL DEFAULT false,
    pair_phone   text,                      -- a pairing code is wanted for this number
    pairing_code text,
    qr           text,
    qr_until     timestamptz,
    device       text,                      -- which device of the driver's store is this channel's
    lid          text,
    linked_at    timestamptz,
    locked_until timestamptz                -- the network refuses new conversations until then
);

-- The library that links phones keeps its devices here, in tables of its own making.
CREATE SCHEMA IF NOT EXISTS qr_devices;
