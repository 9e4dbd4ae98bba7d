-- The message that a message_notification reports. Counting usage and indexing words follow it instead of the JSON.
ALTER TABLE events ADD COLUMN message_id uuid;

-- Events that both have yet to read; those before them are never looked at again. A channel is counted every few
-- minutes, so that these are few.
UPDATE events e
SET message_id = substring(left(e.body, 4096)
        FROM '"key":\{"remoteJid":"[^"]*","fromMe":(?:true|false),"id":"([0-9A-F]{32})"')::uuid
FROM (SELECT h.channel_id, least(coalesce(d.event_id, '00000000-0000-0000-0000-000000000000'),
                                   coalesce(s.seen, h.last_event_id)) AS after
      FROM channel_heads h
      LEFT JOIN daily_cursors d ON d.channel_id = h.channel_id
      LEFT JOIN search_progress s ON s.channel_id = h.channel_id) unread
WHERE e.channel_id = unread.channel_id AND e.id > unread.after AND e.type = 'message_notification';
