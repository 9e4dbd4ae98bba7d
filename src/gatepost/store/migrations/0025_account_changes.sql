-- Changes of an account that are no events: each commit notifies all nodes, whoever writes the rows (the command line and
-- nodes of before included), so that open pages read them again. All of these tables change rarely; the same notification
-- is sent once per transaction, however many rows it changes.
CREATE FUNCTION notify_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed jsonb := to_jsonb(CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END);
BEGIN
    PERFORM pg_notify('gatepost_account',
                      jsonb_build_object('resource', TG_ARGV[0], TG_ARGV[1], changed -> TG_ARGV[2])::text);
    RETURN NULL;
END $$;

CREATE TRIGGER account_changed AFTER UPDATE ON accounts
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('plan', 'account_id', 'id');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON account_addons
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('plan', 'account_id', 'account_id');
CREATE TRIGGER account_changed AFTER INSERT OR DELETE OR UPDATE OF email, name, role, password_hash, totp_active ON users
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('users', 'account_id', 'account_id');
CREATE TRIGGER account_changed AFTER INSERT ON account_log
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('log', 'account_id', 'account_id');
CREATE TRIGGER account_changed AFTER INSERT OR DELETE OR UPDATE OF name, scopes, expires_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('keys', 'channel_id', 'channel_id');
-- A key in use is written every few seconds: the minute of its last use is exact enough.
CREATE TRIGGER account_changed_by_use AFTER UPDATE OF last_used_at ON api_keys FOR EACH ROW
    WHEN (date_trunc('minute', OLD.last_used_at) IS DISTINCT FROM date_trunc('minute', NEW.last_used_at))
    EXECUTE FUNCTION notify_account_change('keys', 'channel_id', 'channel_id');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE ON refused_requests
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('refused_requests', 'channel_id', 'channel_id');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON conversation_notes
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('notes', 'channel_id', 'channel_id');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON templates
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('templates', 'channel_id', 'channel_id');
-- `updated_at` is not written with the progress of deliveries.
CREATE TRIGGER account_changed AFTER INSERT OR DELETE OR UPDATE OF updated_at ON endpoints
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('webhooks', 'channel_id', 'channel_id');
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE ON recoveries
    FOR EACH ROW EXECUTE FUNCTION notify_account_change('recoveries', 'channel_id', 'channel_id');
