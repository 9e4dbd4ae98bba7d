-- The process that records calls notifies open pages (store/mcp/calls.py): once in a second for calls that only read,
-- since NOTIFY in a commit makes all other commits wait for it.
DROP TRIGGER account_changed ON mcp_calls;
DROP FUNCTION notify_channel_rows();
