-- Messages that were not sent, per day and error code, counted along the channel's events as `daily_counts` are. An
-- event that reports a final failure names its message in `events.message_id`; failures before this version do not count.
CREATE TABLE daily_failures (
    channel_id      uuid   NOT NULL,
    day             date   NOT NULL,        -- in UTC; the day on which the message was accepted
    code            text   NOT NULL,        -- of the network, or of the gateway
    count           bigint NOT NULL,
    last_message_id uuid   NOT NULL,        -- the newest of them: its error has the words
    PRIMARY KEY (channel_id, day, code)
) WITH (fillfactor = 80);
