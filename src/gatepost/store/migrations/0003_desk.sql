-- What people manage: conversations, contacts, labels and orders as things of their own, and words to search by.

ALTER TABLE conversations
    ADD COLUMN status          text NOT NULL DEFAULT 'open',   -- open | closed
    ADD COLUMN archived        boolean NOT NULL DEFAULT false,
    ADD COLUMN muted           boolean NOT NULL DEFAULT false,
    ADD COLUMN assignee        text,
    ADD COLUMN note            text,
    ADD COLUMN unread          int NOT NULL DEFAULT 0,
    ADD COLUMN last_message_id uuid,                           -- the newest message, either way
    ADD COLUMN updated_at      timestamptz;
UPDATE conversations v SET last_message_id = (
    SELECT m.id FROM messages m WHERE m.channel_id = v.channel_id AND m.contact_id = v.contact_id ORDER BY m.id DESC LIMIT 1);
CREATE INDEX conversations_recent ON conversations (channel_id, last_message_id) WHERE last_message_id IS NOT NULL;
CREATE INDEX conversations_unread ON conversations (channel_id, last_message_id) WHERE unread > 0;
CREATE INDEX conversations_closed ON conversations (channel_id, last_message_id) WHERE status = 'closed';
CREATE INDEX conversations_archived ON conversations (channel_id, last_message_id) WHERE archived;

ALTER TABLE contacts
    ADD COLUMN given_name text,                                -- what people call them here; goes before the network's name
    ADD COLUMN custom     jsonb NOT NULL DEFAULT '{}';
-- Searched by how a number, a name or its last word begins: in bytes, so that a beginning is a range. Names come from
-- strangers, and a key has a longest length.
ALTER TABLE contacts ALTER COLUMN phone TYPE text COLLATE "C";
CREATE INDEX contacts_name ON contacts (channel_id, (left(lower(coalesce(given_name, name)), 64) COLLATE "C"), id)
    WHERE coalesce(given_name, name) IS NOT NULL;
CREATE INDEX contacts_last_name ON contacts
    (channel_id, (left(substring(lower(coalesce(given_name, name)) FROM '[^ ]+$'), 64) COLLATE "C"), id)
    WHERE strpos(coalesce(given_name, name), ' ') > 0;
CREATE INDEX contacts_opted_out ON contacts (channel_id, id) WHERE opted_out IS NOT NULL;

-- Linked phones may have brought two labels of one name.
UPDATE labels SET name = left(name, 64) WHERE length(name) > 64;
UPDATE labels l SET name = left(l.name, 50) || ' (' || right(l.id::text, 8) || ')'
WHERE EXISTS (SELECT 1 FROM labels o WHERE o.channel_id = l.channel_id AND lower(o.name) = lower(l.name) AND o.id < l.id);
CREATE UNIQUE INDEX labels_name ON labels (channel_id, lower(name));
CREATE INDEX label_uses_label ON label_uses (channel_id, label_id, contact_id);

-- Orders of one status, and of one person, the newest first.
CREATE INDEX orders_status ON orders (channel_id, status, id);
DROP INDEX orders_contact;
CREATE INDEX orders_contact ON orders (channel_id, contact_id, id);

-- Messages per day and type, counted along the channel's events: up to which event is in `daily_cursors`.
CREATE TABLE daily_counts (
    channel_id uuid    NOT NULL,
    day        date    NOT NULL,            -- in UTC
    incoming   boolean NOT NULL,
    type       text    NOT NULL,
    count      bigint  NOT NULL,
    PRIMARY KEY (channel_id, day, incoming, type)
) WITH (fillfactor = 80);
CREATE TABLE daily_cursors (
    channel_id uuid PRIMARY KEY,
    event_id   uuid NOT NULL
) WITH (fillfactor = 50);

-- Words to search by. A block is a run of a channel's messages in the order of their ids. Each word in `words` begins
-- with its channel's mark, so that the index, which knows no other key, leads to this channel's blocks only. It has no
-- list of pending entries, which every search would have to read through.
CREATE TABLE search_blocks (
    channel_id uuid NOT NULL,
    last_id    uuid NOT NULL,              -- the block covers all after the last block's end, up to here
    first_id   uuid NOT NULL,
    ids        uuid[] NOT NULL,
    words      tsvector NOT NULL,
    places     text NOT NULL,              -- a line for each word: which of `ids` hold it, as in "word:1,17"
    PRIMARY KEY (channel_id, last_id)
);
ALTER TABLE search_blocks ALTER COLUMN places SET STORAGE EXTERNAL;  -- unpacking it would cost more than reading it
CREATE INDEX search_blocks_words ON search_blocks USING gin (words) WITH (fastupdate = off);

-- How far a channel's words are in blocks; what lies behind is read as it is.
CREATE TABLE search_ends (
    channel_id uuid PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
    closed     uuid NOT NULL,              -- the newest message in a block
    seen       uuid NOT NULL               -- the event up to which latecomers were looked for
) WITH (fillfactor = 50);
