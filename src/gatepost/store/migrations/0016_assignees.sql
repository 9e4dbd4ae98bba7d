-- The conversations of one assignee, the newest first. Those without one cost nothing.
CREATE INDEX conversations_assigned ON conversations (channel_id, assignee, last_message_id) WHERE assignee IS NOT NULL;
