-- What the pages of an account show: who created a key, and the log by actor and by action.
ALTER TABLE api_keys ADD COLUMN created_by text;  -- e-mail address, or operator; NULL: before this was recorded
CREATE INDEX account_log_actor ON account_log (account_id, actor_id, id);
CREATE INDEX account_log_action ON account_log (account_id, action, id);
