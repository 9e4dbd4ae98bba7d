"""The tools, each with the structs of its arguments and its result. A tool is a function with the decorator `tool`.

@tool("Find conversations", READING, example={"unread": True})
async def find_conversations(given: FindConversations, call: Call) -> FoundConversations:
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, get_type_hints

import msgspec

from gatepost.mcp.schemas import make_schema
from gatepost.mcp.tool_call import Call

Run = Callable[[Any, Call], Awaitable[Any]]
F = TypeVar("F", bound=Run)


class Hints(msgspec.Struct, frozen=True):
    """What a tool does, for clients that ask a person before they call it."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False

    def annotations(self) -> dict[str, bool]:
        """Return the hints by their names in the protocol."""
        if self.read_only:
            return {"readOnlyHint": True, "openWorldHint": False}
        return {
            "readOnlyHint": False,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }


READING = Hints(read_only=True)
SENDING = Hints(destructive=True, idempotent=True, open_world=True)  # nothing that was sent can be taken back
RECORDING = Hints(idempotent=True)


class Tool(msgspec.Struct, frozen=True):
    """A tool."""

    name: str
    title: str
    description: str
    hints: Hints
    example: Mapping[str, Any]
    arguments: type[Any]
    result: type[Any]
    run: Run
    files: bool = False  # whether it shows the content of files, which the policy must allow
    costly: str | None = None  # the argument with which a call is costly (`access/costly.py`)

    def listed(self) -> dict[str, Any]:
        """Return the tool as the list of tools shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": make_schema(self.arguments) | {"examples": [self.example]},
            "outputSchema": make_schema(self.result),
            "annotations": self.hints.annotations(),
        }


_tools: dict[str, Tool] = {}


def tool(
    title: str, hints: Hints, *, example: Mapping[str, Any], files: bool = False, costly: str | None = None
) -> Callable[[F], F]:
    """Register a function as a tool. Its name, docstring and types describe the tool."""

    def register(run: F) -> F:
        name, types = getattr(run, "__name__", ""), get_type_hints(run)
        description = " ".join((inspect.getdoc(run) or "").split())
        given, result = types["given"], types["return"]
        _tools[name] = Tool(name, title, description, hints, example, given, result, run, files, costly)
        return run

    return register


def registered() -> dict[str, Tool]:
    """Return the tools that are registered so far, by name."""
    return _tools
