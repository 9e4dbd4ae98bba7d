-- The log of the operator, who has no id: in the order of the pages.
CREATE INDEX account_log_operator ON account_log (account_id, id) WHERE actor_id IS NULL;
