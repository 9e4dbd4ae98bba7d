"""Objects that several tools return. Fields that are null, false or empty are left out."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.mcp.outside_words import Outside, outside
from gatepost.model import ids, times
from gatepost.model.file import known_type
from gatepost.model.message import State, status_of
from gatepost.model.person import shown_phone
from gatepost.model.search_words import texts
from gatepost.model.sender import read_sender
from gatepost.store.labels import LabelRow
from gatepost.store.messages.history import StoredMessage

_TEXTS_MAX = 30  # of one message: the options of a list, the fields of a contact card

ConversationId = Annotated[str, Meta(description="cv_…", max_length=64)]
MessageId = Annotated[str, Meta(description="Id of a message.", max_length=64)]
Limit = Annotated[int, Meta(ge=1, le=50)]
Cursor = Annotated[str, Meta(description="`next` of the last answer.", max_length=1024)]
Query = Annotated[str, Meta(min_length=1, max_length=200)]
LabelId = Annotated[str, Meta(description="lb_…", max_length=64)]
Moment = Annotated[str, Meta(description="Date or RFC 3339 time.", max_length=64)]
Zone = Annotated[str, Meta(description="Time zone of dates, e.g. Europe/Lisbon.", max_length=64)]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base of all objects in answers."""


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of the arguments of all tools."""


class LabelName(Answer, frozen=True):
    """A label: its id and its name."""

    id: str
    name: Outside | None = None


def label_names(rows: Sequence[LabelRow]) -> tuple[LabelName, ...]:
    """Return labels. Their names may come from a phone."""
    return tuple(LabelName(ids.format_id("lb", row.id), outside(row.name)) for row in rows)


class MessageFile(Answer, frozen=True):
    """The file of a message."""

    media: str | None = None  # for get_file
    type: str | None = None
    name: Outside | None = None
    host: str | None = None  # of a file that was sent by its link: the link itself may contain a secret


class MessageView(Answer, frozen=True):
    """A message."""

    id: str
    at: str
    direction: str
    type: str
    status: str
    content: Outside | None = None
    file: MessageFile | None = None
    reply_to: str | None = None
    reactions: Outside | None = None
    sent_by: str | None = None
    edited: bool = False
    deleted: bool = False
    error: Outside | None = None
    conversation: str | None = None

    @classmethod
    def of(cls, row: StoredMessage, now: datetime, *, conversation: bool = False) -> "MessageView":
        """Return a message; with its conversation where messages of several are listed."""
        content = _decoded(row.content)
        sender = read_sender(row.sent_by)
        return cls(
            id=ids.message_id(row.id),
            at=times.format_time(row.created_at),
            direction="in" if row.incoming else "out",
            type=row.type,
            status=status_of(row.state, row.send_at, now),
            content=outside(words_of(row.content)),
            file=_file(content),
            reply_to=ids.message_id(row.reply_to) if row.reply_to else None,
            reactions=outside(_reactions(row.reactions)),
            sent_by=(sender.label or sender.kind) if sender else None,
            edited=row.edited_at is not None,
            deleted=row.deleted_at is not None,
            error=outside(_error(row)),
            conversation=ids.format_id("cv", row.contact_id) if conversation else None,
        )


class PersonView(Answer, frozen=True):
    """The person of a conversation."""

    contact: str
    name: Outside | None = None
    phone: str | None = None

    @classmethod
    def of(cls, contact_id: UUID, address: str, name: str | None) -> "PersonView":
        """Return a person with the whole number."""
        return cls(ids.format_id("ct", contact_id), outside(name), shown_phone(address))


def last_digits(address: str) -> str | None:
    """Return the last four digits of a number, which lists show instead of the number."""
    phone = shown_phone(address)
    return phone[-4:] if phone else None


def words_of(content: str) -> str:
    """Return what people read in a message."""
    found = []
    for text in texts(content):
        found.append(text)
        if len(found) == _TEXTS_MAX:
            break
    return "\n".join(found)


def _decoded(content: str) -> dict[str, Any]:
    value = msgspec.json.decode(content)
    return value if isinstance(value, dict) else {}


def _file(content: dict[str, Any]) -> MessageFile | None:
    media = content.get("media")
    if not isinstance(media, dict):
        return None
    link = media.get("link")
    return MessageFile(
        media=_text(media.get("id")),
        type=known_type(_text(media.get("mime_type"))) if "mime_type" in media else None,
        name=outside(_text(media.get("filename") or content.get("filename"))),
        host=urlsplit(link).hostname if isinstance(link, str) else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _reactions(text: str | None) -> str:
    given = msgspec.json.decode(text) if text else {}
    return " ".join(mark["emoji"] for mark in given.values() if mark["emoji"])


def _error(row: StoredMessage) -> str | None:
    return row.error if row.error and row.state < State.QUEUED else None
