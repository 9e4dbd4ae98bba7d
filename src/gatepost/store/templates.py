"""Templates: each channel's copy of what its business account has on the network, with the network's decisions.

create, edit, delete ─┐
sync (the whole set) ─┼─► templates ─► accepting a send
reports by callback ──┘

Writes of several templates lock the channel's head, so that they cannot deadlock. The network's answer may be older
than its reports: what changed after the request stays. A decision of the network is emitted by the write that saves it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.event.templates import STATUS_EVENTS
from gatepost.model.network_update import TemplateUpdate
from gatepost.model.template.values import Template
from gatepost.store.channel_head import ChannelTransaction, channel_transaction, lock_head
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text, statement, statement_rows

Key = tuple[str, str]  # name and language


class StoredTemplate(msgspec.Struct, frozen=True):
    """A template. `components` is JSON, as the network has them."""

    network_id: str | None
    name: str
    language: str
    category: str
    status: str
    reason: str | None
    quality: str
    parameter_format: str
    components: str
    id: UUID
    created_at: datetime
    updated_at: datetime

    def as_template(self) -> Template:
        """Return the template for the rules of sending."""
        return Template(
            name=self.name,
            language=self.language,
            category=self.category,
            components=msgspec.json.decode(self.components),
            parameter_format=self.parameter_format,
            status=self.status,
            network_id=self.network_id,
            quality=self.quality,
            reason=self.reason,
        )


class TemplateDraft(msgspec.Struct, frozen=True):
    """A template to be submitted."""

    template: StoredTemplate
    again: bool  # an abandoned request may have submitted it


class TemplateFilter(msgspec.Struct, frozen=True):
    """The filters of a list; None matches all."""

    status: str | None = None
    category: str | None = None
    language: str | None = None
    name: str | None = None  # a part of it


class Synced(msgspec.Struct, frozen=True):
    """How many templates a sync changed."""

    added: int
    changed: int
    deleted: int
    unchanged: int


_HANDING_IN = timedelta(minutes=5)  # longer than any call to the network takes
_WARNING = "FLAGGED"  # a report of what may come: nothing has changed yet
_GONE = "DELETED"
_LEAVING = ("PENDING_DELETION", _GONE)  # a template that is not here need not be read again for these
_FIELDS = StoredTemplate.__struct_fields__
_FACTS = _FIELDS[:9]  # columns that the network reports
_STANDING = ("category", "status", "reason", "quality")  # columns that reports may change
_COLUMNS = ", ".join(_FIELDS)
_VALUES = ", ".join(f":{name}" for name in _FACTS)
_INSERT = f"INSERT INTO templates (channel_id, {_COLUMNS}) VALUES (:channel_id, {_VALUES}, :id, :now, :now)"
_UPDATE = f"""UPDATE templates SET ({", ".join(_FACTS)}, updated_at) = ROW({_VALUES}, :now)
              WHERE channel_id = :channel_id AND id = :id"""


# -- reading ----------------------------------------------------------------------------------------------------------


async def get_template(db: Database, channel_id: UUID, template_id: UUID) -> StoredTemplate | None:
    """Return a template of a channel."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM templates WHERE channel_id = $1 AND id = $2", channel_id, template_id
    )
    return _template(row) if row else None


async def list_templates(
    db: Database, channel_id: UUID, filters: TemplateFilter, before: UUID | None, limit: int
) -> list[StoredTemplate]:
    """Return templates of a channel, the newest first, older than the cursor."""
    rows = await db.fetch(
        f"""SELECT {_COLUMNS} FROM templates
            WHERE channel_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ($3::text IS NULL OR status = $3)
              AND ($4::text IS NULL OR category = $4) AND ($5::text IS NULL OR language = $5)
              AND ($6::text IS NULL OR strpos(name, $6) > 0)
            ORDER BY id DESC LIMIT $7""",
        channel_id,
        before,
        filters.status,
        filters.category,
        filters.language,
        filters.name,
        limit,
    )
    return [_template(row) for row in rows]


async def find_templates(conn: "Connection[Any]", channel_id: UUID, keys: Sequence[Key]) -> dict[Key, StoredTemplate]:
    """Return the existing templates with these names and languages, each looked up separately."""
    wanted = sorted(set(keys))
    rows = await conn.fetch(
        f"""SELECT t.* FROM unnest($2::text[], $3::text[]) AS wanted (name, language) CROSS JOIN LATERAL (
                SELECT {_COLUMNS} FROM templates
                WHERE channel_id = $1 AND name = wanted.name AND language = wanted.language LIMIT 1) t""",
        channel_id,
        [name for name, _ in wanted],
        [language for _, language in wanted],
    )
    return {(row["name"], row["language"]): _template(row) for row in rows}


# -- one template -----------------------------------------------------------------------------------------------------


async def reserve_template(
    db: Database, channel_id: UUID, new: Template, now: datetime, once: IdempotentRequest[StoredTemplate] = NEVER
) -> TemplateDraft | None:
    """Insert a template before the network is asked, so that its reports find it. Return None if the name is in use.

    A request that takes over an abandoned one finds the row of that.
    """
    async with db.transaction() as conn:
        await lock_head(conn, channel_id)
        again = await once.check(conn, now)
        row = await conn.fetchrow(
            *statement(
                f"{_INSERT} ON CONFLICT (channel_id, name, language) DO NOTHING RETURNING {_COLUMNS}",
                channel_id=channel_id,
                id=ids.new_id(now),
                now=now,
                **_facts(new),
            )
        )
        mine = _template(row) if row else None
        if mine is None and again:
            mine = (await find_templates(conn, channel_id, [_key(new)]))[_key(new)]
        if mine is not None:
            await once.begin(conn, now)
    return TemplateDraft(mine, again) if mine else None


async def confirm_template(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    reserved: StoredTemplate,
    made: Template,
    now: datetime,
    once: IdempotentRequest[StoredTemplate] = NEVER,
) -> StoredTemplate:
    """Save the network's answer to a new template. What its reports said meanwhile is newer, and stays.

    One that was deleted meanwhile is returned as it was.
    """
    async with channel_transaction(db, channel, channel_id, now, sending=False) as transaction:
        key = (reserved.name, reserved.language)
        before = (await find_templates(transaction.conn, channel_id, [key])).get(key)
        row = await transaction.conn.fetchrow(
            f"""UPDATE templates SET network_id = $3, updated_at = $6,
                       status = CASE WHEN status = $7 THEN $4 ELSE status END,
                       category = CASE WHEN category = $8 THEN $5 ELSE category END
                WHERE channel_id = $1 AND id = $2 RETURNING {_COLUMNS}""",
            channel_id,
            reserved.id,
            made.network_id,
            made.status,
            made.category,
            now,
            reserved.status,
            reserved.category,
        )
        confirmed = _template(row) if row else reserved
        if row and before:
            _emit_status(transaction, confirmed.id, before.status, _stored_facts(confirmed))
        await once.keep(transaction.conn, confirmed, now)
    return confirmed


async def delete_template(db: Database, channel_id: UUID, template_id: UUID) -> bool:
    """Delete a template. Return False if there is none."""
    return await db.changes(
        "DELETE FROM templates WHERE channel_id = $1 AND id = $2 RETURNING 1", channel_id, template_id
    )


# -- what the network has ---------------------------------------------------------------------------------------------


async def put_template(
    db: Database, channel: ChannelRef, channel_id: UUID, found: Template, asked_at: datetime, now: datetime
) -> None:
    """Save one template as the network has it. What newer reports said of its status stays."""
    async with channel_transaction(db, channel, channel_id, now, sending=False) as transaction:
        here = await find_templates(transaction.conn, channel_id, [_key(found)])
        known = here.get(_key(found))
        if known is not None and known.updated_at > asked_at:
            found = msgspec.structs.replace(found, **{name: getattr(known, name) for name in _STANDING})
        await _take_over(transaction, here, [found], known.updated_at if known else now)


async def sync_templates(
    db: Database, channel: ChannelRef, channel_id: UUID, found: Sequence[Template], asked_at: datetime, now: datetime
) -> Synced:
    """Save the network's whole set; what does not exist there is deleted."""
    async with channel_transaction(db, channel, channel_id, now, sending=False) as transaction:
        conn = transaction.conn
        rows = await conn.fetch(f"SELECT {_COLUMNS} FROM templates WHERE channel_id = $1", channel_id)
        here = {(row["name"], row["language"]): _template(row) for row in rows}
        there = {_key(template) for template in found}
        gone = [t.id for key, t in here.items() if key not in there and _settled(t, asked_at)]
        await conn.executemany(
            "DELETE FROM templates WHERE channel_id = $1 AND id = $2", [(channel_id, id_) for id_ in gone]
        )
        added, changed = await _take_over(transaction, here, found, asked_at)
    return Synced(added, changed, len(gone), len(there) - added - changed)


def _settled(template: StoredTemplate, asked_at: datetime) -> bool:
    """Whether the network must have known a template when it was asked; not one that was just being submitted."""
    least = timedelta(0) if template.network_id else _HANDING_IN
    return template.created_at + least <= asked_at


async def _take_over(
    transaction: ChannelTransaction,
    here: Mapping[Key, StoredTemplate],
    found: Sequence[Template],
    asked_at: datetime,
) -> tuple[int, int]:
    """Write new and changed templates, and emit the network's decisions. Return how many of each."""
    conn, now = transaction.conn, transaction.now
    there = {_key(template): _with_known_reason(_facts(template), here.get(_key(template))) for template in found}
    new = [facts for key, facts in there.items() if key not in here]
    changed = [
        (here[key], facts)
        for key, facts in there.items()
        if key in here and here[key].updated_at <= asked_at and _stored_facts(here[key]) != facts
    ]
    new_ids = ids.next_ids(ids.ZERO, now, len(new))
    common = {"channel_id": transaction.channel_id, "now": now}
    inserted = [{**common, "id": id_, **facts} for id_, facts in zip(new_ids, new, strict=True)]
    await conn.executemany(*statement_rows(_INSERT, inserted))
    updated = [{**common, "id": before.id, **facts} for before, facts in changed]
    await conn.executemany(*statement_rows(_UPDATE, updated))
    for before, facts in changed:
        _emit_status(transaction, before.id, before.status, facts)
    return len(new), len(changed)


def _with_known_reason(facts: dict[str, str | None], known: StoredTemplate | None) -> dict[str, str | None]:
    """Keep the reason of a report, which says more than a list: why exactly it was rejected, how long it is paused."""
    if known is None or known.status != facts["status"] or known.status == "APPROVED":
        return facts
    detailed = known.reason is not None and known.reason.startswith(facts["reason"] or "")
    return {**facts, "reason": known.reason} if detailed else facts


async def apply_template_reports(
    transaction: ChannelTransaction, updates: Sequence[TemplateUpdate]
) -> list[TemplateUpdate]:
    """Apply the network's reports in order, and emit its decisions.

    Return those after which the templates have to be read again: of unknown templates that the network still has (one
    that was deleted here is reported as well), and those that may be older than what is known: they may arrive late,
    twice, or in another order.
    """
    conn, channel_id = transaction.conn, transaction.channel_id
    found = await _by_name(conn, channel_id, {change.name for change in updates})
    statuses = {row["id"]: row["status"] for rows in found.values() for row in rows}
    known_at = {row["id"]: row["updated_at"].replace(microsecond=0) for rows in found.values() for row in rows}
    doubtful = []
    for change in updates:
        template_id = _meant(change, found.get(change.name, ()))
        if template_id is None:
            doubtful += [change] if change.status not in _LEAVING else []
        elif change.status == _GONE:
            await conn.execute("DELETE FROM templates WHERE channel_id = $1 AND id = $2", channel_id, template_id)
        elif row := await _note(transaction, template_id, change):  # none if it was deleted by an earlier report
            _emit_status(transaction, template_id, statuses[template_id], row)
            statuses[template_id] = row["status"]
            if change.at is not None:
                doubtful += [change] if change.at < known_at[template_id] else []
                known_at[template_id] = max(known_at[template_id], change.at)
    return doubtful


async def _by_name(conn: "Connection[Any]", channel_id: UUID, names: set[str]) -> dict[str, list[Any]]:
    rows = await conn.fetch(
        """SELECT t.* FROM unnest($2::text[]) AS wanted (name) CROSS JOIN LATERAL (
               SELECT id, network_id, name, language, status, updated_at FROM templates
               WHERE channel_id = $1 AND name = wanted.name OFFSET 0) t""",
        channel_id,
        sorted(names),
    )
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row)
    return found


def _meant(change: TemplateUpdate, candidates: Sequence[Any]) -> UUID | None:
    """Return the template of a report: by the network's id, else by language, which reports write in two ways."""
    language = change.language.replace("-", "_")
    same: list[UUID] = [row["id"] for row in candidates if row["network_id"] == change.network_id]
    young: list[UUID] = [row["id"] for row in candidates if row["network_id"] is None and row["language"] == language]
    return next(iter(same + young), None)


async def _note(transaction: ChannelTransaction, template_id: UUID, change: TemplateUpdate) -> Any:
    status = None if change.status == _WARNING else change.status
    return await transaction.conn.fetchrow(
        """UPDATE templates
           SET network_id = $3, status = COALESCE($4, status), quality = COALESCE($6, quality),
               category = COALESCE($7, category), updated_at = $8,
               reason = CASE WHEN $4::text IS NULL AND $5::text IS NULL THEN reason ELSE $5 END
           WHERE channel_id = $1 AND id = $2 RETURNING name, language, category, status, reason""",
        transaction.channel_id,
        template_id,
        change.network_id,
        status,
        change.reason,
        change.quality,
        change.category,
        transaction.now,
    )


def _emit_status(transaction: ChannelTransaction, template_id: UUID, previous: str, facts: Mapping[str, Any]) -> None:
    """Emit the network's decision about a template, if its status has changed to one that operators want to know."""
    event = STATUS_EVENTS.get(facts["status"])
    if event is None or facts["status"] == previous:
        return
    known = {name: facts[name] for name in ("name", "language", "category", "status", "reason")}
    transaction.event_buffer.add(event.of(template_id, previous=previous, **known))


def _facts(template: Template) -> dict[str, str | None]:
    """Return a template's columns. Constants are stored in capitals: the network writes them in both ways."""
    return {
        "network_id": template.network_id,
        "name": template.name,
        "language": template.language,
        "category": template.category.upper(),
        "status": template.status.upper(),
        "reason": None if template.reason in (None, "", "NONE") else template.reason,
        "quality": (template.quality or "UNKNOWN").upper(),
        "parameter_format": template.parameter_format.upper(),
        "components": json_text(template.components),
    }


def _stored_facts(template: StoredTemplate) -> dict[str, str | None]:
    return {name: getattr(template, name) for name in _FACTS}


def _key(template: Template) -> Key:
    return template.name, template.language


def _template(row: Any) -> StoredTemplate:
    return StoredTemplate(**{name: row[name] for name in _FIELDS})
