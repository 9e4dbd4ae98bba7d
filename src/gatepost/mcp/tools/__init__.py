"""The tools."""

from gatepost.mcp.registry import registered
from gatepost.mcp.tools import (
    change_tools,
    channel_state,
    contacts,
    conversations,
    drafts,
    files,
    labels,
    messages,
    send_tools,
    templates,
)

# The tools are listed in this order.
_ORDER = (conversations, messages, contacts, labels, templates, channel_state, drafts, files, send_tools, change_tools)

TOOLS = {
    tool.name: tool for module in _ORDER for tool in registered().values() if tool.run.__module__ == module.__name__
}
