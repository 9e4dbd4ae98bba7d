-- Names that say what a table or column holds. A rename changes the catalog only, whatever the size of the table.
-- Every writer of these tables locks a row of channel_heads first. With that table locked, no writer is left that holds
-- one of them and waits for another. A node of an older version fails from here on: stop it first.
LOCK TABLE channel_heads IN EXCLUSIVE MODE;

ALTER TABLE scheduled RENAME TO scheduled_messages;
ALTER INDEX scheduled_pkey RENAME TO scheduled_messages_pkey;

ALTER TABLE search_ends RENAME TO search_progress;
ALTER INDEX search_ends_pkey RENAME TO search_progress_pkey;

ALTER TABLE attempts RENAME TO delivery_attempts;
ALTER INDEX attempts_pkey RENAME TO delivery_attempts_pkey;
DO $$
DECLARE
    partition_name text;
BEGIN
    FOR partition_name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'delivery_attempts'::regclass AND starts_with(c.relname, 'attempts_')
    LOOP
        EXECUTE format('ALTER TABLE %I RENAME TO %I', partition_name, 'delivery_' || partition_name);
    END LOOP;
END $$;

ALTER TABLE events RENAME COLUMN about TO conversation_id;
ALTER TABLE delivery_retries RENAME COLUMN about TO conversation_id;
