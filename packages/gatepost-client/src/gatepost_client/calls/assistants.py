"""Drafts, and what assistants did."""

from typing import Literal

from gatepost_client.calls.builders import act, create, fetch, new_key, pages
from gatepost_client.calls.messages import Moment, uploaded
from gatepost_client.compose import Outgoing
from gatepost_client.types import Draft, DraftCounts, HandOver, McpCall
from gatepost_client.wire import Call, Listing, Plan, given

State = Literal["waiting", "sent", "refused", "expired"]
Outcome = Literal["done", "sent", "draft", "dry_run", "repeated", "refused", "failed"]


def drafts(*, state: State | None = None, conversation: str | None = None) -> Listing[Draft]:
    """List drafts, the newest first. Filters combine."""
    return pages(Draft, "drafts", query=dict(locals()))


def draft_counts() -> Call[DraftCounts]:
    """Return how many drafts wait for a decision."""
    return fetch(DraftCounts, "drafts", "counts")


def draft(draft_id: str) -> Call[Draft]:
    """Return one draft."""
    return fetch(Draft, "drafts", draft_id)


def create_draft(message: Outgoing, *, comment: str | None = None) -> Plan[Draft]:
    """Create a draft of a message that was made with `compose`."""
    key = message.idempotency_key or new_key()
    ready = yield from uploaded(message, key)
    made: Draft = yield create(Draft, "drafts", body={"message": ready.fields, **given(comment=comment)}, key=key)
    return made


def edit_draft(draft_id: str, message: Outgoing, *, revision: int | None = None) -> Plan[Draft]:
    """Replace the message of a draft; with a revision, only if it was not edited since."""
    ready = yield from uploaded(message, new_key())
    body = {"message": ready.fields, **given(revision=revision)}
    edited: Draft = yield act(Draft, "PATCH", "drafts", draft_id, body=body)
    return edited


def approve_draft(draft_id: str, *, anyway: bool = False, revision: int | None = None) -> Call[Draft]:
    """Send the message of a draft; `anyway` although the person has written since. It is sent at most once."""
    return act(Draft, "POST", "drafts", draft_id, "approve", body={"anyway": anyway, **given(revision=revision)})


def refuse_draft(draft_id: str, *, comment: str | None = None) -> Call[Draft]:
    """Refuse a draft, with a comment for its author."""
    return act(Draft, "POST", "drafts", draft_id, "refuse", body=given(comment=comment))


def mcp_calls(
    *,
    key: str | None = None,
    tool: str | None = None,
    outcome: Outcome | None = None,
    conversation: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    tz: str | None = None,
) -> Listing[McpCall]:
    """List calls of assistants from `start` (inclusive) to `end` (exclusive), the newest first. Filters combine."""
    query = {"key": key, "tool": tool, "outcome": outcome, "conversation": conversation}
    return pages(McpCall, "mcp", "calls", query={**query, "from": start, "to": end, "tz": tz})


def hand_over(conversation_id: str) -> Call[HandOver]:
    """Return the assistants that gave a conversation to a person."""
    return fetch(HandOver, "conversations", conversation_id, "hand-over")


def end_hand_over(conversation_id: str) -> Call[HandOver]:
    """Let all assistants write to a conversation again."""
    return act(HandOver, "DELETE", "conversations", conversation_id, "hand-over", repeatable=True)
