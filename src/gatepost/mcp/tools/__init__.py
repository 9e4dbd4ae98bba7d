"""The tools."""

from gatepost.mcp.registry import registered
from gatepost.mcp.tools import channel_state, contacts, conversations, labels, messages

_ORDER = (conversations, messages, contacts, labels, channel_state)  # in which the tools are listed

TOOLS = {
    tool.name: tool for module in _ORDER for tool in registered().values() if tool.run.__module__ == module.__name__
}
