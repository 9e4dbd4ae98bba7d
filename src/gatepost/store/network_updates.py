"""Writing what the network reports of people, labels, templates and the number itself."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import times
from gatepost.model.network_update import ContactUpdate, LabelUpdate, TemplateUpdate
from gatepost.model.person import Person
from gatepost.store.channel_head import ChannelTransaction, Lease
from gatepost.store.channels import record_connection
from gatepost.store.contacts.identify import ContactResolver
from gatepost.store.labels import ChannelLabels, LabelRow
from gatepost.store.numbers import apply_number_report
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text
from gatepost.store.templates import apply_template_reports

STALE_TEMPLATES = "templates_stale_since"
STALE_NUMBER = "number_stale_since"


class NumberReport(msgspec.Struct, frozen=True):
    """Changes of the number: facts, limits, and its connection."""

    state: Mapping[str, Any] = {}
    limits: Mapping[str, Any] = {}
    connection: str | None = None
    reason: str | None = None


class NetworkReports(msgspec.Struct, frozen=True):
    persons: Sequence[ContactUpdate] = ()
    labels: Sequence[LabelUpdate] = ()
    templates: Sequence[TemplateUpdate] = ()
    numbers: Sequence[NumberReport] = ()
    stale_templates: bool = False  # some changed, and the network did not report how
    stale_number: bool = False  # the same for the number

    def __bool__(self) -> bool:
        return bool(self.persons or self.labels or self.templates or self.numbers or self.stale_templates)

    def people(self) -> list[tuple[datetime, Person]]:
        """Return the persons of the reports with their times; one with a new number or id is resolved later."""
        named = [(about.at, about.person) for about in self.persons if about.old_address is None]
        return named + [(about.at, about.person) for about in self.labels if about.person is not None]


async def write_reports(transaction: ChannelTransaction, reports: NetworkReports, people: ContactResolver) -> None:
    """Write all reports of a batch, and emit events of what changed."""
    conn, channel_id, now = transaction.conn, transaction.channel_id, transaction.now
    for about in reports.persons:
        await _write_person(about, people)
    people.emit_changes()
    labels = ChannelLabels(transaction)
    for label in reports.labels:
        await _write_label(labels, label, people)
    doubtful = await apply_template_reports(transaction, reports.templates) if reports.templates else []
    if doubtful or reports.stale_templates:
        await mark_stale(conn, channel_id, now, STALE_TEMPLATES)
    for number in reports.numbers:
        await _write_number(transaction, number)
    if reports.stale_number:
        await mark_stale(conn, channel_id, now, STALE_NUMBER)


async def _write_person(about: ContactUpdate, people: ContactResolver) -> None:
    if about.old_phone is not None:
        await people.renumber(about.old_phone, about.person, about.at)
    elif about.old_user_id is not None and about.person.user_id is not None:
        await people.change_user_id(about.old_user_id, about.person.user_id)
    if about.old_address is not None:
        await people.resolve([(about.at, about.person)])
    if about.opted_out is not None:
        await people.opt_out(about.person, about.at, out=about.opted_out)


async def _write_label(labels: ChannelLabels, about: LabelUpdate, people: ContactResolver) -> None:
    label = await labels.find_by_network_id(about.network_id)
    if about.action == "deleted":
        if label is not None:
            await labels.delete(label)
        return
    if label is None and about.action == "removed":
        return  # an unknown label is not assigned
    label = await _named(labels, label, about)
    if about.person is not None and about.action == "assigned":
        await labels.assign(label, people.of(about.person))
    elif about.person is not None and about.action == "removed":
        await labels.unassign(label, people.of(about.person))


async def _named(labels: ChannelLabels, label: LabelRow | None, about: LabelUpdate) -> LabelRow:
    """Return the label as the network has it now. One with the same name that people created is the same label."""
    if label is None and about.name:
        made_here = await labels.find_by_name(about.name)
        if made_here is not None and made_here.network_id is None:
            label = await labels.adopt(made_here, about.network_id)
    color = "" if about.color is None else str(about.color)
    if label is None:
        name = await labels.free_name(about.name or about.network_id, None)
        return await labels.add(name, color, about.network_id)
    name = await labels.free_name(about.name, label.id) if about.name else label.name
    return await labels.change(label, name, color or label.color)


async def _write_number(transaction: ChannelTransaction, about: NumberReport) -> None:
    if about.state or about.limits:
        await apply_number_report(transaction, about.state, about.limits)
    if about.connection is not None:
        await record_connection(transaction, about.connection, about.reason)


async def mark_stale(conn: "Database | Connection[Any]", channel_id: UUID, now: datetime, what: str) -> None:
    """Request that the channel's owner reads the templates, or the number, again."""
    mark = json_text({what: times.format_time(now)})
    await conn.execute("UPDATE channels SET state = state || $2::jsonb WHERE id = $1", channel_id, mark)
    await conn.execute("UPDATE channel_heads SET work_at = $2 WHERE channel_id = $1", channel_id, now)


async def clear_stale(db: Database, lease: Lease, mark: str, what: str = STALE_TEMPLATES) -> None:
    """Save that the templates, or the number, were read after this mark was set."""
    await db.execute(
        """UPDATE channels SET state = state - $3::text
           WHERE id = $1 AND state->>$3 = $4
             AND EXISTS (SELECT 1 FROM channel_heads WHERE channel_id = $1 AND epoch = $2)""",
        lease.channel_id,
        lease.epoch,
        what,
        mark,
    )


def with_time(values: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return facts about a number with the time of the report."""
    return {**values, "at": times.format_time(now)}
