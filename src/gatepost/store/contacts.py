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


async def ensure_contacts(
    conn: "Connection[Any]",
    channel_id: UUID,
    phones: Sequence[str],
    now: datetime,
    names: Mapping[str, str] | None = None,
) -> dict[str, Contact]:
    """The contact behind each number, made now where there was none. Runs under the channel's lock."""
    rows = await conn.fetch(
        # One number at a time: for a list of unknown length the planner might rather read the whole channel.
        """SELECT c.* FROM unnest($2::text[]) AS wanted (phone) CROSS JOIN LATERAL (
               SELECT id, phone, name FROM contacts WHERE channel_id = $1 AND phone = wanted.phone LIMIT 1) c""",
        channel_id,
        list(set(phones)),
    )
    known = {row["phone"]: Contact(row["id"], row["phone"], row["name"]) for row in rows}
    missing = sorted(set(phones) - known.keys())
    named = names or {}
    if missing:
        made = [Contact(ids.new_id(now), phone, named.get(phone)) for phone in missing]
        await _insert(conn, channel_id, made, now)
        known.update((contact.phone, contact) for contact in made)
    renamed = [
        Contact(c.id, c.phone, named[c.phone]) for c in known.values() if named.get(c.phone) not in (None, c.name)
    ]
    if renamed:
        await _rename(conn, channel_id, renamed, now)
        known.update((contact.phone, contact) for contact in renamed)
    return known


async def _insert(conn: "Connection[Any]", channel_id: UUID, made: Sequence[Contact], now: datetime) -> None:
    await conn.execute(
        """WITH people AS (
               INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
               SELECT $1, *, $5, $5 FROM unnest($2::uuid[], $3::text[], $4::text[])
           )
           INSERT INTO conversations (channel_id, contact_id, created_at) SELECT $1, unnest($2::uuid[]), $5""",
        channel_id,
        [contact.id for contact in made],
        [contact.phone for contact in made],
        [contact.name for contact in made],
        now,
    )


async def _rename(conn: "Connection[Any]", channel_id: UUID, renamed: Sequence[Contact], now: datetime) -> None:
    await conn.executemany(
        "UPDATE contacts SET name = $3, updated_at = $4 WHERE channel_id = $1 AND id = $2",
        [(channel_id, contact.id, contact.name, now) for contact in renamed],
    )
