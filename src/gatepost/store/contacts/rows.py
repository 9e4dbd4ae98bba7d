"""Contacts and their conversations: found, created as messages flow, and merged when two are one person."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.number_forms import forms_of, other_form
from gatepost.store.channel_head import renew_reads
from gatepost.store.contacts.large_merge import check_size, move_messages
from gatepost.store.mcp.conversations import merge_assistant_rows
from gatepost.store.pool import Connection, Queryable
from gatepost.store.statement import statement


class KnownContact(msgspec.Struct, frozen=True):
    id: UUID
    phone: str
    name: str | None  # as the network reports it
    username: str | None = None
    given_name: str | None = None  # as people set it

    @property
    def display_name(self) -> str | None:
        """The name that events show."""
        return self.given_name or self.name


# One address at a time: for a list of unknown length the planner might read the whole channel.
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


async def find_contacts(conn: Queryable, channel_id: UUID, wanted: set[str]) -> dict[str, KnownContact]:
    """Return the contacts with these numbers or aliases, by the address that was given."""
    rows = await conn.fetch(FIND.format(wanted=_OF_ONE), channel_id, sorted(wanted))
    return {row["asked"]: KnownContact(*(row[name] for name in KnownContact.__struct_fields__)) for row in rows}


class MissingContacts(msgspec.Struct, frozen=True):
    """The recipients of a channel's batch that may have no contact yet."""

    known: dict[str, KnownContact]  # by their addresses; the new ones are added
    phones: Sequence[str]
    names: Mapping[str, str] = {}


async def add_missing(
    conn: "Connection[Any]", batches: Mapping[UUID, MissingContacts], now: datetime
) -> dict[UUID, list[KnownContact]]:
    """Insert the contacts that are not `known` yet, of several channels. Return them for each channel.

    One inserted meanwhile is used as it is. The caller holds the heads of the channels: no address gets another
    contact between the read and the insert.
    """
    wanted = {channel_id: _contacts_for(batch, now) for channel_id, batch in batches.items()}
    inserted = await _insert(conn, [(id_, contact) for id_, found in wanted.items() for contact in found], now)
    made = {id_: [contact for contact in found if contact.id in inserted] for id_, found in wanted.items()}
    for channel_id, batch in batches.items():
        batch.known.update((form, contact) for contact in made[channel_id] for form in forms_of(contact.phone))
        if len(made[channel_id]) < len(wanted[channel_id]):
            batch.known.update(await find_contacts(conn, channel_id, set(batch.phones) - batch.known.keys()))
    return made


def _contacts_for(batch: MissingContacts, now: datetime) -> list[KnownContact]:
    missing = sorted(set(batch.phones) - batch.known.keys())
    return [KnownContact(ids.new_id(now), phone, batch.names.get(phone)) for phone in _one_form_each(missing)]


def _one_form_each(phones: Sequence[str]) -> list[str]:
    """Return the numbers without those that are another form of an earlier one."""
    firsts: dict[str, None] = {}
    for phone in phones:
        if not any(form in firsts for form in forms_of(phone)):
            firsts[phone] = None
    return list(firsts)


async def add_number_forms(conn: "Connection[Any]", channel_id: UUID, owners: Mapping[str, UUID]) -> None:
    """Make each number's other form an alias of its contact, unless a contact has it already."""
    others = sorted((other, owner) for phone, owner in owners.items() if (other := other_form(phone)))
    if others:
        await conn.execute(
            """INSERT INTO contact_aliases (channel_id, alias, contact_id)
               SELECT $1, * FROM unnest($2::text[], $3::uuid[]) ON CONFLICT DO NOTHING""",
            channel_id,
            [other for other, _ in others],
            [owner for _, owner in others],
        )


async def _insert(conn: "Connection[Any]", made: Sequence[tuple[UUID, KnownContact]], now: datetime) -> set[UUID]:
    """Insert contacts with their conversations and the other forms of their numbers. Return the ids inserted."""
    if not made:
        return set()
    channels = {channel_id: place for place, channel_id in enumerate(dict.fromkeys(id_ for id_, _ in made), 1)}
    contacts = [contact for _, contact in made]
    rows = await conn.fetch(
        *statement(
            _INSERT,
            channel_ids=list(channels),
            places=",".join([str(channels[channel_id]) for channel_id, _ in made]),
            ids=",".join([contact.id.hex for contact in contacts]),
            phones=[contact.phone for contact in contacts],
            names=[contact.name for contact in contacts] if any(contact.name for contact in contacts) else None,
            others=",".join([other_form(contact.phone) or "" for contact in contacts]),
            now=now,
        )
    )
    return {row["id"] for row in rows}


# `(… IN …) IS TRUE` is a look-up in a hash table; without it, the planner would make a join of it, which is a nested
# loop here.
_INSERT = """WITH given AS MATERIALIZED (
       SELECT (:channel_ids::uuid[])[place] AS channel_id, n.* FROM unnest(
           string_to_array(:places, ',')::int[], string_to_array(:ids, ',')::uuid[], :phones::text[], :names::text[],
           string_to_array(:others, ',', '')) AS n (place, id, phone, name, other)
   ), people AS (
       INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
       SELECT n.channel_id, n.id, n.phone, n.name, :now, :now FROM given n
       WHERE (SELECT 1 FROM contact_aliases a CROSS JOIN LATERAL (
                  SELECT 1 FROM contacts WHERE channel_id = n.channel_id AND id = a.contact_id LIMIT 1) p
              WHERE a.channel_id = n.channel_id AND a.alias = n.phone LIMIT 1) IS NULL
       ON CONFLICT (channel_id, phone) DO NOTHING RETURNING channel_id, id
   ), opened AS (
       INSERT INTO conversations (channel_id, contact_id, created_at) SELECT channel_id, id, :now FROM people
   ), forms AS (
       INSERT INTO contact_aliases (channel_id, alias, contact_id)
       SELECT n.channel_id, n.other, n.id FROM given n
       WHERE n.other IS NOT NULL AND (n.id IN (SELECT id FROM people)) IS TRUE
       ON CONFLICT DO NOTHING
   )
   SELECT id FROM people"""


async def merge_contact_rows(
    conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID, address: str, *, whole: bool = False
) -> None:
    """Merge two contacts; `address` is the second one's. The caller holds the channel's head.

    Unless `whole`, raise LargeMerge if the second one has too many messages.

    Messages come before conversations, in the order of `mark_sending`, which does not lock the channel.
    """
    if not whole:
        await check_size(conn, channel_id, stays, goes)
    await _merge_messages(conn, channel_id, stays, goes)
    await _merge_conversations(conn, channel_id, stays, goes)
    await _merge_belongings(conn, channel_id, stays, goes)
    await merge_preference_times(conn, channel_id, stays, goes)
    await merge_assistant_rows(conn, channel_id, stays, goes)
    await _merge_names(conn, channel_id, stays, goes, address)
    await renew_reads(conn, channel_id)


async def _merge_messages(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Move messages, and replace the contact's id in reactions."""
    await move_messages(conn, channel_id, stays, goes)
    await conn.execute(
        """UPDATE messages SET reactions = replace(reactions, $4, $3)
           WHERE channel_id = $1 AND contact_id = $2 AND strpos(reactions, $4) > 0""",
        channel_id,
        stays,
        ids.format_id("ct", stays),
        ids.format_id("ct", goes),
    )


async def _merge_conversations(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Merge conversations: unread counts and notes are added, open wins over closed, shown over archived or muted."""
    await conn.execute(
        """UPDATE conversations v SET last_in_at = GREATEST(v.last_in_at, o.last_in_at),
               opened_at = GREATEST(v.opened_at, o.opened_at), created_at = LEAST(v.created_at, o.created_at),
               unread = v.unread + o.unread, last_message_id = GREATEST(v.last_message_id, o.last_message_id),
               status = CASE WHEN 'open' IN (v.status, o.status) THEN 'open' ELSE v.status END,
               archived = v.archived AND o.archived, muted = v.muted AND o.muted,
               note = CASE WHEN v.note <> o.note THEN v.note || E'\n' || o.note ELSE COALESCE(v.note, o.note) END,
               assignee = COALESCE(v.assignee, o.assignee),
               updated_at = GREATEST(v.updated_at, o.updated_at)
           FROM (SELECT last_in_at, opened_at, created_at, unread, last_message_id, status, archived, muted, note,
                        assignee, updated_at
                 FROM conversations WHERE channel_id = $1 AND contact_id = $3 LIMIT 1) o
           WHERE v.channel_id = $1 AND v.contact_id = $2""",
        channel_id,
        stays,
        goes,
    )
    await conn.execute("DELETE FROM conversations WHERE channel_id = $1 AND contact_id = $2", channel_id, goes)


async def _merge_belongings(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Move orders, notes and labels."""
    keys = (channel_id, stays, goes)
    await conn.execute("UPDATE conversation_notes SET contact_id = $2 WHERE channel_id = $1 AND contact_id = $3", *keys)
    await conn.execute("UPDATE orders SET contact_id = $2 WHERE channel_id = $1 AND contact_id = $3", *keys)
    await conn.execute(
        """INSERT INTO label_uses (channel_id, label_id, target, contact_id, created_at)
           SELECT channel_id, label_id, target, $2, created_at FROM label_uses
           WHERE channel_id = $1 AND contact_id = $3 ON CONFLICT DO NOTHING""",
        *keys,
    )
    await conn.execute("DELETE FROM label_uses WHERE channel_id = $1 AND contact_id = $2", channel_id, goes)


async def _merge_names(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID, address: str) -> None:
    """Merge names and fields; the second one's address becomes an alias of the first."""
    keys = (channel_id, stays, goes)
    await conn.execute(
        """UPDATE contacts c SET name = COALESCE(c.name, o.name), username = COALESCE(c.username, o.username),
               given_name = COALESCE(c.given_name, o.given_name), custom = o.custom || c.custom,
               opted_out = GREATEST(c.opted_out, o.opted_out), created_at = LEAST(c.created_at, o.created_at),
               updated_at = GREATEST(c.updated_at, o.updated_at)
           FROM (SELECT name, username, given_name, custom, opted_out, created_at, updated_at FROM contacts
                 WHERE channel_id = $1 AND id = $3 LIMIT 1) o
           WHERE c.channel_id = $1 AND c.id = $2""",
        *keys,
    )
    await conn.execute("DELETE FROM contacts WHERE channel_id = $1 AND id = $2", channel_id, goes)
    await conn.execute("UPDATE contact_aliases SET contact_id = $2 WHERE channel_id = $1 AND contact_id = $3", *keys)
    await conn.execute(
        """INSERT INTO contact_aliases (channel_id, alias, contact_id) VALUES ($1, $2, $3)
           ON CONFLICT (channel_id, alias) DO UPDATE SET contact_id = excluded.contact_id""",
        channel_id,
        address,
        stays,
    )


async def save_preference_times(
    conn: "Connection[Any]", channel_id: UUID, contact_ids: Sequence[UUID], at: datetime
) -> set[UUID]:
    """Save that preferences changed at this time. Return the contacts; those with a newer change are left out."""
    if not contact_ids:
        return set()
    rows = await conn.fetch(
        """INSERT INTO contact_preferences (channel_id, contact_id, changed_at)
           SELECT $1, id, $3 FROM unnest($2::uuid[]) AS t (id)
           ON CONFLICT (channel_id, contact_id) DO UPDATE SET changed_at = excluded.changed_at
               WHERE contact_preferences.changed_at <= excluded.changed_at
           RETURNING contact_id""",
        channel_id,
        sorted(contact_ids),
        at,
    )
    return {row["contact_id"] for row in rows}


async def merge_preference_times(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Merge the times of two contacts; the newer one stays."""
    at: datetime | None = await conn.fetchval(
        "DELETE FROM contact_preferences WHERE channel_id = $1 AND contact_id = $2 RETURNING changed_at",
        channel_id,
        goes,
    )
    if at is not None:
        await save_preference_times(conn, channel_id, [stays], at)
