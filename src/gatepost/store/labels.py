"""Labels of a channel and their assignments. Changes by people and by the network take the same path, with events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event.labels import LabelAssigned, LabelCreated, LabelDeleted, LabelRemoved, LabelUpdated
from gatepost.model.label import NAME_MAX, numbered
from gatepost.store.channel_head import ChannelTransaction
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.pool import Database, Queryable

CONVERSATION, CONTACT = "conversation", "contact"


class LabelRow(msgspec.Struct, frozen=True):
    """A label."""

    id: UUID
    network_id: str | None
    name: str
    color: str
    created_at: datetime
    updated_at: datetime

    @property
    def values(self) -> tuple[UUID, str, str]:
        """What events show of the label: id, name and color."""
        return self.id, self.name, self.color


_COLUMNS = ", ".join(LabelRow.__struct_fields__)


async def list_labels(db: Database, channel_id: UUID) -> list[LabelRow]:
    """Return all labels of a channel, by name."""
    rows = await db.fetch(f"SELECT {_COLUMNS} FROM labels WHERE channel_id = $1 ORDER BY lower(name)", channel_id)
    return [_label(row) for row in rows]


async def get_label(conn: Queryable, channel_id: UUID, label_id: UUID) -> LabelRow | None:
    """Return a label of a channel."""
    return await _find(conn, "id = $2", channel_id, label_id)


async def read_labels_by_contact(
    conn: Queryable, channel_id: UUID, contact_ids: Sequence[UUID], target: str
) -> dict[UUID, list[LabelRow]]:
    """Return the labels of each of these conversations or contacts, by name."""
    rows = await conn.fetch(
        f"""SELECT u.contact_ids, l.* FROM (
                SELECT on_them.label_id, array_agg(wanted.id) AS contact_ids FROM unnest($2::uuid[]) AS wanted (id)
                CROSS JOIN LATERAL (
                    SELECT label_id FROM label_uses
                    WHERE channel_id = $1 AND contact_id = wanted.id AND target = $3 OFFSET 0) on_them
                GROUP BY on_them.label_id) u
            CROSS JOIN LATERAL (
                SELECT {_COLUMNS} FROM labels WHERE channel_id = $1 AND id = u.label_id LIMIT 1) l
            ORDER BY lower(l.name)""",
        channel_id,
        list(contact_ids),
        target,
    )
    found: dict[UUID, list[LabelRow]] = {contact_id: [] for contact_id in contact_ids}
    for labelled, *fields in rows:
        label = LabelRow(*fields)
        for contact_id in labelled:
            found[contact_id].append(label)
    return found


class ChannelLabels:
    """The labels of one channel inside a transaction that holds its head."""

    def __init__(self, transaction: ChannelTransaction) -> None:
        self._conn = transaction.conn
        self._channel_id = transaction.channel_id
        self._event_buffer = transaction.event_buffer
        self._now = transaction.now

    # -- reading -------------------------------------------------------------------------------------------------------

    async def count(self) -> int:
        number: int = await self._conn.fetchval("SELECT count(*) FROM labels WHERE channel_id = $1", self._channel_id)
        return number

    async def find(self, label_id: UUID) -> LabelRow | None:
        return await _find(self._conn, "id = $2", self._channel_id, label_id)

    async def find_by_network_id(self, network_id: str) -> LabelRow | None:
        """Return the label with this id on the network."""
        return await _find(self._conn, "network_id = $2", self._channel_id, network_id)

    async def find_by_name(self, name: str) -> LabelRow | None:
        """Return the label with this name, in any case of letters."""
        return await _find(self._conn, "lower(name) = lower($2)", self._channel_id, name)

    async def free_name(self, name: str, label_id: UUID | None) -> str:
        """Return a name that no other label has: this one, or this one with a number."""
        number, chosen = 1, name[:NAME_MAX]
        while (found := await self.find_by_name(chosen)) is not None and found.id != label_id:
            number += 1
            chosen = numbered(name, number)
        return chosen

    async def find_person(self, contact_id: UUID) -> KnownContact | None:
        """Return the contact that a label is assigned to or removed from."""
        row = await self._conn.fetchrow(
            """SELECT id, phone, name, username, given_name FROM contacts
               WHERE channel_id = $1 AND id = $2""",
            self._channel_id,
            contact_id,
        )
        return KnownContact(**row) if row else None

    # -- changing ------------------------------------------------------------------------------------------------------

    async def add(self, name: str, color: str, network_id: str | None = None) -> LabelRow:
        label = LabelRow(ids.new_id(self._now), network_id, name, color, self._now, self._now)
        await self._conn.execute(
            f"INSERT INTO labels (channel_id, {_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            self._channel_id,
            *msgspec.structs.astuple(label),
        )
        self._event_buffer.add(LabelCreated.of(*label.values))
        return label

    async def change(self, label: LabelRow, name: str, color: str) -> LabelRow:
        """Change name and color, and emit an event if either is new."""
        if (name, color) == (label.name, label.color):
            return label
        changed = msgspec.structs.replace(label, name=name, color=color, updated_at=self._now)
        await self._conn.execute(
            "UPDATE labels SET name = $3, color = $4, updated_at = $5 WHERE channel_id = $1 AND id = $2",
            self._channel_id,
            label.id,
            name,
            color,
            self._now,
        )
        self._event_buffer.add(LabelUpdated.of(*changed.values))
        return changed

    async def adopt(self, label: LabelRow, network_id: str) -> LabelRow:
        """Link the label to the network's label of the same name."""
        await self._conn.execute(
            "UPDATE labels SET network_id = $3 WHERE channel_id = $1 AND id = $2",
            self._channel_id,
            label.id,
            network_id,
        )
        return msgspec.structs.replace(label, network_id=network_id)

    async def delete(self, label: LabelRow) -> None:
        """Delete a label and its assignments, with one event."""
        keys = (self._channel_id, label.id)
        await self._conn.execute("DELETE FROM label_uses WHERE channel_id = $1 AND label_id = $2", *keys)
        await self._conn.execute("DELETE FROM labels WHERE channel_id = $1 AND id = $2", *keys)
        self._event_buffer.add(LabelDeleted.of(*label.values))

    async def assign(self, label: LabelRow, contact: KnownContact, target: str = CONVERSATION) -> None:
        """Assign a label to a conversation or a contact, and emit an event if it is new."""
        changed = await self._conn.fetchval(
            """INSERT INTO label_uses (channel_id, label_id, target, contact_id, created_at)
               VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1""",
            self._channel_id,
            label.id,
            target,
            contact.id,
            self._now,
        )
        if changed:
            self._emit_use(LabelAssigned, label, contact, target)

    async def unassign(self, label: LabelRow, contact: KnownContact, target: str = CONVERSATION) -> None:
        """Remove a label, and emit an event if it was assigned."""
        changed = await self._conn.fetchval(
            """DELETE FROM label_uses WHERE channel_id = $1 AND label_id = $2 AND target = $3 AND contact_id = $4
               RETURNING 1""",
            self._channel_id,
            label.id,
            target,
            contact.id,
        )
        if changed:
            self._emit_use(LabelRemoved, label, contact, target)

    def _emit_use(
        self, event: type[LabelAssigned | LabelRemoved], label: LabelRow, contact: KnownContact, target: str
    ) -> None:
        person = (contact.id, contact.phone, contact.display_name)
        self._event_buffer.add(event.of(label.values, target, person), contact.id)


async def _find(conn: Queryable, condition: str, *keys: Any) -> LabelRow | None:
    row = await conn.fetchrow(f"SELECT {_COLUMNS} FROM labels WHERE channel_id = $1 AND {condition} LIMIT 1", *keys)
    return _label(row) if row else None


def _label(row: Any) -> LabelRow:
    return LabelRow(**{name: row[name] for name in LabelRow.__struct_fields__})
