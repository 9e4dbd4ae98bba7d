"""The link of a QR channel: what people requested, and what its owner reports."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import Lease, channel_transaction, no_head, owner_transaction
from gatepost.store.channels import record_connection
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import statement


class LinkRow(msgspec.Struct, frozen=True):
    """The state of a link."""

    wanted: bool = False
    logout: bool = False
    pair_phone: str | None = None
    pairing_code: str | None = None
    qr: str | None = None
    qr_until: datetime | None = None
    device: str | None = None
    lid: str | None = None
    linked_at: datetime | None = None
    locked_until: datetime | None = None
    xmin: int = 0  # the version that PostgreSQL gives a row: it changes with each request, also with a repeated one


_COLUMNS = ", ".join(LinkRow.__struct_fields__)
_REQUESTABLE = {"wanted", "logout", "pair_phone", "pairing_code", "locked_until"}


async def get_link(db: Database, channel_id: UUID) -> LinkRow:
    """Return the link of a channel; one that was never requested has default values."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM channel_links WHERE channel_id = $1", channel_id)
    return LinkRow(**row) if row else LinkRow()


async def list_links(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, LinkRow]:
    """Return the links of these channels that were requested."""
    rows = await db.fetch(
        f"SELECT channel_id, {_COLUMNS} FROM channel_links WHERE channel_id = ANY ($1::uuid[])", list(channel_ids)
    )
    return {row["channel_id"]: LinkRow(**{name: row[name] for name in LinkRow.__struct_fields__}) for row in rows}


async def request_link(db: Database, channel_id: UUID, now: datetime, **request: Any) -> None:
    """Save what people request of a link, and request an owner."""
    assert request.keys() <= _REQUESTABLE
    async with db.transaction(wakes=channel_id) as conn:
        # The head first, as in `save_link_state`: the other order could end in a deadlock.
        head = await conn.fetchval(
            """UPDATE channel_heads SET work_at = LEAST(COALESCE(work_at, $2), $2)
               WHERE channel_id = $1 RETURNING 1""",
            channel_id,
            now,
        )
        if head is None:
            raise await no_head(conn, channel_id)
        await _write(conn, channel_id, request)


async def update_link(db: Database, lease: Lease, **values: Any) -> LinkRow:
    """Save what the link reports now, and return its row; only its owner may."""
    assert values.keys() <= set(LinkRow.__struct_fields__)
    async with owner_transaction(db, lease) as conn:
        return await _write(conn, lease.channel_id, values)


async def save_link_state(
    db: Database, lease: Lease, channel: ChannelRef, now: datetime, state: str, reason: str | None, **values: Any
) -> LinkRow:
    """Do the same, and save the state of the connection in the same commit."""
    assert values.keys() <= set(LinkRow.__struct_fields__)
    async with channel_transaction(db, channel, lease.channel_id, now, epoch=lease.epoch, sending=False) as transaction:
        await record_connection(transaction, state, reason)
        return await _write(transaction.conn, lease.channel_id, values)


async def _write(conn: "Connection[Any]", channel_id: UUID, values: dict[str, Any]) -> LinkRow:
    (row,) = await conn.fetch(*_upsert(channel_id, values))
    return LinkRow(**row)


def _upsert(channel_id: UUID, values: dict[str, Any]) -> tuple[Any, ...]:
    return statement(
        f"""INSERT INTO channel_links (channel_id, {", ".join(values)})
            VALUES (:channel_id, {", ".join(f":{name}" for name in values)})
            ON CONFLICT (channel_id) DO UPDATE SET {", ".join(f"{name} = :{name}" for name in values)}
            RETURNING {_COLUMNS}""",
        channel_id=channel_id,
        **values,
    )
