"""Conversations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gatepost.model import ids, times
from gatepost.model.event.parts import AT, CHAT, PERSON, ConversationId, EventContact, EventObject, Text, Time, one_of


class ChatCreated(EventObject, frozen=True):
    """A conversation was created."""

    TYPE, ACTION = CHAT, "created"

    id: ConversationId
    contact: EventContact
    status: Literal["open"]
    created_at: Time

    @classmethod
    def of(cls, contact_id: UUID, address: str, name: str | None, at: datetime) -> Self:
        contact = EventContact.ref(contact_id, address, name)
        return cls(ids.format_id("cv", contact_id), contact, "open", times.format_time(at))

    @classmethod
    def example(cls) -> Self:
        return cls.of(*PERSON, AT)


class ChatUpdated(EventObject, frozen=True, kw_only=True):
    """A conversation was changed. `changed` lists the fields, whose new values are in the event."""

    TYPE, ACTION = CHAT, "updated"

    id: ConversationId
    contact: EventContact
    status: Annotated[str, one_of(["open", "closed"])]
    archived: bool
    muted: bool | UnsetType = UNSET
    assignee: Text | UnsetType = UNSET
    note: Text | UnsetType = UNSET
    unread: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    changed: Annotated[
        Sequence[Annotated[str, one_of(["status", "archived", "muted", "assignee", "note", "unread"])]],
        Meta(min_length=1),
    ]

    @classmethod
    def example(cls) -> Self:
        return cls(
            id=ids.format_id("cv", PERSON[0]),
            contact=EventContact.ref(*PERSON),
            status="closed",
            archived=False,
            muted=False,
            assignee="Rui",
            note=None,
            unread=0,
            changed=["status", "assignee"],
        )
