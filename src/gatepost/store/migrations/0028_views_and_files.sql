-- Open pages read saved views and the figures of files again when they change (see 0025_account_changes.sql).
CREATE TRIGGER account_changed_by_views AFTER UPDATE OF saved_views ON users FOR EACH ROW
    WHEN (OLD.saved_views IS DISTINCT FROM NEW.saved_views)
    EXECUTE FUNCTION notify_account_change('views', 'account_id', 'account_id');
-- Files of incoming messages are reported by the events of their messages. An upload has no message, and no event.
CREATE TRIGGER account_changed AFTER INSERT ON media FOR EACH ROW
    WHEN (NEW.message_id IS NULL) EXECUTE FUNCTION notify_account_change('files', 'channel_id', 'channel_id');
-- Deleted files are counted once for all rows of a statement.
CREATE TRIGGER account_changed AFTER UPDATE ON channel_storage FOR EACH ROW
    WHEN (NEW.bytes < OLD.bytes) EXECUTE FUNCTION notify_account_change('files', 'channel_id', 'channel_id');
