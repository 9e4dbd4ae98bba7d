-- Messages whose words could not be put into a block, and how often that was tried. Those that failed twice are left
-- out of the words of their block, so that they hold up no other message.
CREATE TABLE search_failures (
    channel_id uuid NOT NULL REFERENCES channels ON DELETE CASCADE,
    message_id uuid NOT NULL,
    failures   int NOT NULL,
    PRIMARY KEY (channel_id, message_id)
);
