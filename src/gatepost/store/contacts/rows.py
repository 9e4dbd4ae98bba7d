"""Contacts and their conversations, which come into being as messages flow."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.number_forms import forms_of, other_form
from gatepost.store.pool import Connection


class KnownContact(msgspec.Struct, frozen=True):
    id: UUID
    phone: str
    name: str | None  # as the network tells it
    username: str | None = None
    given_name: str | None = None  # as people call them here

    @property
    def called(self) -> str | None:
        """The name that events and people use."""
        return self.given_name or self.name


# One address at a time: for a list of unknown length the planner might rather read the whole channel.
FIND = """SELECT wanted.channel_id, wanted.phone AS asked, c.id, c.phone, c.name, c.username, c.given_name
          FROM {wanted}
          CROSS JOIN LATERAL (
              SELECT id, phone, name, username, given_name FROM contacts
              WHERE channel_id = wanted.channel_id AND phone = wanted.phone
              UNION ALL
              SELECT p.* FROM contact_aliases a CROSS JOIN LATERAL (
                  SELECT id, phone, name, username, given_name FROM contacts
                  WHERE channel_id = wanted.channel_id AND id = a.contact_id LIMIT 1) p
              WHERE a.channel_id = wanted.channel_id AND a.alias = wanted.phone
              LIMIT 1) c"""
_OF_ONE = "(SELECT $1::uuid AS channel_id, phone FROM unnest($2::text[]) AS t (phone)) AS wanted"


async def find_contacts(conn: "Connection[Any]", channel_id: UUID, wanted: set[str]) -> dict[str, KnownContact]:
    """The contacts that go by these addresses, by the address that was asked for."""
    rows = await conn.fetch(FIND.format(wanted=_OF_ONE), channel_id, sorted(wanted))
    return {row["asked"]: KnownContact(*(row[name] for name in KnownContact.__struct_fields__)) for row in rows}


async def add_missing(
    conn: "Connection[Any]",
    channel_id: UUID,
    known: dict[str, KnownContact],
    phones: Sequence[str],
    now: datetime,
    names: Mapping[str, str],
) -> list[KnownContact]:
    """Makes the contacts that are not `known` yet; returns them. One that somebody made meanwhile is taken as it is.

    The caller holds the channel's head: nobody gives an address to another contact between the look and the insert.
    """
    missing = sorted(set(phones) - known.keys())
    if not missing:
        return []
    wanted = [KnownContact(ids.new_id(now), phone, names.get(phone)) for phone in _one_form_each(missing)]
    inserted = await _insert(conn, channel_id, wanted, now)
    made = [contact for contact in wanted if contact.phone in inserted]
    await add_forms(conn, channel_id, {contact.phone: contact.id for contact in made})
    known.update((form, contact) for contact in made for form in forms_of(contact.phone))
    if len(made) < len(wanted):
        known.update(await find_contacts(conn, channel_id, set(missing) - known.keys()))
    return made


def _one_form_each(phones: Sequence[str]) -> list[str]:
    """The numbers without those that are another form of one before."""
    firsts: dict[str, None] = {}
    for phone in phones:
        if not any(form in firsts for form in forms_of(phone)):
            firsts[phone] = None
    return list(firsts)


async def add_forms(conn: "Connection[Any]", channel_id: UUID, owners: Mapping[str, UUID]) -> None:
    """Makes each number's other form an alias of its contact, unless somebody goes by that already."""
    others = sorted((other, owner) for phone, owner in owners.items() if (other := other_form(phone)))
    if others:
        await conn.execute(
            """INSERT INTO contact_aliases (channel_id, alias, contact_id)
               SELECT $1, * FROM unnest($2::text[], $3::uuid[]) ON CONFLICT DO NOTHING""",
            channel_id,
            [other for other, _ in others],
            [owner for _, owner in others],
        )


async def _insert(conn: "Connection[Any]", channel_id: UUID, made: Sequence[KnownContact], now: datetime) -> set[str]:
    rows = await conn.fetch(
        """WITH people AS (
               INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
               SELECT $1, n.*, $5, $5 FROM unnest($2::uuid[], $3::text[], $4::text[]) AS n (id, phone, name)
               WHERE (SELECT 1 FROM contact_aliases a CROSS JOIN LATERAL (
                          SELECT 1 FROM contacts WHERE channel_id = $1 AND id = a.contact_id LIMIT 1) p
                      WHERE a.channel_id = $1 AND a.alias = n.phone LIMIT 1) IS NULL
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
