-- Bytes of files, counted along the rows of `media` whoever writes them, a node of before included. One row per channel:
-- channels of an account do not wait for one another.
CREATE TABLE channel_storage (
    channel_id uuid PRIMARY KEY,
    bytes      bigint NOT NULL
) WITH (fillfactor = 50);

-- Room for files that are still on their way. What a crash leaves here stops counting when it expires.
CREATE TABLE storage_reservations (
    channel_id uuid NOT NULL,
    media_id   uuid NOT NULL,
    account_id uuid NOT NULL,
    bytes      bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (channel_id, media_id)
);
CREATE INDEX storage_reservations_account ON storage_reservations (account_id);

CREATE FUNCTION count_stored_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO channel_storage AS s (channel_id, bytes)
    SELECT channel_id, sum(size) FROM added WHERE state = 'ready' AND size > 0 GROUP BY channel_id ORDER BY channel_id
    ON CONFLICT (channel_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
    RETURN NULL;
END $$;

CREATE FUNCTION count_changed_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO channel_storage AS s (channel_id, bytes)
    SELECT NEW.channel_id, (CASE WHEN NEW.state = 'ready' THEN coalesce(NEW.size, 0) ELSE 0 END)
                         - (CASE WHEN OLD.state = 'ready' THEN coalesce(OLD.size, 0) ELSE 0 END)
    ON CONFLICT (channel_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
    RETURN NULL;
END $$;

CREATE FUNCTION count_deleted_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE channel_storage s SET bytes = s.bytes - gone.bytes
    FROM (SELECT channel_id, sum(size) AS bytes FROM removed WHERE state = 'ready' GROUP BY channel_id) gone
    WHERE s.channel_id = gone.channel_id AND gone.bytes > 0;
    RETURN NULL;
END $$;

CREATE TRIGGER media_stored AFTER INSERT ON media
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_stored_media();
CREATE TRIGGER media_deleted AFTER DELETE ON media
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_media();
CREATE TRIGGER media_changed AFTER UPDATE OF state, size ON media FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.size IS DISTINCT FROM NEW.size)
    EXECUTE FUNCTION count_changed_media();

INSERT INTO channel_storage (channel_id, bytes)
SELECT channel_id, sum(size) FROM media WHERE state = 'ready' GROUP BY channel_id HAVING sum(size) > 0;
