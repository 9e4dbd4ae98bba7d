"""Labels."""

from gatepost.mcp.answers import Answer, Arguments, LabelName, label_names
from gatepost.mcp.registry import READING, tool
from gatepost.mcp.tool_call import Call
from gatepost.store import labels as store

_LABELS_MAX = 200


class ListLabels(Arguments, frozen=True):
    """No arguments."""


class Labels(Answer, frozen=True):
    """The labels of the channel, by name."""

    labels: tuple[LabelName, ...]
    more: int = 0  # that are not listed


@tool("List labels", READING, example={})
async def list_labels(given: ListLabels, call: Call) -> Labels:
    """List the labels that conversations and contacts of this channel can have."""
    rows = await store.list_labels(call.db, call.channel_id)
    return Labels(label_names(rows[:_LABELS_MAX]), max(0, len(rows) - _LABELS_MAX))
