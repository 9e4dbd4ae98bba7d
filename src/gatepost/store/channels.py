"""Channels: their settings, the connection, and the conversations that they have opened."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.account_log import LogEntry
from gatepost.model.endpoint import SWITCHED_OFF
from gatepost.model.errors import Conflict, invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.event.acknowledgements import AckConnection
from gatepost.model.number_status import TOKEN_REJECTED
from gatepost.model.session import ChannelAccess
from gatepost.store.account_log import insert_entry
from gatepost.store.channel_head import ChannelTransaction, channel_transaction, no_head
from gatepost.store.devices import record_device
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text


class ChannelConfig(msgspec.Struct, frozen=True):
    """The settings of a channel. Secrets stay encrypted here."""

    id: UUID
    account_id: UUID
    kind: str
    phone: str
    name: str
    network: dict[str, Any]
    secrets: bytes | None
    limits: dict[str, Any]
    connection: str
    reason: str | None = None
    state: dict[str, Any] = {}  # what the network says of the number

    @property
    def ref(self) -> ChannelRef:
        """The channel as events show it."""
        return ChannelRef(ids.format_id("ch", self.id), self.kind, self.phone)


_COLUMNS = "id, account_id, kind, phone, name, network, secrets, limits, connection, reason"
# What belongs to a channel and has no retention of its own. Messages and events leave with their partitions.
_BELONGINGS = (
    "contacts",
    "conversations",
    "scheduled_messages",
    "parked_statuses",
    "idempotency_keys",
    "delivery_retries",
    "templates",
    "contact_aliases",
    "contact_preferences",
    "media",
    "channel_storage",
    "storage_reservations",
    "orders",
    "labels",
    "label_uses",
    "conversation_notes",
    "mcp_handovers",
    "drafts",
    "daily_counts",
    "daily_failures",
    "daily_cursors",
)


async def insert_channel(
    db: Database,
    channel: ChannelConfig,
    now: datetime,
    entry: LogEntry,
    once: IdempotentRequest[ChannelConfig] = NEVER,
    *,
    limit: int | None = None,
    number: str | None = None,
) -> bool:
    """Insert a channel and its head, unless the account has `limit` channels, or one with this `number` at the network.

    Return False if there is no account.
    """
    async with db.transaction() as conn:
        if limit is not None or number is not None:
            await _check_new(conn, channel.account_id, limit, number, once, now)
        made = await conn.fetchval(
            f"""INSERT INTO channels ({_COLUMNS}, created_at)
                SELECT $1, id, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM accounts WHERE id = $2 RETURNING 1""",
            channel.id,
            channel.account_id,
            channel.kind,
            channel.phone,
            channel.name,
            json_text(channel.network),
            channel.secrets,
            json_text(channel.limits),
            channel.connection,
            channel.reason,
            now,
        )
        if made is None:
            return False
        await conn.execute(
            """INSERT INTO channel_heads (channel_id, last_event_id, last_message_id, send_floor)
               VALUES ($1, $2, $2, $2)""",
            channel.id,
            ids.ZERO,
        )
        await insert_entry(conn, entry)
        await once.keep_unlocked(conn, channel, now)
    return True


async def _check_new(
    conn: "Connection[Any]",
    account_id: UUID,
    limit: int | None,
    number: str | None,
    once: IdempotentRequest[ChannelConfig],
    now: datetime,
) -> None:
    """Reject a second channel of a number, and one too many. Concurrent requests wait for each other."""
    await conn.execute("SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE", account_id)
    rows = await conn.fetch(
        "SELECT id, name, network->>'phone_number_id' AS number FROM channels WHERE account_id = $1", account_id
    )
    same = [row for row in rows if number is not None and row["number"] == number]
    if same or (limit is not None and len(rows) >= limit):
        await once.check(conn, now)  # the same request may have just made the last one
    if same:
        taken = f"is the number of the channel '{same[0]['name']}' ({ids.format_id('ch', same[0]['id'])})"
        raise invalid_field("phone_number_id", taken)
    if limit is not None and len(rows) >= limit:
        raise Conflict(
            f"The plan of this account allows {limit} channels, and it has {len(rows)}. Delete one, or ask the "
            "operator of this gateway for another plan.",
            "channel_limit_reached",
        )


async def get_config(db: Database, channel_id: UUID) -> ChannelConfig | None:
    """Return a channel of any account, for its owner and for the network's callbacks."""
    row = await db.fetchrow(f"SELECT {_COLUMNS}, state FROM channels WHERE id = $1", channel_id)
    return _channel(row) if row else None


async def get_configs(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, ChannelConfig]:
    """Return those of the channels that exist, for their owner."""
    rows = await db.fetch(f"SELECT {_COLUMNS}, state FROM channels WHERE id = ANY ($1::uuid[])", list(channel_ids))
    return {row["id"]: _channel(row) for row in rows}


async def find_access(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, ChannelAccess]:
    """Return what decides about requests of those of the channels that exist."""
    rows = await db.fetch(
        """SELECT id, account_id, kind, phone, COALESCE((limits->>'window')::int, 1) <> 0 AS window
           FROM channels WHERE id = ANY ($1::uuid[])""",
        list(channel_ids),
    )
    return {row["id"]: ChannelAccess(**row) for row in rows}


async def get_channel(db: Database, account_id: UUID, channel_id: UUID) -> ChannelConfig | None:
    """Return a channel of an account."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS}, state FROM channels WHERE account_id = $1 AND id = $2", account_id, channel_id
    )
    return _channel(row) if row else None


async def list_channels(db: Database, account_id: UUID | None = None) -> list[ChannelConfig]:
    """Return the channels of one account or of all, the oldest first."""
    if account_id is None:
        rows = await db.fetch(f"SELECT {_COLUMNS}, state FROM channels ORDER BY id")
    else:
        rows = await db.fetch(f"SELECT {_COLUMNS}, state FROM channels WHERE account_id = $1 ORDER BY id", account_id)
    return [_channel(row) for row in rows]


class ChannelVersion(msgspec.Struct, frozen=True):
    """The end of a channel's log, and two versions, which are other ones after each change.

    `version` is of its settings and state, `deliveries` of the progress and health of its endpoints.
    """

    account_id: UUID
    id: UUID
    version: str
    deliveries: str | None
    last_event_id: UUID


async def list_versions(db: Database, accounts: Sequence[UUID]) -> list[ChannelVersion]:
    """Return the channels of some accounts."""
    rows = await db.fetch(
        """SELECT c.account_id, c.id, c.xmin::text AS version,
                  (SELECT string_agg(e.xmin::text, ' ' ORDER BY e.id) FROM endpoints e WHERE e.channel_id = c.id)
                      AS deliveries,
                  h.last_event_id
           FROM channels c JOIN channel_heads h ON h.channel_id = c.id WHERE c.account_id = ANY ($1::uuid[])""",
        list(accounts),
    )
    return [ChannelVersion(*row.values()) for row in rows]


class ChannelChange(msgspec.Struct, frozen=True):
    """What to change of a channel; None keeps it."""

    name: str | None = None
    limits: Mapping[str, Any] = {}  # others are kept
    network: Mapping[str, Any] | None = None
    secrets: bytes | None = None


async def update_channel(
    db: Database, account_id: UUID, channel_id: UUID, change: ChannelChange, entry: LogEntry
) -> bool:
    """Change a channel, and wake its owner. Return False if the account has no such channel."""
    async with db.transaction(wakes=channel_id) as conn:
        done = await conn.fetchval(
            """UPDATE channels SET name = COALESCE($3, name), limits = limits || $4::jsonb, state = state || $5::jsonb,
                      network = COALESCE($6::jsonb, network), secrets = COALESCE($7, secrets)
               WHERE account_id = $1 AND id = $2 RETURNING 1""",
            account_id,
            channel_id,
            change.name,
            json_text(change.limits),
            json_text({"tier_from": "hand"} if "tier" in change.limits else {}),
            None if change.network is None else json_text(change.network),
            change.secrets,
        )
        if done is not None:
            await insert_entry(conn, entry)
    return done is not None


async def delete_channel(db: Database, account_id: UUID, channel_id: UUID, entry: LogEntry | None = None) -> bool:
    """Delete a channel with its keys, endpoints, contacts and waiting work. Return False if there is none."""
    async with db.transaction() as conn:
        await record_device(conn, account_id, channel_id)
        # First the head, as in every transaction. It is deleted with the channel: a writer that waits for it finds
        # that it owns nothing.
        slice_ = await conn.fetchrow(
            """SELECT slice_month, slice_left FROM channel_heads
               WHERE channel_id = (SELECT id FROM channels WHERE account_id = $1 AND id = $2) FOR UPDATE""",
            account_id,
            channel_id,
        )
        gone = await conn.fetchval(
            "DELETE FROM channels WHERE account_id = $1 AND id = $2 RETURNING 1", account_id, channel_id
        )
        if gone is None:
            return False
        if entry is not None:
            await insert_entry(conn, entry)
        for table in _BELONGINGS:
            await conn.execute(f"DELETE FROM {table} WHERE channel_id = $1", channel_id)
        if slice_ is not None and slice_["slice_left"]:  # last, since all channels of the account share this row
            await conn.execute(
                "UPDATE account_usage SET used = used - $3 WHERE account_id = $1 AND month = $2",
                account_id,
                slice_["slice_month"],
                slice_["slice_left"],
            )
    return True


def _channel(row: Any) -> ChannelConfig:
    values = dict(row)
    values["network"] = msgspec.json.decode(values["network"])
    values["limits"] = msgspec.json.decode(values["limits"])
    values["state"] = msgspec.json.decode(values["state"])
    return ChannelConfig(**values)


async def get_pace(db: Database, channel_id: UUID) -> str:
    """Return what the owner last saved about the channel's pace, as JSON."""
    async with db.connection() as conn:
        value: str | None = await conn.fetchval("SELECT pace FROM channel_heads WHERE channel_id = $1", channel_id)
        if value is None:
            raise await no_head(conn, channel_id)
    return value


class ChannelActivity(msgspec.Struct, frozen=True):
    """What the owner last saved about a channel's pace, as JSON, and how much of it needs a person."""

    pace: str
    unread: int  # conversations
    endpoints: int  # that are paused, or that the gateway has disabled
    templates: int  # that the network has rejected, paused or disabled


async def list_activity(db: Database, account_id: UUID, unread_max: int) -> dict[UUID, ChannelActivity]:
    """Return the activity of the channels of an account. Unread conversations are counted up to a maximum."""
    rows = await db.fetch(
        """SELECT c.id, h.pace, u.unread,
                  (SELECT count(*) FROM endpoints WHERE channel_id = c.id AND state <> 'active'
                     AND (state = 'paused' OR reason IS DISTINCT FROM $3)) AS endpoints,
                  (SELECT count(*) FROM templates
                   WHERE channel_id = c.id AND status IN ('REJECTED', 'PAUSED', 'DISABLED')) AS templates
           FROM channels c JOIN channel_heads h ON h.channel_id = c.id CROSS JOIN LATERAL (
               SELECT count(*) AS unread FROM (
                   SELECT 1 FROM conversations WHERE channel_id = c.id AND unread > 0 LIMIT $2) found) u
           WHERE c.account_id = $1""",
        account_id,
        unread_max,
        SWITCHED_OFF,
    )
    return {id_: ChannelActivity(*rest) for id_, *rest in rows}


async def record_connection(
    transaction: ChannelTransaction,
    state: str,
    reason: str | None,
    qr: str | None = None,
    *,
    token_rejected: bool | None = None,
) -> bool:
    """Save the state of the connection, and emit an event if it changed or there is a new code to scan.

    `token_rejected` also saves whether the network rejects the token of the channel; None does not change it.
    """
    conn, channel_id = transaction.conn, transaction.channel_id
    previous = await conn.fetchrow("SELECT connection, reason FROM channels WHERE id = $1", channel_id)
    if previous is None or ((previous["connection"], previous["reason"]) == (state, reason) and not qr):
        return False
    await conn.execute("UPDATE channels SET connection = $2, reason = $3 WHERE id = $1", channel_id, state, reason)
    if token_rejected is not None:
        rejected = {TOKEN_REJECTED: times.format_time(transaction.now)} if token_rejected else {}
        await conn.execute(
            "UPDATE channels SET state = (state - $2::text) || $3::jsonb WHERE id = $1",
            channel_id,
            TOKEN_REJECTED,
            json_text(rejected),
        )
    transaction.event_buffer.add(AckConnection(state, previous["connection"], reason, qr or msgspec.UNSET))
    return True


async def save_connection(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    state: str,
    reason: str | None,
    now: datetime,
    *,
    epoch: int | None = None,
    qr: str | None = None,
    token_rejected: bool | None = None,
) -> bool:
    """Do the same in a commit of its own; with an epoch, only if that owner still owns the channel."""
    async with channel_transaction(db, channel, channel_id, now, epoch=epoch, sending=False) as transaction:
        return await record_connection(transaction, state, reason, qr, token_rejected=token_rejected)


_DAY = timedelta(hours=24)


async def count_opened(db: Database, channel_id: UUID, since: datetime, limit: int) -> int:
    """Count the conversations that the business has opened since then, up to `limit`."""
    count: int = await db.fetchval(
        """SELECT count(*) FROM (SELECT 1 FROM conversations
           WHERE channel_id = $1 AND opened_at > $2 LIMIT $3) opened""",
        channel_id,
        since,
        limit,
    )
    return count


async def find_open_conversations(
    db: Database, channel_id: UUID, contact_ids: Sequence[UUID], now: datetime
) -> set[UUID]:
    """Return those contacts who have written within the last 24 hours."""
    rows = await db.fetch(
        """SELECT contact_id FROM conversations
           WHERE channel_id = $1 AND contact_id = ANY ($2::uuid[]) AND (last_in_at > $3 OR opened_at > $3)""",
        channel_id,
        list(contact_ids),
        now - _DAY,
    )
    return {row["contact_id"] for row in rows}


async def close_unopened(conn: "Connection[Any]", channel_id: UUID, contact_ids: Sequence[UUID]) -> None:
    """Close conversations that the network refused to open: they do not count toward the tier."""
    await conn.execute(
        "UPDATE conversations SET opened_at = NULL WHERE channel_id = $1 AND contact_id = ANY ($2::uuid[])",
        channel_id,
        list(contact_ids),
    )
