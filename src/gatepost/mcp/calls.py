"""One call of a tool: arguments checked, tool run, call recorded, answer written."""

from collections.abc import Mapping
from typing import Any

import msgspec
import structlog

from gatepost.mcp.argument_problems import invalid_arguments
from gatepost.mcp.failures import ToolFailure
from gatepost.mcp.outside_words import present
from gatepost.mcp.registry import Tool
from gatepost.mcp.tool_call import Call
from gatepost.mcp.tools import TOOLS
from gatepost.model.errors import GatepostError

log = structlog.get_logger("gatepost.mcp")
OTHER = "other"  # the tool of calls of unknown tools, in metrics


class ToolAnswer(msgspec.Struct, frozen=True):
    """The answer to a call, as an object and as text."""

    structured: dict[str, Any]
    text: str
    failed: bool = False


async def call_tool(call: Call, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Run a tool, and return its answer or its error. An error that we did not expect says nothing about its cause."""
    try:
        result = await _run(tool, read_arguments(tool, arguments), call)
    except GatepostError as error:
        failure = ToolFailure.of(error)
    except Exception:
        log.exception("tool failed", tool=tool.name)
        failure = ToolFailure.of(_unexpected())
    else:
        call.context.count(tool.name, "done")
        answer = present(result)
        return ToolAnswer(answer.structured, answer.text)
    call.context.count(tool.name, "failed")
    answer = present({"error": failure})
    return ToolAnswer(answer.structured, answer.text, failed=True)


async def _run(tool: Tool, given: Any, call: Call) -> Any:
    if tool.costly is None or getattr(given, tool.costly) is None:
        return await tool.run(given, call)
    costly, principal = call.context.costly, call.caller.principal
    costly.begin(principal)
    try:
        return await tool.run(given, call)
    finally:
        costly.end(principal.id)


def find_tool(name: str) -> Tool | None:
    """Return the tool with this name."""
    return TOOLS.get(name)


def read_arguments(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """Return the arguments of a tool, or raise an error that names the invalid one."""
    try:
        return msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        raise invalid_arguments(error, tool.arguments) from None


def _unexpected() -> GatepostError:
    return GatepostError("Something went wrong on our side. Nothing is known to have changed.", "internal_error")
