"""Which rows belong to an account: every table is in exactly one of these lists."""

# Copied while the account is in use, and kept up to date by logical replication. The column is part of the primary
# key, and no table refers to these: without its channel, no process looks at such a row.
STREAMED = {
    "account_usage": "account_id",
    "contact_aliases": "channel_id",
    "contact_preferences": "channel_id",
    "contacts": "channel_id",
    "conversation_notes": "channel_id",
    "conversations": "channel_id",
    "daily_counts": "channel_id",
    "daily_cursors": "channel_id",
    "daily_failures": "channel_id",
    "deliveries": "channel_id",
    "delivery_attempts": "channel_id",
    "delivery_retries": "channel_id",
    "drafts": "channel_id",
    "events": "channel_id",
    "idempotency_keys": "channel_id",
    "label_uses": "channel_id",
    "labels": "channel_id",
    "mcp_calls": "channel_id",
    "mcp_handovers": "channel_id",
    "mcp_reads": "channel_id",
    "media": "channel_id",
    "messages": "channel_id",
    "orders": "channel_id",
    "parked_statuses": "channel_id",
    "refused_requests": "channel_id",
    "scheduled_messages": "channel_id",
    "search_blocks": "channel_id",
    "templates": "channel_id",
}

_OF_ACCOUNT = "account_id = $1"
_OF_USERS = "user_id IN (SELECT id FROM users WHERE account_id = $1)"
_OF_CHANNELS = "channel_id IN (SELECT id FROM channels WHERE account_id = $1)"
# Copied in the commit by which the account arrives, those first that others refer to: with these rows it is found and
# served. `channel_heads` follows: they are taken away first, so that nobody can write (`departure.fence`).
DECISIVE = {
    "accounts": "id = $1",
    "account_addons": _OF_ACCOUNT,
    "account_log": _OF_ACCOUNT,
    "users": _OF_ACCOUNT,
    "sessions": _OF_USERS,
    "one_time_links": _OF_USERS,
    "channels": _OF_ACCOUNT,
    "channel_links": _OF_CHANNELS,
    "api_keys": _OF_CHANNELS,
    "mcp_policies": _OF_CHANNELS,
    "endpoints": _OF_CHANNELS,
    "batches": _OF_CHANNELS,
    "recoveries": _OF_CHANNELS,
    "search_progress": _OF_CHANNELS,
    "search_failures": _OF_CHANNELS,
}

# Those whose rows requests change, and must not while they are copied. Rows of the others are added only with a lock on
# a row of these, or changed only by the owner of a channel.
LOCKED = ("accounts", "account_addons", "users", "one_time_links", "channels", "api_keys", "mcp_policies", "endpoints")

# Counted by triggers from other rows, or of uploads in progress, which fail and are repeated.
DERIVED = {"channel_storage": "channel_id", "storage_reservations": "channel_id"}

# Of the database itself.
OWN = (
    "account_moves",
    "cell",
    "channel_owners",
    "forgotten_devices",
    "key_check",
    "oldest_program",
    "schema_migrations",
    "write_check",
)
