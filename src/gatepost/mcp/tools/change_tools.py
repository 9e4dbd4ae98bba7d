"""Changes of our own records: labels, status, notes, read marks; and giving a conversation to a person."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta

from gatepost.mcp.answers import Answer, Arguments, ConversationId, LabelId
from gatepost.mcp.registry import RECORDING, Hints, tool
from gatepost.mcp.tool_call import Call
from gatepost.model.errors import invalid_field
from gatepost.model.mcp_call import McpCall
from gatepost.services import assistant_changes
from gatepost.services.assistant_changes import AssistantChange

_LABELS_MAX = 50
_EXAMPLE = "cv_0199…"


class Changed(Answer, frozen=True):
    """What became of a change: `done`, or `dry_run` if nothing was changed."""

    outcome: str
    shown: bool = False


def _begin(call: Call) -> McpCall:
    """Return the call to record with the change."""
    assert call.record is not None
    call.recorded = True  # from here on, whatever becomes of it
    return call.record


def _changed(call: Call, change: AssistantChange) -> Changed:
    call.outcome = change.outcome
    return Changed(change.outcome, change.read_shown)


class MarkRead(Arguments, frozen=True):
    """Which conversation."""

    conversation: ConversationId


@tool("Mark as read", Hints(idempotent=True, open_world=True), example={"conversation": _EXAMPLE})
async def mark_read(given: MarkRead, call: Call) -> Changed:
    """Mark a conversation as read. `shown`: whether the person sees that."""
    record, speak = _begin(call), call.context.speak
    done = await assistant_changes.mark_read(call.db, speak, call.caller, record, given.conversation)
    return _changed(call, done)


class SetLabels(Arguments, frozen=True):
    """Which labels of a conversation to add and to remove."""

    conversation: ConversationId
    add: Annotated[tuple[LabelId, ...], Meta(max_length=_LABELS_MAX)] = ()
    remove: Annotated[tuple[LabelId, ...], Meta(max_length=_LABELS_MAX)] = ()


@tool("Set labels", RECORDING, example={"conversation": _EXAMPLE, "add": ["lb_0199…"]})
async def set_labels(given: SetLabels, call: Call) -> Changed:
    """Add labels to a conversation and remove others; list_labels shows them."""
    if not given.add and not given.remove:
        raise invalid_field("add", "give a label in add or in remove")
    record = _begin(call)
    done = await assistant_changes.set_labels(call.db, call.caller, record, given.conversation, given.add, given.remove)
    return _changed(call, done)


class UpdateConversation(Arguments, frozen=True):
    """What to change of a conversation."""

    conversation: ConversationId
    status: Literal["open", "closed"] | None = None
    note: Annotated[str, Meta(max_length=4096)] | None = None


@tool("Update a conversation", RECORDING, example={"conversation": _EXAMPLE, "status": "closed"})
async def update_conversation(given: UpdateConversation, call: Call) -> Changed:
    """Open or close a conversation, or replace its internal note. No note for an hour after reading another."""
    if given.status is None and given.note is None:
        raise invalid_field("status", "give status or note")
    status = UNSET if given.status is None else given.status
    note = UNSET if given.note is None else given.note
    record = _begin(call)
    done = await assistant_changes.update_conversation(
        call.db, call.caller, record, given.conversation, status=status, note=note
    )
    return _changed(call, done)


class HandOver(Arguments, frozen=True):
    """Which conversation a person takes, and why."""

    conversation: ConversationId
    reason: Annotated[str, Meta(min_length=1, max_length=1000)]


@tool("Hand over to a person", RECORDING, example={"conversation": _EXAMPLE, "reason": "Wants a refund."})
async def hand_over(given: HandOver, call: Call) -> Changed:
    """Give a conversation to a person. This key sends nothing there until a person gives it back."""
    record = _begin(call)
    done = await assistant_changes.hand_over(call.db, call.caller, record, given.conversation, given.reason)
    return _changed(call, done)
