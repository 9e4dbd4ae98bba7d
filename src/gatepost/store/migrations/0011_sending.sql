-- Counts changes of queued messages that others than the channel's owner made: canceled, or settled by a status.
-- An owner that reads another number here compares the messages it holds in memory with their rows.
ALTER TABLE channel_heads ADD COLUMN queue_version bigint NOT NULL DEFAULT 0;

-- JSON, one list per attempt: which rules held the message back before it, and from when until when.
ALTER TABLE messages ADD COLUMN waits text[];

-- Which messages came by one `POST /messages/batch`: ids of one commit follow one another. A batch that was repeated
-- with its key after some of it had been refused has a row for each commit.
CREATE TABLE batches (
    channel_id uuid NOT NULL REFERENCES channels ON DELETE CASCADE,
    id         uuid NOT NULL,
    first_id   uuid NOT NULL,
    last_id    uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, id, first_id)
);
CREATE INDEX batches_age ON batches (created_at);
