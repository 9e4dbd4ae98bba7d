"""Conversations and labels."""

from typing import Literal

from msgspec import UNSET, UnsetType

from gatepost_client.calls.making import act, create, fetch, nothing, pages, remove
from gatepost_client.calls.messages import Moment
from gatepost_client.types import Conversation, Label, Message, ReadConversation
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
) -> Listing[Conversation]:
    """Conversations by their newest message, the newest first. Filters combine."""
    return pages(Conversation, "conversations", query=dict(locals()))


def conversation(conversation_id: str) -> Call[Conversation]:
    """One conversation."""
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
    """Set what is given; None takes the assignee or the note away."""
    wishes = changed(status=status, archived=archived, muted=muted, assignee=assignee, note=note)
    return act(Conversation, "PATCH", "conversations", conversation_id, body=wishes, repeatable=True)


def conversation_messages(conversation_id: str) -> Listing[Message]:
    """The messages of a conversation, the newest first."""
    return pages(Message, "conversations", conversation_id, "messages")


def read_conversation(conversation_id: str) -> Call[ReadConversation]:
    """Nothing of it is unread any more."""
    return act(ReadConversation, "POST", "conversations", conversation_id, "read", repeatable=True)


def labels() -> Call[list[Label]]:
    """All labels of the channel, by name."""
    return fetch(list[Label], "labels")


def label(label_id: str) -> Call[Label]:
    """One label."""
    return fetch(Label, "labels", label_id)


def create_label(name: str, *, color: str | None = None) -> Call[Label]:
    """Make a label; a colour is written #rrggbb."""
    return create(Label, "labels", body=given(name=name, color=color))


def change_label(label_id: str, *, name: str | None = None, color: str | None = None) -> Call[Label]:
    """Rename or recolour a label."""
    return act(Label, "PATCH", "labels", label_id, body=given(name=name, color=color), repeatable=True)


def delete_label(label_id: str) -> Call[None]:
    """Take a label off everything, and away."""
    return remove("labels", label_id)


def put_label(label_id: str, target_id: str) -> Call[None]:
    """Put a label on a conversation (cv_…) or a contact (ct_…). It may be there already."""
    return _on("PUT", label_id, target_id)


def take_label(label_id: str, target_id: str) -> Call[None]:
    """Take a label off a conversation (cv_…) or a contact (ct_…). It may be off already."""
    return _on("DELETE", label_id, target_id)


def _on(method: str, label_id: str, target_id: str) -> Call[None]:
    if not target_id.startswith(("cv_", "ct_")):
        raise ValueError("a label goes on a conversation (cv_…) or a contact (ct_…)")
    target: Target = "conversations" if target_id.startswith("cv_") else "contacts"
    return Call(Request(method, path_of(target, target_id, "labels", label_id), repeatable=True), nothing)
