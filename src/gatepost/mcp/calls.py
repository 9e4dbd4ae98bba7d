"""One call of a tool: arguments checked, tool run, call recorded, answer written.

reading:   policy ─► tool ─► recorded, with the conversations that it reveals ─► answered
changing:  tool ─► judged, changed and recorded in one commit ─► answered

An answer that could not be recorded is not sent.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import structlog

from gatepost.compute import compute
from gatepost.mcp.failures import ToolFailure, invalid_arguments
from gatepost.mcp.outside_words import Presented, present
from gatepost.mcp.registry import Tool
from gatepost.mcp.resources import read_resource
from gatepost.mcp.tool_call import Call, McpContext, Picture
from gatepost.mcp.tools import TOOLS
from gatepost.model import ids
from gatepost.model.errors import GatepostError, Unavailable
from gatepost.model.mcp_call import CLIENT_MAX, CallResult, McpCall, Transport, short_arguments, storable
from gatepost.model.mcp_verdict import PolicyRefused
from gatepost.services.assistant_calls import check_reading

log = structlog.get_logger("gatepost.mcp")
OTHER = "other"  # the tool of calls of unknown tools, in metrics
RESOURCE = "read_resource"  # reading a resource is recorded like a tool of this name
_AGAIN = "again"
_SHORT = 16 * 1024  # bytes of a request whose arguments are shortened on the event loop


class ToolAnswer(msgspec.Struct, frozen=True):
    """The answer to a call, as an object and as text."""

    structured: dict[str, Any]
    text: str
    failed: bool = False
    picture: Picture | None = None


def new_call(context: McpContext, scope: Any, client: str) -> Call:
    """Return the call of a request. Its caller was authenticated before."""
    state, stdio = scope["state"], (b"gatepost-mcp-transport", b"stdio") in scope["headers"]
    transport: Transport = "stdio" if stdio else "http"
    return Call(context, state["caller"], context.clock.now(), client, transport, state["size"])


def tool_result(answer: ToolAnswer) -> dict[str, Any]:
    """Return an answer as the result that the protocol defines."""
    content = [{"type": "text", "text": answer.text}]
    if answer.picture is not None:
        content.append({"type": "image", "data": answer.picture.data, "mimeType": answer.picture.mime_type})
    return {
        "content": content,
        "structuredContent": answer.structured,
        "isError": answer.failed,
        "resultType": "complete",
    }


def find_tool(name: str) -> Tool | None:
    """Return the tool with this name."""
    return TOOLS.get(name)


async def call_tool(call: Call, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Run a tool, and return its answer or its error."""
    recorded = await _begin(call, tool.name, arguments)
    try:
        given = _read_arguments(tool, arguments)
        if tool.hints.read_only:
            answer = await _read(call, recorded, _run(tool, call), given, files=tool.files)
        else:
            call.record = msgspec.structs.replace(recorded, fingerprint=_fingerprint(tool, given))
            answer = present(await _run(tool, call)(given))
    except Exception as error:
        return await _fail(call, recorded, error)
    call.context.count(tool.name, call.outcome)
    return ToolAnswer(answer.structured, answer.text, picture=call.picture)


async def call_resource(call: Call, uri: str) -> Presented:
    """Read a resource, or raise why not."""
    recorded = await _begin(call, RESOURCE, {"uri": uri})
    try:
        answer = await _read(call, recorded, lambda address: read_resource(address, call), uri)
    except GatepostError as error:
        await _fail(call, recorded, error)
        raise
    call.context.count(RESOURCE, "done")
    return answer


async def _begin(call: Call, tool: str, arguments: Mapping[str, Any]) -> McpCall:
    small = call.size <= _SHORT
    return McpCall(
        id=ids.new_id(call.now),
        key_id=call.caller.principal.id,
        at=call.now,
        client=storable(call.client, CLIENT_MAX),
        transport=call.transport,
        tool=tool,
        arguments=short_arguments(arguments) if small else await compute(short_arguments, arguments),
    )


async def _read(
    call: Call, recorded: McpCall, run: Callable[[Any], Awaitable[Any]], given: Any, *, files: bool = False
) -> Presented:
    recorder = call.context.recorder
    found = await call.context.policies.get((call.channel_id, call.caller.principal.id))
    call.policy = check_reading(found, call.now, files=files)
    answer = present(await run(given))
    contact_id = next(iter(call.revealed)) if len(call.revealed) == 1 else None
    revealed = call.revealed | call.revealed_drafts
    await recorder.read(call.caller, recorded, CallResult("done", contact_id=contact_id), revealed)
    return answer


def _run(tool: Tool, call: Call) -> Callable[[Any], Awaitable[Any]]:
    """Return the function of a tool; a costly call counts while it runs."""

    async def run(given: Any) -> Any:
        if tool.costly is None or getattr(given, tool.costly) is None:
            return await tool.run(given, call)
        costly, principal = call.context.costly, call.caller.principal
        costly.begin(principal)
        try:
            return await tool.run(given, call)
        finally:
            costly.end(principal.id)

    return run


async def _fail(call: Call, recorded: McpCall, error: Exception) -> ToolAnswer:
    """Record a failure that nobody has recorded yet, and return its answer.

    An error that we did not expect says nothing about its cause.
    """
    if not isinstance(error, GatepostError):
        log.error("tool failed", tool=recorded.tool, exc_info=error)
        error = GatepostError("Something went wrong on our side. Nothing is known to have changed.", "internal_error")
    rule = error.rule if isinstance(error, PolicyRefused) else None
    result = CallResult("refused" if rule else "failed", rule, error.code)
    if not call.recorded and not isinstance(error, Unavailable):
        try:
            await call.context.recorder.read(call.caller, recorded, result)
        except Unavailable as unavailable:
            error = unavailable
    call.context.count(recorded.tool, result.outcome)
    answer = present({"error": ToolFailure.of(error)})
    return ToolAnswer(answer.structured, answer.text, failed=True)


def _read_arguments(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """Return the arguments of a tool, or raise an error that names the invalid one."""
    try:
        return msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        raise invalid_arguments(error, tool.arguments) from None


def _fingerprint(tool: Tool, given: Any) -> bytes | None:
    """Return what is the same for equal calls of a key; None if the caller wants the change again."""
    arguments = msgspec.to_builtins(given)
    if arguments.pop(_AGAIN, False):
        return None
    return hashlib.sha256(msgspec.json.encode((tool.name, arguments), order="sorted")).digest()
