"""Writing incoming messages.

a message   ─► its row, `created`
with a file ─► and a row of the file, to be fetched
an order    ─► and an order
a reaction, an edit, a revoke ─► its row, and a change of the earlier message, `updated`
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event.messages import MessageCreated
from gatepost.model.message import State
from gatepost.model.person import Person
from gatepost.model.sender import PHONE
from gatepost.store.channel_head import ChannelTransaction
from gatepost.store.contacts.identify import ContactResolver
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.messages.amend import (
    CHANGES,
    Amendment,
    AmendTarget,
    apply_amendment,
    find_targets,
    json_object,
    may_amend,
)
from gatepost.store.messages.parked_changes import LONGEST_ID, apply_parked_changes, park_changes
from gatepost.store.orders import write_order
from gatepost.store.statement import json_text

_ABOUT = {
    "reaction": "reaction",
    "poll_vote": "poll",
    "edit": "edit",
}  # types that refer to an earlier message, and the field that does


class IncomingFileRow(msgspec.Struct, frozen=True):
    """A file that the network holds for us, and where to fetch it (JSON)."""

    mime_type: str
    source: str
    size: int | None = None
    sha256: str | None = None
    filename: str | None = None


class IncomingMessage(msgspec.Struct, frozen=True):
    """A message of a person. The network's id shows whether it was reported before."""

    id: UUID
    network_id: str
    person: Person
    type: str
    content: str
    at: datetime
    reply_to: str | None = None
    target: str | None = None
    context: Mapping[str, Any] | None = None
    file: IncomingFileRow | None = None
    from_me: bool = False
    moved: bool = False  # its time was out of range and replaced in its id, which may differ each time


class _Row(msgspec.Struct, frozen=True):
    message: IncomingMessage
    contact: KnownContact
    content: str
    reply_to: UUID | None
    target_id: UUID | None
    media_id: UUID | None
    event_id: UUID


class IncomingWriter:
    """Writes the new messages of one batch."""

    def __init__(self, transaction: ChannelTransaction, people: ContactResolver, floor: UUID) -> None:
        self._transaction = transaction
        self._conn = transaction.conn
        self._channel_id = transaction.channel_id
        self._now = transaction.now
        self._people = people
        self._floor = floor

    async def write(self, fresh: Sequence[IncomingMessage]) -> None:
        """Write plain messages first: others may refer to a message of the same batch, or arrived before theirs."""
        plain = [m for m in fresh if m.type not in CHANGES]
        await self._write(plain)
        if plain:
            await apply_parked_changes(self._transaction, {m.network_id: m.id for m in plain})
        rows = await self._write([m for m in fresh if m.type in CHANGES])
        await park_changes(self._transaction, [found for row in rows if (found := _early(row))])

    async def _write(self, messages: Sequence[IncomingMessage]) -> list[_Row]:
        if not messages:
            return []
        named = {name for m in messages for name in (m.reply_to, m.target) if name}
        known = await find_targets(self._conn, self._channel_id, named, self._floor)
        places = {m.network_id: m.id for m in messages} | {name: found.id for name, found in known.items()}
        rows = [await self._row(m, known, places.get(m.reply_to or "")) for m in messages]
        await self._insert(rows)
        return rows

    async def _row(self, message: IncomingMessage, known: dict[str, AmendTarget], reply_to: UUID | None) -> _Row:
        contact, target = self._people.of(message.person), known.get(message.target or "")
        amendment = _amendment(message, contact, target)
        media_id = await self._expect_file(message, message.file) if message.file and not amendment else None
        content = complete_content(message, target, media_id, amends=amendment is not None)
        if amendment and target:
            event_id, known[message.target or ""] = await apply_amendment(self._transaction, amendment, target)
        else:
            event_id = self._created(message, content, contact, reply_to)
        if message.type == "order":
            await write_order(self._transaction, message.id, content, contact, message.at)
        return _Row(message, contact, content, reply_to, target.id if target else None, media_id, event_id)

    def _created(self, message: IncomingMessage, content: str, contact: KnownContact, reply_to: UUID | None) -> UUID:
        data = MessageCreated.of(
            id_=message.id,
            phone=contact.phone,
            contact_id=contact.id,
            name=contact.display_name,
            incoming=not message.from_me,
            type_=message.type,
            content=content,
            timestamp=message.at,
            reply_to=reply_to,
            client_ref=None,
            sent_by=PHONE if message.from_me else None,
            status=State.SENT,
            context=message.context,
        )
        return self._transaction.event_buffer.add(data, contact.id, message.id)

    async def _expect_file(self, message: IncomingMessage, file: IncomingFileRow) -> UUID:
        """Insert a row for a file to be fetched, and return its id."""
        media_id = ids.new_id(self._now)
        await self._conn.execute(
            """INSERT INTO media (channel_id, id, state, mime_type, size, sha256, filename, source, message_id,
                                  next_at, created_at)
               VALUES ($1, $2, 'waiting', $3, $4, $5, $6, $7, $8, $9, $9)""",
            self._channel_id,
            media_id,
            file.mime_type,
            file.size,
            file.sha256,
            file.filename,
            file.source,
            message.id,
            self._now,
        )
        return media_id

    async def _insert(self, rows: Sequence[_Row]) -> None:
        await self._conn.execute(
            """INSERT INTO messages (channel_id, bulk, created_at, id, contact_id, phone, type, content, network_id,
                                     reply_to, target_id, media_id, sent_at, context, incoming, state, sent_by,
                                     event_ids)
               SELECT $1, false, $2, id, contact_id, phone, type, content, network_id,
                      reply_to, target_id, media_id, sent_at, context, incoming, state,
                      CASE WHEN NOT incoming THEN $17 END, ARRAY[event_id]
               FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::uuid[],
                           $10::uuid[], $11::uuid[], $12::timestamptz[], $13::text[], $14::boolean[],
                           $15::smallint[], $16::uuid[])
                 AS m (id, contact_id, phone, type, content, network_id, reply_to, target_id, media_id, sent_at,
                       context, incoming, state, event_id)""",
            self._channel_id,
            self._now,
            [row.message.id for row in rows],
            [row.contact.id for row in rows],
            [row.contact.phone for row in rows],
            [row.message.type for row in rows],
            [row.content for row in rows],
            [row.message.network_id for row in rows],
            [row.reply_to for row in rows],
            [row.target_id for row in rows],
            [row.media_id for row in rows],
            [row.message.at for row in rows],
            [_json(row.message.context) for row in rows],
            [not row.message.from_me for row in rows],
            [State.SENT if row.message.from_me else State.RECEIVED for row in rows],
            [row.event_id for row in rows],
            PHONE,
        )


def _early(row: _Row) -> tuple[str, UUID] | None:
    """Return a change of an unknown message, with the network's id of that message."""
    target = row.message.target if row.target_id is None else None
    return (target, row.message.id) if target and len(target) <= LONGEST_ID else None


def _amendment(message: IncomingMessage, contact: KnownContact, target: AmendTarget | None) -> Amendment | None:
    """Return how a message changes an earlier one; None if it does not."""
    if target is None or message.type not in CHANGES:
        return None
    content, author = msgspec.json.decode(message.content), json_object(message.context, "author")
    amendment = Amendment(message.type, content, contact, message.from_me, message.at, author)
    return amendment if may_amend(amendment, target) else None


def complete_content(
    message: IncomingMessage, target: AmendTarget | None, media_id: UUID | None, *, amends: bool
) -> str:
    """Return the content with our ids of its file and of the message it refers to, and the text before an edit."""
    if media_id is None and message.type not in _ABOUT:
        return message.content
    content: dict[str, Any] = msgspec.json.decode(message.content)
    if media_id is not None:
        holder = json_object(json_object(content, "edit"), "content") if message.type == "edit" else content
        holder["media"] = {"id": ids.format_id("med", media_id), **json_object(holder, "media")}
    if message.type in ("reaction", "poll_vote"):
        about = json_object(content, _ABOUT[message.type])
        about["message_id"] = ids.message_id(target.id) if target else None
    if amends and target and message.type == "edit":
        content["previous"] = msgspec.json.decode(target.content)
    return json_text(content)


def _json(value: Mapping[str, Any] | None) -> str | None:
    return json_text(value) if value else None
