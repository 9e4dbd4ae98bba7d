"""How far the sending of channels has come, and what limits it."""

from collections.abc import Mapping
from uuid import UUID

from gatepost.store.channel_head import Lease
from gatepost.store.pool import Database


async def save_pace(db: Database, lease: Lease, floor: UUID, pace: str) -> None:
    """Save how far sending has come and what limits it, for the next owner and for `GET /channel`."""
    await db.execute(
        "UPDATE channel_heads SET send_floor = $3, pace = $4 WHERE channel_id = $1 AND epoch = $2",
        lease.channel_id,
        lease.epoch,
        floor,
        pace,
    )


async def save_paces(db: Database, paces: Mapping[Lease, tuple[UUID, str]]) -> set[Lease]:
    """Do the same for several channels, without waiting for a lock. Return the channels that were saved.

    A head that changed since the statement began is left out (`messages/accept_plain.py` says why).
    """
    leases = sorted(paces, key=lambda lease: lease.channel_id)
    rows = await db.fetch(
        """UPDATE channel_heads h SET send_floor = k.send_floor, pace = k.pace::jsonb
           FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[]) AS k (channel_id, epoch, send_floor, pace)
           CROSS JOIN LATERAL (
               SELECT channel_id, ctid AS version FROM channel_heads WHERE channel_id = k.channel_id AND epoch = k.epoch
               FOR NO KEY UPDATE SKIP LOCKED) l
           WHERE h.channel_id = l.channel_id AND h.ctid = l.version RETURNING h.channel_id, h.epoch""",
        [lease.channel_id for lease in leases],
        [lease.epoch for lease in leases],
        [paces[lease][0] for lease in leases],
        [paces[lease][1] for lease in leases],
    )
    saved = {(row["channel_id"], row["epoch"]) for row in rows}
    return {lease for lease in leases if (lease.channel_id, lease.epoch) in saved}
