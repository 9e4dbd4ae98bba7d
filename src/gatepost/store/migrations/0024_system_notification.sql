-- endpoint_notification has become a part of system_notification, and its actions name what they are about.
UPDATE endpoints SET events = array_replace(events, 'endpoint_notification', 'system_notification')
WHERE 'endpoint_notification' = ANY (events);

UPDATE recoveries SET types = array_replace(types, 'endpoint_notification', 'system_notification')
WHERE 'endpoint_notification' = ANY (types);

-- The type and the action come before any text of a user, and only the first match is replaced.
UPDATE events
SET type = 'system_notification',
    body = regexp_replace(body, '"type":"endpoint_notification","action":"', '"type":"system_notification","action":"endpoint_')
WHERE type = 'endpoint_notification';
