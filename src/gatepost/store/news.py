"""What the network says of people, labels, templates and the number itself, as it is written."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model import ids, times
from gatepost.model.person import Person
from gatepost.store.connection import note_connection
from gatepost.store.heads import Lease, Scribe
from gatepost.store.people import People
from gatepost.store.pool import Connection, Database
from gatepost.store.templates import TemplateChange, apply_template_news

STALE_TEMPLATES = "templates_stale_since"


class AboutPerson(msgspec.Struct, frozen=True):
    """Somebody's names, or their new number."""

    person: Person
    at: datetime
    old_phone: str | None = None
    opted_out: bool | None = None  # of marketing; None: nothing was said


class AboutLabel(msgspec.Struct, frozen=True):
    """A label was changed or deleted, or put on a conversation or taken off."""

    network_id: str
    action: str
    name: str | None = None
    color: str | None = None
    person: Person | None = None


class AboutNumber(msgspec.Struct, frozen=True):
    """What changed about the number: facts to show, limits to keep, and its connection."""

    state: Mapping[str, Any] = {}
    limits: Mapping[str, Any] = {}
    connection: str | None = None
    reason: str | None = None


class News(msgspec.Struct, frozen=True):
    persons: Sequence[AboutPerson] = ()
    labels: Sequence[AboutLabel] = ()
    templates: Sequence[TemplateChange] = ()
    numbers: Sequence[AboutNumber] = ()
    stale_templates: bool = False  # the network said that some changed, but not how

    def __bool__(self) -> bool:
        return bool(self.persons or self.labels or self.templates or self.numbers or self.stale_templates)

    def people(self) -> list[Person]:
        """Whom the news is about; somebody with a new number is met under it later."""
        named = [about.person for about in self.persons if about.old_phone is None]
        return named + [about.person for about in self.labels if about.person is not None]


async def write_news(
    conn: "Connection[Any]", channel_id: UUID, news: News, people: People, scribe: Scribe, now: datetime
) -> None:
    """Writes all news of a batch, and tells of what changed."""
    for about in news.persons:
        await _write_person(about, people)
    people.tell_renewed(scribe)
    for label in news.labels:
        await _write_label(conn, channel_id, label, people, scribe, now)
    unknown = await apply_template_news(conn, channel_id, news.templates, now) if news.templates else []
    if unknown or news.stale_templates:
        await _mark_stale(conn, channel_id, now)
    for number in news.numbers:
        await _write_number(conn, channel_id, number, scribe)


async def _write_person(about: AboutPerson, people: People) -> None:
    if about.old_phone is not None:
        await people.renumber(about.old_phone, about.person, about.at)
        await people.meet([about.person])
    if about.opted_out is not None:
        await people.opt_out(about.person, out=about.opted_out)


async def _write_label(
    conn: "Connection[Any]", channel_id: UUID, about: AboutLabel, people: People, scribe: Scribe, now: datetime
) -> None:
    row = await conn.fetchrow(
        "SELECT id, name, color FROM labels WHERE channel_id = $1 AND network_id = $2", channel_id, about.network_id
    )
    if about.action == "deleted":
        if row is not None:
            await _delete_label(conn, channel_id, row["id"])
            scribe.tell(events.LABEL, "deleted", _label_data(row["id"], row["name"], row["color"]))
        return
    if row is None and about.action == "removed":
        return  # a label that nobody knows is on nobody
    label_id: UUID = row["id"] if row else ids.new_id(now)
    name = about.name or (row["name"] if row else about.network_id)
    color = about.color or (row["color"] if row else "")
    if row is None or (name, color) != (row["name"], row["color"]):
        await conn.execute(
            """INSERT INTO labels (channel_id, id, network_id, name, color, created_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $6)
               ON CONFLICT (channel_id, id) DO UPDATE SET name = $4, color = $5, updated_at = $6""",
            channel_id,
            label_id,
            about.network_id,
            name,
            color,
            now,
        )
        scribe.tell(events.LABEL, "updated" if row else "created", _label_data(label_id, name, color))
    if about.person is not None and about.action in ("assigned", "removed"):
        data = _label_data(label_id, name, color)
        await _use_label(conn, channel_id, label_id, data, about.action, people, about.person, scribe, now)


async def _delete_label(conn: "Connection[Any]", channel_id: UUID, label_id: UUID) -> None:
    await conn.execute("DELETE FROM label_uses WHERE channel_id = $1 AND label_id = $2", channel_id, label_id)
    await conn.execute("DELETE FROM labels WHERE channel_id = $1 AND id = $2", channel_id, label_id)


async def _use_label(
    conn: "Connection[Any]",
    channel_id: UUID,
    label_id: UUID,
    data: dict[str, Any],
    action: str,
    people: People,
    person: Person,
    scribe: Scribe,
    now: datetime,
) -> None:
    """Puts a label on a conversation or takes it off; what was so already is not told again."""
    contact = people.of(person)
    if action == "assigned":
        changed = await conn.fetchval(
            """INSERT INTO label_uses (channel_id, label_id, target, contact_id, created_at)
               VALUES ($1, $2, 'conversation', $3, $4) ON CONFLICT DO NOTHING RETURNING 1""",
            channel_id,
            label_id,
            contact.id,
            now,
        )
    else:
        changed = await conn.fetchval(
            """DELETE FROM label_uses WHERE channel_id = $1 AND label_id = $2 AND target = 'conversation'
                 AND contact_id = $3 RETURNING 1""",
            channel_id,
            label_id,
            contact.id,
        )
    if changed:
        shown = events.contact_ref(contact.id, contact.phone, contact.name)
        conversation = {"id": ids.show("cv", contact.id)}
        scribe.tell(events.LABEL, action, {**data, "contact": shown, "conversation": conversation})


def _label_data(label_id: UUID, name: str, color: str) -> dict[str, Any]:
    return {"id": ids.show("lb", label_id), "name": name, "color": color}


async def _write_number(conn: "Connection[Any]", channel_id: UUID, about: AboutNumber, scribe: Scribe) -> None:
    if about.state or about.limits:
        await conn.execute(
            "UPDATE channels SET state = state || $2::jsonb, limits = limits || $3::jsonb WHERE id = $1",
            channel_id,
            msgspec.json.encode(about.state).decode(),
            msgspec.json.encode(about.limits).decode(),
        )
    if about.connection is not None:
        await note_connection(conn, channel_id, about.connection, about.reason, scribe)


async def _mark_stale(conn: "Connection[Any]", channel_id: UUID, now: datetime) -> None:
    """Asks the channel's owner to read the templates anew."""
    mark = msgspec.json.encode({STALE_TEMPLATES: times.show(now)}).decode()
    await conn.execute("UPDATE channels SET state = state || $2::jsonb WHERE id = $1", channel_id, mark)
    await conn.execute("UPDATE channel_heads SET work_at = $2 WHERE channel_id = $1", channel_id, now)


async def clear_stale(db: Database, lease: Lease, mark: str) -> None:
    """The templates were read anew, after this mark was set."""
    async with db.connection() as conn:
        await conn.execute(
            """UPDATE channels SET state = state - $3::text
               WHERE id = $1 AND state->>$3 = $4
                 AND EXISTS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2)""",
            lease.channel_id,
            lease.epoch,
            STALE_TEMPLATES,
            mark,
        )


def stamped(values: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Facts about a number, with the time that they were told."""
    return {**values, "at": times.show(now)}
