-- The contact comes first: an index of messages that begins with the channel and goes on with something else is taken
-- for look-ups by id as long as there are no statistics, and then the whole channel is read for one message.
-- The old one goes in a step of its own: dropped here, it would keep all readers out for as long as this takes.
CREATE INDEX messages_person ON messages (contact_id, channel_id, id);
