"""What the network says of a channel's number: its state there, its quality and its tier.

report by callback ───┐
reading of the number ┼─► channels.state, channels.limits ─► an event, if the quality or the tier has changed
the gateway's ladder ─┘

A reading that was requested before the last report, or before the last reading that was saved, may be older than that
one, and is not saved.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from gatepost.model import times
from gatepost.model.event import ChannelRef
from gatepost.model.event.numbers import NumberQualityChanged, NumberTierChanged
from gatepost.store.channel_head import ChannelTransaction, Lease, StaleOwner, channel_transaction
from gatepost.store.channels import record_connection
from gatepost.store.pool import Database
from gatepost.store.statement import json_text, statement

# The tier is the one in force, if an operator or the network has set it.
_RATING = "state->>'quality' AS quality, COALESCE(limits->>'tier', state->>'tier')::bigint AS tier"
_FOLLOWS = "state->>'tier_from' IN ('network', 'ladder')"


async def save_number(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    patch: Mapping[str, Any],
    tier: int | None,
    asked_at: datetime,
    *,
    connection: tuple[str, str | None] | None = None,
    token_rejected: bool | None = None,
) -> None:
    """Save the number's state as it was read, unless something newer is known.

    The tier in force follows, unless an operator has set it. The state of the connection that follows, with its reason,
    is saved in the same commit: a report could come between two.
    """
    async with channel_transaction(db, channel, channel_id, asked_at, sending=False) as transaction:
        known = await transaction.conn.fetchrow(
            "SELECT state->>'at', state->>'checked_at' FROM channels WHERE id = $1", channel_id
        )
        if known is None or any(at is not None and datetime.fromisoformat(at) > asked_at for at in known):
            return
        limits = {} if tier is None else {"tier": tier}
        await _update(transaction, f"CASE WHEN {_FOLLOWS} THEN limits || :limits::jsonb ELSE limits END", patch, limits)
        if connection is not None:
            await record_connection(transaction, *connection, token_rejected=token_rejected)


async def apply_number_report(
    transaction: ChannelTransaction, state: Mapping[str, Any], limits: Mapping[str, Any]
) -> None:
    """Save a report of the network."""
    await _update(transaction, "limits || :limits::jsonb", state, limits)


async def raise_tier(db: Database, channel: ChannelRef, lease: Lease, before: int, tier: int, now: datetime) -> bool:
    """Save a new tier. Return False if the lease is stale or the tier was set otherwise meanwhile."""
    try:
        async with channel_transaction(db, channel, lease.channel_id, now, epoch=lease.epoch, sending=False) as it:
            raised: int | None = await it.conn.fetchval(
                """UPDATE channels SET limits = limits || $3::jsonb, state = state || $4::jsonb
                   WHERE id = $1 AND COALESCE((limits->>'tier')::bigint, $2) = $2 RETURNING 1""",
                lease.channel_id,
                before,
                json_text({"tier": tier}),
                json_text({"tier_since": times.format_time(now), "tier_from": "ladder"}),
            )
            if raised is not None:
                it.event_buffer.add(NumberTierChanged(tier, before))
    except StaleOwner:
        return False
    return raised is not None


async def _update(
    transaction: ChannelTransaction, new_limits: str, state: Mapping[str, Any], limits: Mapping[str, Any]
) -> None:
    """Save state and limits, and emit a new quality or tier. The first ones that are known are not a change."""
    row = await transaction.conn.fetchrow(
        *statement(
            f"""UPDATE channels c SET state = state || :state::jsonb, limits = {new_limits}
                FROM (SELECT {_RATING} FROM channels WHERE id = :channel_id FOR NO KEY UPDATE) before
                WHERE c.id = :channel_id
                RETURNING before.quality AS old_quality, before.tier AS old_tier, {_RATING}""",
            channel_id=transaction.channel_id,
            state=json_text(state),
            limits=json_text(limits),
        )
    )
    if row is None:
        return
    if row["old_quality"] is not None and row["quality"] not in (None, row["old_quality"]):
        transaction.event_buffer.add(NumberQualityChanged(row["quality"], row["old_quality"]))
    if row["old_tier"] is not None and row["tier"] not in (None, row["old_tier"]):
        transaction.event_buffer.add(NumberTierChanged(row["tier"], row["old_tier"]))
