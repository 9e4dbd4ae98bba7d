-- Notes of people about a conversation, which the contact never sees.
CREATE TABLE conversation_notes (
    channel_id  uuid NOT NULL,
    contact_id  uuid NOT NULL,
    id          uuid NOT NULL,
    author_kind text NOT NULL,              -- user | key | operator
    author_id   uuid,
    author      text NOT NULL,              -- the name at that time: users and keys can be deleted
    body        text NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (channel_id, contact_id, id)
);
