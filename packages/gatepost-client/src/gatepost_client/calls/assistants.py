"""Drafts, and what assistants did."""

from typing import Literal

from gatepost_client.calls.builders import act, fetch, pages
from gatepost_client.calls.messages import Moment
from gatepost_client.types import Draft, HandOver, McpCall
from gatepost_client.wire import Call, Listing

State = Literal["waiting", "sent", "refused", "expired"]
Outcome = Literal["done", "sent", "draft", "dry_run", "repeated", "refused", "failed"]


def drafts(*, state: State | None = None, conversation: str | None = None) -> Listing[Draft]:
    """List drafts, the newest first. Filters combine."""
    return pages(Draft, "drafts", query=dict(locals()))


def draft(draft_id: str) -> Call[Draft]:
    """Return one draft."""
    return fetch(Draft, "drafts", draft_id)


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
