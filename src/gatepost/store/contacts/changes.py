"""Changes of contacts by people. Each is one commit under the channel's head: rows, events, deliveries."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from gatepost.compute import in_parts
from gatepost.model import ids, times
from gatepost.model.contact import contact_exists, merge_custom
from gatepost.model.errors import GatepostError
from gatepost.model.event import ChannelRef
from gatepost.model.event.chats import ChatCreated
from gatepost.model.event.contacts import ContactCreated, ContactDeleted, ContactUpdated, contact_fields
from gatepost.model.number_forms import forms_of
from gatepost.model.person import is_phone
from gatepost.store.channel_head import EventBuffer, channel_transaction, renew_reads
from gatepost.store.contacts.large_merge import merge_in_parts
from gatepost.store.contacts.read import ContactRow, find_people, get_contact
from gatepost.store.contacts.rows import add_number_forms, merge_contact_rows, save_preference_times
from gatepost.store.drafts import refuse_drafts_of
from gatepost.store.idempotency import IdempotentRequest
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text


class ContactFields(msgspec.Struct, frozen=True):
    """The fields to set. Those that are not given stay."""

    name: str | msgspec.UnsetType | None = msgspec.UNSET
    custom: Mapping[str, str | None] = {}
    opted_out: bool | None = None


class ImportLine(msgspec.Struct, frozen=True):
    """One line of an import."""

    phone: str
    fields: ContactFields
    as_of: datetime | None = None  # when the values were read, if the table says it

    def fields_for(self, row: ContactRow) -> ContactFields:
        """Return the fields to set. A person who opted out after the values were read stays opted out."""
        newer = self.as_of is not None and row.opted_out is not None and row.opted_out >= self.as_of + _MILLISECOND
        return msgspec.structs.replace(self.fields, opted_out=None) if newer else self.fields


_MILLISECOND = timedelta(milliseconds=1)  # times in tables have whole ones


class ImportResult(msgspec.Struct, frozen=True):
    """The result of a line."""

    result: str  # created, updated, unchanged or refused
    contact_id: UUID | None = None
    refusal: GatepostError | None = None


async def add_contact(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    line: ImportLine,
    now: datetime,
    once: IdempotentRequest[ContactRow],
) -> ContactRow:
    """Insert a contact whose number is new."""
    async with channel_transaction(db, channel, channel_id, now) as change:
        conn, event_buffer = change.conn, change.event_buffer
        await once.check(conn, now)
        known = await find_people(conn, channel_id, [line.phone])
        if known:
            raise contact_exists(ids.format_id("ct", known[line.phone].id))
        row = new_row(line, ids.new_id(now), now)
        await _insert(conn, channel_id, [row], now)
        _emit_created(event_buffer, row)
        await once.keep(conn, row, now)
    return row


async def change_contact(
    db: Database, channel: ChannelRef, channel_id: UUID, contact_id: UUID, fields: ContactFields, now: datetime
) -> ContactRow | None:
    """Change a contact, and emit an event if anything is new. Return None if there is none."""
    async with channel_transaction(db, channel, channel_id, now) as change:
        conn, event_buffer = change.conn, change.event_buffer
        before = await get_contact(conn, channel_id, contact_id)
        if before is None:
            return None
        after = with_changes(before, fields, now)
        changed = changed_fields(before, after)
        if not changed:
            return before
        await _update(conn, channel_id, [(before, after)], now)
        _emit_updated(event_buffer, after, changed)
    return after


async def delete_contact(db: Database, channel: ChannelRef, channel_id: UUID, contact_id: UUID, now: datetime) -> bool:
    """Delete a contact with its aliases, labels and conversation, not its messages and orders. False: there is none.

    Drafts to it are refused; what assistants have read of it still counts. Processes that have read contacts must read
    them again, as after a merge.
    """
    async with channel_transaction(db, channel, channel_id, now) as change:
        conn, event_buffer = change.conn, change.event_buffer
        before = await get_contact(conn, channel_id, contact_id)
        if before is None:
            return False
        await refuse_drafts_of(conn, channel_id, contact_id, now)
        for table, column in _OF_A_CONTACT:
            await conn.execute(f"DELETE FROM {table} WHERE channel_id = $1 AND {column} = $2", channel_id, contact_id)
        await renew_reads(conn, channel_id)
        event_buffer.add(ContactDeleted(*contact_fields(before.id, before.phone, before.name)), before.id)
    return True


_OF_A_CONTACT = (
    ("conversations", "contact_id"),
    ("label_uses", "contact_id"),
    ("contact_preferences", "contact_id"),
    ("conversation_notes", "contact_id"),
    ("mcp_handovers", "contact_id"),
    ("contact_aliases", "contact_id"),
    ("contacts", "id"),
)


async def merge_contacts(
    db: Database, channel: ChannelRef, channel_id: UUID, stays_id: UUID, goes_id: UUID, now: datetime
) -> ContactRow | None:
    """Merge two contacts and emit an event. Return None if one of them does not exist."""
    return await merge_in_parts(db, channel_id, partial(_merge_both, db, channel, channel_id, stays_id, goes_id, now))


async def _merge_both(
    db: Database, channel: ChannelRef, channel_id: UUID, stays_id: UUID, goes_id: UUID, now: datetime, *, whole: bool
) -> ContactRow | None:
    async with channel_transaction(db, channel, channel_id, now) as change:
        conn, event_buffer = change.conn, change.event_buffer
        stays = await get_contact(conn, channel_id, stays_id)
        goes = await get_contact(conn, channel_id, goes_id)
        if stays is None or goes is None:
            return None
        await merge_contact_rows(conn, channel_id, stays_id, goes_id, goes.phone, whole=whole)
        if is_phone(goes.phone) and not is_phone(stays.phone):
            await _take_number(conn, channel_id, stays, goes.phone)
        after = await get_contact(conn, channel_id, stays_id)
        assert after is not None
        _emit_updated(event_buffer, after, ["history", *changed_fields(stays, after)], joined=(goes_id,))
    return after


async def _take_number(conn: "Connection[Any]", channel_id: UUID, contact: ContactRow, phone: str) -> None:
    """Give a contact that has only another id the number of the one it was merged with."""
    await conn.execute("DELETE FROM contact_aliases WHERE channel_id = $1 AND alias = $2", channel_id, phone)
    await conn.execute(
        "UPDATE contacts SET phone = $3 WHERE channel_id = $1 AND id = $2", channel_id, contact.id, phone
    )
    await conn.execute(
        "INSERT INTO contact_aliases (channel_id, alias, contact_id) VALUES ($1, $2, $3)",
        channel_id,
        contact.phone,
        contact.id,
    )


async def put_contacts(
    db: Database, channel: ChannelRef, channel_id: UUID, lines: Sequence[ImportLine], now: datetime
) -> list[ImportResult]:
    """Insert or change the contacts of many lines in one commit; a number that occurs twice is changed twice."""
    async with channel_transaction(db, channel, channel_id, now) as change:
        conn, event_buffer = change.conn, change.event_buffer
        people = _People(await find_people(conn, channel_id, [line.phone for line in lines]))
        new_ids = ids.next_ids(ids.ZERO, now, len(lines))  # in the order of the table
        results = await in_parts(lambda line, new_id: people.put(line, new_id, now), lines, new_ids)
        made, changed = people.made(), people.changed()
        await _insert(conn, channel_id, made, now)
        await _update(conn, channel_id, changed, now)
        for row in made:
            _emit_created(event_buffer, row)
        for before, after in changed:
            _emit_updated(event_buffer, after, changed_fields(before, after))
    return results


class _People:
    """The contacts of an import, before and after its lines. Nothing is written yet."""

    def __init__(self, known: Mapping[str, ContactRow]) -> None:
        self._ids = {address: row.id for address, row in known.items()}
        self._before = {row.id: row for row in known.values()}
        self._after: dict[UUID, ContactRow] = {}

    def put(self, line: ImportLine, new_id: UUID, now: datetime) -> ImportResult:
        """Apply one line. A contact that it creates gets the new id."""
        id_ = self._ids.get(line.phone)
        row = None if id_ is None else self._after.get(id_) or self._before[id_]
        try:
            after = new_row(line, new_id, now) if row is None else with_changes(row, line.fields_for(row), now)
        except GatepostError as error:
            return ImportResult("refused", refusal=error)
        if row is not None and not changed_fields(row, after):
            return ImportResult("unchanged", row.id)
        if row is None:
            self._ids |= dict.fromkeys(forms_of(line.phone), after.id)
        self._after[after.id] = after
        return ImportResult("created" if row is None else "updated", after.id)

    def made(self) -> list[ContactRow]:
        return [row for id_, row in self._after.items() if id_ not in self._before]

    def changed(self) -> list[tuple[ContactRow, ContactRow]]:
        """Return the changed contacts as they were, and as they are. A line may have undone the change of another."""
        known = [(self._before[id_], row) for id_, row in self._after.items() if id_ in self._before]
        return [(before, after) for before, after in known if changed_fields(before, after)]


# -- what changes -----------------------------------------------------------------------------------------------------


def new_row(line: ImportLine, id_: UUID, now: datetime) -> ContactRow:
    """Return a new contact."""
    bare = ContactRow(id_, line.phone, None, None, None, None, {}, now, now)
    return with_changes(bare, line.fields, now)


def with_changes(row: ContactRow, fields: ContactFields, now: datetime) -> ContactRow:
    """Return the contact with the changes. An unchanged opt-out keeps its time."""
    given = row.given_name if fields.name is msgspec.UNSET or fields.name == row.name else fields.name
    out = row.opted_out
    if fields.opted_out is not None and fields.opted_out != (out is not None):
        out = now if fields.opted_out else None
    custom = merge_custom(row.custom, fields.custom) if fields.custom else row.custom
    return msgspec.structs.replace(row, given_name=given, opted_out=out, custom=custom, updated_at=now)


def changed_fields(before: ContactRow, after: ContactRow) -> list[str]:
    """Return which fields differ, as events name them."""
    pairs = {
        "name": (before.name, after.name),
        "phone": (before.phone, after.phone),
        "username": (before.username, after.username),
        "opted_out": (before.opted_out is None, after.opted_out is None),
        "custom": (before.custom, after.custom),
    }
    return [field for field, (old, new) in pairs.items() if old != new]


# -- rows and events --------------------------------------------------------------------------------------------------


async def _insert(conn: "Connection[Any]", channel_id: UUID, rows: Sequence[ContactRow], now: datetime) -> None:
    """Insert contacts, each with its conversation."""
    if not rows:
        return
    await conn.execute(
        """WITH people AS (
               INSERT INTO contacts (channel_id, id, phone, given_name, opted_out, custom, created_at, updated_at)
               SELECT $1, n.*, $7, $7 FROM unnest($2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::jsonb[])
                   AS n (id, phone, given_name, opted_out, custom)
               RETURNING id
           )
           INSERT INTO conversations (channel_id, contact_id, created_at) SELECT $1, id, $7 FROM people""",
        channel_id,
        [row.id for row in rows],
        [row.phone for row in rows],
        [row.given_name for row in rows],
        [row.opted_out for row in rows],
        [json_text(row.custom) for row in rows],
        now,
    )
    await add_number_forms(conn, channel_id, {row.phone: row.id for row in rows})
    await save_preference_times(conn, channel_id, [row.id for row in rows if row.opted_out], now)


async def _update(
    conn: "Connection[Any]", channel_id: UUID, changed: Sequence[tuple[ContactRow, ContactRow]], now: datetime
) -> None:
    """Save contacts as they are after a change, of which the ones before are given too."""
    rows = [after for _, after in changed]
    if rows:
        await conn.executemany(
            """UPDATE contacts SET given_name = $3, opted_out = $4, custom = $5, updated_at = $6
               WHERE channel_id = $1 AND id = $2""",
            [(channel_id, r.id, r.given_name, r.opted_out, json_text(r.custom), r.updated_at) for r in rows],
        )
    opted = [after.id for before, after in changed if after.opted_out != before.opted_out]
    await save_preference_times(conn, channel_id, opted, now)


def _emit_created(event_buffer: EventBuffer, row: ContactRow) -> None:
    """Emit the events of new contacts, with their fields."""
    person = (row.id, row.phone, row.name)
    data = ContactCreated(
        *contact_fields(*person),
        times.format_time(row.created_at),
        opted_out=row.opted_out is not None,
        custom=row.custom,
    )
    event_buffer.add(data, row.id)
    event_buffer.add(ChatCreated.of(*person, row.created_at), row.id)


def _emit_updated(
    event_buffer: EventBuffer, row: ContactRow, changed: Sequence[str], *, joined: tuple[UUID, ...] = ()
) -> None:
    data = ContactUpdated(
        *contact_fields(row.id, row.phone, row.name),
        username=row.username,
        opted_out=row.opted_out is not None,
        custom=row.custom,
        changed=changed,
        joined=[ids.format_id("ct", other) for other in joined],
    )
    event_buffer.add(data, row.id)
