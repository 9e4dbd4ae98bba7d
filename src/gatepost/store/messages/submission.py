"""One message to accept, and the checks that need the database: each query runs once per batch, and only if a message
needs it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.contact import opted_out
from gatepost.model.errors import GatepostError, invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.limits import FILES
from gatepost.model.media import check_media
from gatepost.model.message import CheckedMessage
from gatepost.model.template import check_use
from gatepost.model.window import check_window
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.idempotency import IdempotencyKey
from gatepost.store.messages.accept_rows import LockedChannel
from gatepost.store.messages.recipients import check_has_number
from gatepost.store.pool import Connection, keys_and_range
from gatepost.store.templates import find_templates


class SendContext(msgspec.Struct, frozen=True):
    """What the messages of a caller have in common."""

    channel: ChannelRef
    account_id: UUID
    monthly_limit: int | None
    answer: Callable[[CheckedMessage, UUID, datetime], bytes]
    sent_by: str | None = None  # as `model/sender.py` writes it
    any_document: bool = False  # whether a document may have any MIME type
    hidden_people: str | None = None  # as in `Capabilities`
    file_days: int = 0  # for which files are kept; 0: until they are deleted


class Submission(msgspec.Struct, frozen=True):
    """One message to accept."""

    message: CheckedMessage
    sender: SendContext
    key: IdempotencyKey | None = None
    window: bool = False  # whether its free text needs an open customer-service window

    @property
    def needs_checks(self) -> bool:
        """Whether rows of the database may rule the message out."""
        message = self.message
        return bool(
            self.window or message.bulk or message.reply_to or message.target or message.media_ids or message.template
        )


class SendChecks(msgspec.Struct, frozen=True):
    """The rows that a batch's items are checked against."""

    messages: Mapping[UUID, UUID]  # their contacts
    files: Mapping[str, Any]
    templates: Mapping[tuple[str, str], Any]
    people: Mapping[str, KnownContact]
    last_in: Mapping[str, datetime | None]
    opted_out: frozenset[str] = frozenset()  # among the recipients of bulk messages


async def read_send_checks(
    conn: "Connection[Any]", channel_id: UUID, submissions: Sequence[Submission], opened: LockedChannel
) -> SendChecks:
    """Read everything that the items refer to."""
    messages = [submission.message for submission in submissions]
    named = {id_ for d in messages for id_ in (d.reply_to, d.target) if id_}
    files = {id_ for d in messages for id_ in d.media_ids}
    keys = {(d.template.name, d.template.language) for d in messages if d.template}
    bulk = {d.phone for d in messages if d.bulk}
    return SendChecks(
        await _known_messages(conn, channel_id, named) if named else {},
        await _known_files(conn, channel_id, files) if files else {},
        await find_templates(conn, channel_id, sorted(keys)) if keys else {},
        opened.people,
        opened.last_in,
        await _opted_out(conn, channel_id, bulk) if bulk else frozenset(),
    )


def refusal(submission: Submission, grounds: SendChecks, now: datetime) -> GatepostError | None:
    """Return the error of an item, if there is one."""
    try:
        _check_submission(submission, grounds, now)
    except GatepostError as error:
        return error
    return None


def _check_submission(submission: Submission, grounds: SendChecks, now: datetime) -> None:
    message = submission.message
    for field, id_ in (("reply_to", message.reply_to), ("reaction.message_id", message.target)):
        if id_ is not None:
            _check_reference(field, id_, grounds.people.get(message.phone), grounds)
    for media_id in message.media_ids:
        _check_file(submission, media_id, grounds.files.get(media_id))
    if message.template:
        found = grounds.templates.get((message.template.name, message.template.language))
        check_use(found.as_template() if found else None, message.template)
        if found is not None and found.category == "AUTHENTICATION":
            check_has_number(message.phone)
    elif submission.window:
        check_window(grounds.last_in.get(message.phone), message.send_at or now)
    if message.phone in grounds.opted_out and message.bulk:
        raise opted_out(None if message.contact else message.phone)


def _check_reference(field: str, id_: UUID, recipient: KnownContact | None, grounds: SendChecks) -> None:
    """Reject a message of another conversation: a linked phone would show its words to the recipient."""
    if id_ not in grounds.messages:
        raise invalid_field(field, "names no message of this channel")
    if recipient is None or grounds.messages[id_] != recipient.id:
        raise invalid_field(field, "names a message of another conversation, not of the one with this recipient")


def _check_file(submission: Submission, media_id: str, row: Any) -> None:
    field = "media.id" if submission.message.type in FILES else "header.media.id"
    if row is None:
        raise invalid_field(field, f"{media_id} is not a file of this channel; upload it with POST /api/v1/media")
    if row["state"] != "ready":
        raise invalid_field(field, f"{media_id} is not here yet: its state is {row['state']}")
    _check_expiry(submission, media_id, row["created_at"], field)
    type_ = _file_type(submission.message)
    if type_ is not None:
        check_media(type_, row["mime_type"], row["size"] or 0, any_document=submission.sender.any_document, field=field)


def _check_expiry(submission: Submission, media_id: str, created_at: datetime, field: str) -> None:
    """Reject a file that is deleted before the message is sent."""
    send_at, days = submission.message.send_at, submission.sender.file_days
    if send_at is not None and days and send_at >= created_at + timedelta(days=days):
        until = times.format_time(created_at + timedelta(days=days))
        raise invalid_field(field, f"{media_id} is kept until {until}, not until `send_at`; upload the file again")


def _file_type(message: CheckedMessage) -> str | None:
    """Return the type of a message's file: its own type, or that of its header."""
    if message.type in FILES:
        return message.type
    content = msgspec.json.decode(message.content)
    header = content.get("header") or (content.get("template") or {}).get("header")
    type_ = header.get("type") if isinstance(header, dict) else None
    return type_ if type_ in FILES else None


async def _known_messages(conn: "Connection[Any]", channel_id: UUID, named: set[UUID]) -> dict[UUID, UUID]:
    """Return the contacts of those messages that exist."""
    rows = await conn.fetch(
        "SELECT id, contact_id FROM messages WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4",
        channel_id,
        *keys_and_range(sorted(named)),
    )
    return {row["id"]: row["contact_id"] for row in rows}


async def _known_files(conn: "Connection[Any]", channel_id: UUID, named: set[str]) -> dict[str, Any]:
    wanted = [id_ for text in named if (id_ := ids.parse_id("med", text))]
    rows = await conn.fetch(
        """SELECT m.* FROM unnest($2::uuid[]) AS wanted (id) CROSS JOIN LATERAL (
               SELECT id, state, mime_type, size, created_at FROM media
               WHERE channel_id = $1 AND id = wanted.id LIMIT 1) m""",
        channel_id,
        sorted(wanted),
    )
    return {ids.format_id("med", row["id"]): row for row in rows}


async def _opted_out(conn: "Connection[Any]", channel_id: UUID, phones: set[str]) -> frozenset[str]:
    """Return which of these numbers or aliases opted out of marketing. The caller holds the channel's head."""
    rows = await conn.fetch(
        """SELECT wanted.phone FROM unnest($2::text[]) AS wanted (phone) CROSS JOIN LATERAL (
               SELECT opted_out FROM contacts WHERE channel_id = $1 AND phone = wanted.phone
               UNION ALL
               SELECT p.* FROM contact_aliases a CROSS JOIN LATERAL (
                   SELECT opted_out FROM contacts WHERE channel_id = $1 AND id = a.contact_id LIMIT 1) p
               WHERE a.channel_id = $1 AND a.alias = wanted.phone
               LIMIT 1) c
           WHERE c.opted_out IS NOT NULL""",
        channel_id,
        sorted(phones),
    )
    return frozenset(row["phone"] for row in rows)
