-- The contact comes first: an index of messages that begins with the channel and goes on with something else is taken
-- for look-ups by id as long as there are no statistics, and then the whole channel is read for one message.
DROP INDEX messages_contact;
CREATE INDEX messages_contact ON messages (contact_id, channel_id, id);
