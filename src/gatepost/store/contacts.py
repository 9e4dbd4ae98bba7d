"""Contacts and their conversations, which come into being as messages flow."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.store.pool import Connection


class Contact(msgspec.Struct, frozen=True):
    id: UUID
    phone: str
    name: str | None


# One number at a time: for a list of unknown length the planner might rather read the whole channel. $1 is the channel.
FIND = """SELECT c.id, c.phone, c.name FROM unnest({phones}::text[]) AS wanted (phone) CROSS JOIN LATERAL (
              SELECT id, phone, name FROM contacts WHERE channel_id = $1 AND phone = wanted.phone LIMIT 1) c"""


async def ensure_contacts(
    conn: "Connection[Any]",
    channel_id: UUID,
    phones: Sequence[str],
    now: datetime,
    names: Mapping[str, str] | None = None,
) -> dict[str, Contact]:
    """The contact behind each number, made now where there was none, under the name it goes by now."""
    known = await _find(conn, channel_id, set(phones))
    named = names or {}
    await add_missing(conn, channel_id, known, phones, now, named)
    renamed = [
        Contact(c.id, c.phone, named[c.phone]) for c in known.values() if named.get(c.phone) not in (None, c.name)
    ]
    if renamed:
        await _rename(conn, channel_id, renamed, now)
        known.update((contact.phone, contact) for contact in renamed)
    return known


async def add_missing(
    conn: "Connection[Any]",
    channel_id: UUID,
    known: dict[str, Contact],
    phones: Sequence[str],
    now: datetime,
    names: Mapping[str, str],
) -> None:
    """Makes the contacts that are not `known` yet. One that somebody else made meanwhile is taken as it is."""
    missing = sorted(set(phones) - known.keys())
    if not missing:
        return
    made = [Contact(ids.new_id(now), phone, names.get(phone)) for phone in missing]
    inserted = await _insert(conn, channel_id, made, now)
    known.update((contact.phone, contact) for contact in made if contact.phone in inserted)
    if len(inserted) < len(missing):
        known.update(await _find(conn, channel_id, set(missing) - inserted))


async def _find(conn: "Connection[Any]", channel_id: UUID, phones: set[str]) -> dict[str, Contact]:
    rows = await conn.fetch(FIND.format(phones="$2"), channel_id, list(phones))
    return {row["phone"]: Contact(row["id"], row["phone"], row["name"]) for row in rows}


async def _insert(conn: "Connection[Any]", channel_id: UUID, made: Sequence[Contact], now: datetime) -> set[str]:
    rows = await conn.fetch(
        """WITH people AS (
               INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
               SELECT $1, *, $5, $5 FROM unnest($2::uuid[], $3::text[], $4::text[])
               ON CONFLICT (channel_id, phone) DO NOTHING RETURNING id, phone
           ), talks AS (
               INSERT INTO conversations (channel_id, contact_id, created_at) SELECT $1, id, $5 FROM people
           )
           SELECT phone FROM people""",
        channel_id,
        [contact.id for contact in made],
        [contact.phone for contact in made],
        [contact.name for contact in made],
        now,
    )
    return {row["phone"] for row in rows}


async def _rename(conn: "Connection[Any]", channel_id: UUID, renamed: Sequence[Contact], now: datetime) -> None:
    await conn.executemany(
        "UPDATE contacts SET name = $3, updated_at = $4 WHERE channel_id = $1 AND id = $2",
        [(channel_id, contact.id, contact.name, now) for contact in renamed],
    )
