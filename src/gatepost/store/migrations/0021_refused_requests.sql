-- The refused requests of API keys, kept for a day. Equal ones of a minute are one row. Without a reference to the key:
-- rows of a deleted key cannot be read any more, and are deleted after a day.
CREATE TABLE refused_requests (
    channel_id uuid NOT NULL,
    id         uuid NOT NULL,              -- by the time of the first of them
    key_id     uuid NOT NULL,
    minute     timestamptz NOT NULL,
    method     text NOT NULL,
    path       text NOT NULL,              -- the template of the route; without a route, the path
    status     smallint NOT NULL,
    code       text NOT NULL,
    field      text NOT NULL,              -- the first invalid one; empty: none
    at         timestamptz NOT NULL,       -- of the last of them, as are message and request_id
    message    text NOT NULL,
    request_id text NOT NULL,
    count      int NOT NULL,
    PRIMARY KEY (channel_id, id)
);
CREATE UNIQUE INDEX refused_requests_same ON refused_requests (key_id, minute, method, path, status, code, field);
CREATE INDEX refused_requests_minute ON refused_requests (minute);
