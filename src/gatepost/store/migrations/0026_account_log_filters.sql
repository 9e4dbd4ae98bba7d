-- The log of one actor and one action, in the order of the pages: each of the two alone may have many entries.
CREATE INDEX account_log_actor_action ON account_log (account_id, actor_id, action, id);
CREATE INDEX account_log_operator_action ON account_log (account_id, action, id) WHERE actor_id IS NULL;
