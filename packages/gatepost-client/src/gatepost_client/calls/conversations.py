"""Conversations and labels."""

from typing import Literal

from msgspec import UNSET, UnsetType

from gatepost_client.calls.builders import act, create, fetch, nothing, pages, remove
from gatepost_client.calls.messages import Moment
from gatepost_client.types import Conversation, ConversationCounts, Label, Message, Note, ReadConversation
from gatepost_client.wire import Call, Listing, Request, changed, given, path_of

Target = Literal["conversations", "contacts"]


def conversations(
    *,
    status: Literal["open", "closed"] | None = None,
    archived: bool | None = None,
    unread: bool | None = None,
    label: str | None = None,
    phone: str | None = None,
    since: Moment | None = None,
    tz: str | None = None,
    q: str | None = None,
    assignee: str | None = None,
    window: Literal["closing"] | None = None,
    closing_hours: int | None = None,
) -> Listing[Conversation]:
    """List conversations, the one with the newest message first. Filters combine."""
    return pages(Conversation, "conversations", query=dict(locals()))


def conversation_counts(*, closing_hours: int | None = None) -> Call[ConversationCounts]:
    """Return how many conversations are open, unread, unassigned, or close soon."""
    return fetch(ConversationCounts, "conversations", "counts", query=given(closing_hours=closing_hours))


def conversation(conversation_id: str) -> Call[Conversation]:
    """Return one conversation."""
    return fetch(Conversation, "conversations", conversation_id)


def change_conversation(
    conversation_id: str,
    *,
    status: Literal["open", "closed"] | UnsetType = UNSET,
    archived: bool | UnsetType = UNSET,
    muted: bool | UnsetType = UNSET,
    assignee: str | UnsetType | None = UNSET,
    note: str | UnsetType | None = UNSET,
) -> Call[Conversation]:
    """Change the given fields; None clears the assignee or the note."""
    fields = changed(status=status, archived=archived, muted=muted, assignee=assignee, note=note)
    return act(Conversation, "PATCH", "conversations", conversation_id, body=fields, repeatable=True)


def conversation_messages(conversation_id: str) -> Listing[Message]:
    """Return the messages of a conversation, the newest first."""
    return pages(Message, "conversations", conversation_id, "messages")


def read_conversation(conversation_id: str) -> Call[ReadConversation]:
    """Mark all messages of a conversation as read."""
    return act(ReadConversation, "POST", "conversations", conversation_id, "read", repeatable=True)


def conversation_notes(conversation_id: str) -> Listing[Note]:
    """Return the notes of a conversation, the newest first."""
    return pages(Note, "conversations", conversation_id, "notes")


def add_note(conversation_id: str, text: str) -> Call[Note]:
    """Add a note to a conversation. The contact never sees it."""
    return create(Note, "conversations", conversation_id, "notes", body={"text": text})


def delete_note(conversation_id: str, note_id: str) -> Call[None]:
    """Delete a note of a conversation."""
    return remove("conversations", conversation_id, "notes", note_id)


def labels() -> Call[list[Label]]:
    """Return all labels of the channel, by name."""
    return fetch(list[Label], "labels")


def label(label_id: str) -> Call[Label]:
    """Return one label."""
    return fetch(Label, "labels", label_id)


def create_label(name: str, *, color: str | None = None) -> Call[Label]:
    """Create a label; a color is written as #rrggbb."""
    return create(Label, "labels", body=given(name=name, color=color))


def change_label(label_id: str, *, name: str | None = None, color: str | None = None) -> Call[Label]:
    """Change the name or color of a label."""
    return act(Label, "PATCH", "labels", label_id, body=given(name=name, color=color), repeatable=True)


def delete_label(label_id: str) -> Call[None]:
    """Delete a label and remove it from everything."""
    return remove("labels", label_id)


def put_label(label_id: str, target_id: str) -> Call[None]:
    """Put a label on a conversation (cv_…) or a contact (ct_…). No error if it is there already."""
    return _on("PUT", label_id, target_id)


def take_label(label_id: str, target_id: str) -> Call[None]:
    """Remove a label from a conversation (cv_…) or a contact (ct_…). No error if it is not there."""
    return _on("DELETE", label_id, target_id)


def _on(method: str, label_id: str, target_id: str) -> Call[None]:
    if not target_id.startswith(("cv_", "ct_")):
        raise ValueError("a label goes on a conversation (cv_…) or a contact (ct_…)")
    target: Target = "conversations" if target_id.startswith("cv_") else "contacts"
    return Call(Request(method, path_of(target, target_id, "labels", label_id), repeatable=True), nothing)
