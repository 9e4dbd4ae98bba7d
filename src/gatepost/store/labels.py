"""Labels of a channel, and whom they are on. People and the network change them in the same way, each change told."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model import ids
from gatepost.model.label import NAME_MOST, numbered
from gatepost.store.contacts import Contact
from gatepost.store.heads import Scribe
from gatepost.store.pool import Connection, Database
from gatepost.store.telling import Change

CONVERSATION, CONTACT = "conversation", "contact"


class Label(msgspec.Struct, frozen=True):
    """A label as it stands."""

    id: UUID
    network_id: str | None
    name: str
    color: str
    created_at: datetime
    updated_at: datetime

    def data(self) -> dict[str, Any]:
        """How events and views name it."""
        return events.label_data(self.id, self.name, self.color)


_COLUMNS = ", ".join(Label.__struct_fields__)


async def list_labels(db: Database, channel_id: UUID) -> list[Label]:
    """All labels of a channel, by name."""
    async with db.connection() as conn:
        rows = await conn.fetch(f"SELECT {_COLUMNS} FROM labels WHERE channel_id = $1 ORDER BY lower(name)", channel_id)
    return [_label(row) for row in rows]


async def get_label(db: Database, channel_id: UUID, label_id: UUID) -> Label | None:
    """One label of a channel."""
    async with db.connection() as conn:
        return await _find(conn, "id = $2", channel_id, label_id)


async def labels_of(
    conn: "Connection[Any]", channel_id: UUID, contact_ids: Sequence[UUID], target: str
) -> dict[UUID, list[Label]]:
    """The labels on each of these conversations or contacts, by name."""
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
    found: dict[UUID, list[Label]] = {contact_id: [] for contact_id in contact_ids}
    for labelled, *fields in rows:
        label = Label(*fields)
        for contact_id in labelled:
            found[contact_id].append(label)
    return found


class Labels:
    """The labels of one channel inside of a commit. Its head must be held."""

    def __init__(self, conn: "Connection[Any]", channel_id: UUID, scribe: Scribe, now: datetime) -> None:
        self._conn = conn
        self._channel_id = channel_id
        self._scribe = scribe
        self._now = now

    @classmethod
    def of(cls, change: Change) -> "Labels":
        return cls(change.conn, change.channel_id, change.scribe, change.now)

    # -- looking -------------------------------------------------------------------------------------------------------

    async def count(self) -> int:
        number: int = await self._conn.fetchval("SELECT count(*) FROM labels WHERE channel_id = $1", self._channel_id)
        return number

    async def find(self, label_id: UUID) -> Label | None:
        return await _find(self._conn, "id = $2", self._channel_id, label_id)

    async def find_known(self, network_id: str) -> Label | None:
        """The label that the network calls so."""
        return await _find(self._conn, "network_id = $2", self._channel_id, network_id)

    async def find_named(self, name: str) -> Label | None:
        """The label of a name, however its letters are written."""
        return await _find(self._conn, "lower(name) = lower($2)", self._channel_id, name)

    async def free_name(self, name: str, label_id: UUID | None) -> str:
        """A name that no other label has, as near to this one as can be."""
        number, chosen = 1, name[:NAME_MOST]
        while (found := await self.find_named(chosen)) is not None and found.id != label_id:
            number += 1
            chosen = numbered(name, number)
        return chosen

    async def find_person(self, contact_id: UUID) -> Contact | None:
        """Whom a label is put on or taken off."""
        row = await self._conn.fetchrow(
            """SELECT id, phone, name, username, given_name FROM contacts
               WHERE channel_id = $1 AND id = $2""",
            self._channel_id,
            contact_id,
        )
        return Contact(**dict(row.items())) if row else None

    # -- changing ------------------------------------------------------------------------------------------------------

    async def add(self, name: str, color: str, network_id: str | None = None) -> Label:
        label = Label(ids.new_id(self._now), network_id, name, color, self._now, self._now)
        await self._conn.execute(
            f"INSERT INTO labels (channel_id, {_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            self._channel_id,
            *msgspec.structs.astuple(label),
        )
        self._scribe.tell(events.LABEL, "created", label.data())
        return label

    async def change(self, label: Label, name: str, color: str) -> Label:
        """Renames or recolours; what stays as it was is not told."""
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
        self._scribe.tell(events.LABEL, "updated", changed.data())
        return changed

    async def adopt(self, label: Label, network_id: str) -> Label:
        """The network has a label of this name too: from now on they are one."""
        await self._conn.execute(
            "UPDATE labels SET network_id = $3 WHERE channel_id = $1 AND id = $2",
            self._channel_id,
            label.id,
            network_id,
        )
        return msgspec.structs.replace(label, network_id=network_id)

    async def delete(self, label: Label) -> None:
        """Takes a label off everything, and away; one event tells of all that."""
        keys = (self._channel_id, label.id)
        await self._conn.execute("DELETE FROM label_uses WHERE channel_id = $1 AND label_id = $2", *keys)
        await self._conn.execute("DELETE FROM labels WHERE channel_id = $1 AND id = $2", *keys)
        self._scribe.tell(events.LABEL, "deleted", label.data())

    async def put_on(self, label: Label, contact: Contact, target: str = CONVERSATION) -> None:
        """Puts a label on a conversation or a contact; what was so already is not told again."""
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
            self._tell_use("assigned", label, contact, target)

    async def take_off(self, label: Label, contact: Contact, target: str = CONVERSATION) -> None:
        """Takes a label off; where it was not, nothing is told."""
        changed = await self._conn.fetchval(
            """DELETE FROM label_uses WHERE channel_id = $1 AND label_id = $2 AND target = $3 AND contact_id = $4
               RETURNING 1""",
            self._channel_id,
            label.id,
            target,
            contact.id,
        )
        if changed:
            self._tell_use("removed", label, contact, target)

    def _tell_use(self, action: str, label: Label, contact: Contact, target: str) -> None:
        data = events.label_use_data(label.data(), target, contact.id, contact.phone, contact.called)
        self._scribe.tell(events.LABEL, action, data, contact.id)


async def _find(conn: "Connection[Any]", condition: str, *keys: Any) -> Label | None:
    row = await conn.fetchrow(f"SELECT {_COLUMNS} FROM labels WHERE channel_id = $1 AND {condition} LIMIT 1", *keys)
    return _label(row) if row else None


def _label(row: Any) -> Label:
    return Label(**{name: row[name] for name in Label.__struct_fields__})
