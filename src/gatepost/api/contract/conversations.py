"""Conversations in answers."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from gatepost.api.contract.fields import ApiObject, ConversationId, Text, Time, When
from gatepost.api.contract.labels import LabelRef
from gatepost.api.contract.messages import ContactRef, Message
from gatepost.model import ids, times
from gatepost.model.window import window_ends
from gatepost.store.conversations.changes import ConversationDetails
from gatepost.store.conversations.inbox import InboxCounts

No = Annotated[bool, Meta(examples=[False])]


class Conversation(ApiObject, frozen=True):
    """All messages with one contact, with status, assignee, note and labels."""

    id: ConversationId
    contact: ContactRef
    status: Literal["open", "closed"]
    archived: No
    muted: No
    assignee: Annotated[Text, Meta(examples=["Anna"])]
    note: Annotated[Text, Meta(examples=["Wants it on Friday"])]
    unread: int
    labels: list[LabelRef]
    window_ends_at: When
    last_message: Message | None
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, found: ConversationDetails, now: datetime, *, window: bool) -> "Conversation":
        """Return a conversation. Only official channels have a `window`."""
        return cls(**_fields(found, now, window=window))


class ConversationCounts(ApiObject, frozen=True):
    """How many conversations need work. Archived ones are not counted."""

    open: int
    unread: int
    mine: Annotated[int | None, Meta(description="Open and assigned to the user; null if the caller is a key.")]
    unassigned: Annotated[int, Meta(description="Open and assigned to nobody.")]
    closing: Annotated[int, Meta(description="The 24-hour window closes soon.")]
    complete: Annotated[bool, Meta(description="false: only the 5,000 conversations with the newest messages count.")]

    @classmethod
    def of(cls, counts: InboxCounts, *, user: bool, window: bool) -> "ConversationCounts":
        """Return the counts. Only a `user` has conversations, and only official channels have a `window`."""
        return cls(
            open=counts.open,
            unread=counts.unread,
            mine=counts.mine if user else None,
            unassigned=counts.unassigned,
            closing=counts.closing if window else 0,
            complete=counts.complete,
        )


class ReadConversation(Conversation, frozen=True):
    """A conversation that was marked as read, and whether the contact can see that."""

    shown: bool

    @classmethod
    def after(cls, found: ConversationDetails, now: datetime, *, window: bool, shown: bool) -> "ReadConversation":
        """Return a conversation that has just been marked as read."""
        return cls(**_fields(found, now, window=window), shown=shown)


def _fields(found: ConversationDetails, now: datetime, *, window: bool) -> dict[str, Any]:
    row, message = found.conversation, found.last_message
    return {
        "id": ids.format_id("cv", row.contact_id),
        "contact": ContactRef.of(row.contact_id, row.phone, row.name),
        "status": row.status,
        "archived": row.archived,
        "muted": row.muted,
        "assignee": row.assignee,
        "note": row.note,
        "unread": row.unread,
        "labels": [LabelRef.of(label) for label in found.labels],
        "window_ends_at": times.format_optional_time(window_ends(row.last_in_at)) if window else None,
        "last_message": Message.of(message, now) if message else None,
        "created_at": times.format_time(row.created_at),
        "updated_at": times.format_time(row.updated_at or row.created_at),
    }
