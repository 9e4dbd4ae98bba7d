"""Merging contacts of which one has very many messages: most of them are moved before, in commits of their own.

merge ─► too many messages: rolled back ─► parts of them are moved, the oldest first ─► merge again

Whoever reported that two contacts are one person repeats it after an interruption, and what was moved stays moved.
"""

from typing import Any, Protocol, TypeVar
from uuid import UUID

from gatepost.model import ids
from gatepost.model.dates import LAST_ID
from gatepost.store.channel_head import lock_head
from gatepost.store.pool import Connection, Database

AT_ONCE = 5_000  # messages of one commit, for which the channel waits
_TRIES = 100  # a report may merge several large contacts


class LargeMerge(Exception):
    """A contact has too many messages to be merged in one commit, which is rolled back (`merge_in_parts`)."""

    def __init__(self, stays: UUID, goes: UUID) -> None:
        super().__init__()
        self.stays = stays
        self.goes = goes


T_co = TypeVar("T_co", covariant=True)


class Merge(Protocol[T_co]):
    """A transaction that may merge contacts: with `whole`, however many messages they have."""

    async def __call__(self, *, whole: bool) -> T_co: ...


async def merge_in_parts(db: Database, channel_id: UUID, merge: Merge[T_co]) -> T_co:
    """Run a transaction that may merge contacts, each time after most messages of a large one were moved.

    If nothing can be moved before, because the contact that stays is a new one of this transaction, all is one commit.
    """
    for _ in range(_TRIES):
        try:
            return await merge(whole=False)
        except LargeMerge as found:
            large = found
        if not await _move_most(db, channel_id, large.stays, large.goes):
            break
    return await merge(whole=True)


async def check_size(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Raise LargeMerge if the second contact has too many messages."""
    if await _end_of_part(conn, channel_id, goes) is not None:
        raise LargeMerge(stays, goes)


async def move_messages(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Move the messages of a contact to another one. No statement moves very many, because its time is limited."""
    while end := await _end_of_part(conn, channel_id, goes):
        await _move(conn, channel_id, stays, goes, end)
    await _move(conn, channel_id, stays, goes, LAST_ID)


async def _move_most(db: Database, channel_id: UUID, stays: UUID, goes: UUID) -> bool:
    """Move messages until few are left. Return False if there was nothing to move."""
    parts = 0
    while await _move_some(db, channel_id, stays, goes):
        parts += 1
    return parts > 0


async def _move_some(db: Database, channel_id: UUID, stays: UUID, goes: UUID) -> bool:
    """Move the oldest messages. Return False if there are few, or if one of the contacts does not exist."""
    async with db.transaction() as conn:
        await lock_head(conn, channel_id)
        found = await conn.fetch(
            "SELECT id FROM contacts WHERE channel_id = $1 AND id = ANY ($2::uuid[])", channel_id, [stays, goes]
        )
        end = await _end_of_part(conn, channel_id, goes) if len(found) == 2 else None
        if end is not None:
            await _move(conn, channel_id, stays, goes, end)
    return end is not None


async def _move(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID, end: UUID) -> None:
    """Move messages up to an id, and replace the contact's id in their reactions."""
    await conn.execute(
        """UPDATE messages SET contact_id = $2, reactions = replace(reactions, $5, $4)
           WHERE channel_id = $1 AND contact_id = $3 AND id <= $6""",
        channel_id,
        stays,
        goes,
        ids.format_id("ct", stays),
        ids.format_id("ct", goes),
        end,
    )


async def _end_of_part(conn: "Connection[Any]", channel_id: UUID, contact_id: UUID) -> UUID | None:
    """Return where the oldest messages of a contact end; None if it has few.

    The number is not a parameter: with one, the planner might go through the messages of all contacts in their order.
    """
    end: UUID | None = await conn.fetchval(
        f"""SELECT id FROM messages WHERE channel_id = $1 AND contact_id = $2
            ORDER BY id OFFSET {AT_ONCE - 1} LIMIT 1""",
        channel_id,
        contact_id,
    )
    return end
