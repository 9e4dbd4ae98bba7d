"""Plain calls of tools in today's protocol, answered without the SDK.

request ─► its headers and body are what the protocol asks for ─► call_tool ─► one JSON response
   └ anything else ─► None: the SDK answers it, and finds what is wrong

The SDK needs as much time for a request as the rest of a call. Other methods and older protocols are rare enough.
"""

from typing import Any, Literal

import msgspec

from gatepost import __version__
from gatepost.mcp.calls import call_tool, find_tool, new_call, tool_result
from gatepost.mcp.tool_call import McpContext
from gatepost.model.mcp_call import CAPABILITIES_KEY, CLIENT_KEY, META_PREFIX, VERSION_KEY

REVISION = "2026-07-28"
NAME, TITLE = "gatepost", "Gatepost"
_SERVER = {f"{META_PREFIX}serverInfo": {"name": NAME, "title": TITLE, "version": __version__}}
_METHOD = "tools/call"
_JSON = (b"application/json", b"application/*", b"*/*")
_ROUTING = b"mcp-"  # how the names of the protocol's own headers begin


class _Client(msgspec.Struct, frozen=True):
    name: str
    version: str


class _Meta(
    msgspec.Struct,
    frozen=True,
    rename={"revision": VERSION_KEY, "client": CLIENT_KEY, "capabilities": CAPABILITIES_KEY},
):
    revision: Literal[REVISION]  # type: ignore[valid-type]
    client: _Client
    capabilities: dict[str, Any]


class _Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"meta": "_meta"}):
    name: str
    meta: _Meta
    arguments: dict[str, Any] | None = None


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal[_METHOD]  # type: ignore[valid-type]
    params: _Params


_read = msgspec.json.Decoder(_Request).decode
_write = msgspec.json.Encoder().encode


class PlainCalls:
    """Answers plain calls of tools."""

    def __init__(self, context: McpContext) -> None:
        self._context = context

    async def answer(self, scope: Any, body: bytes) -> bytes | None:
        """Return the body of the response; None if the request is not a plain call."""
        headers = scope["headers"]
        if (b"mcp-method", _METHOD.encode()) not in headers or not _takes_json(headers):
            return None
        try:
            request = _read(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        params = request.params
        tool = find_tool(params.name)
        if tool is None or not _fit(headers, params.name):
            return None
        client = f"{params.meta.client.name} {params.meta.client.version}"
        call = new_call(self._context, scope, client)
        result = tool_result(await call_tool(call, tool, params.arguments or {}))
        return _write({"jsonrpc": "2.0", "id": request.id, "result": {**result, "_meta": _SERVER}})


def _takes_json(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether the client takes JSON; the SDK takes the first of several headers, so only one is plain."""
    accepted = [value for name, value in headers if name == b"accept"]
    return len(accepted) == 1 and any(
        part.partition(b";")[0].strip().lower() in _JSON for part in accepted[0].split(b",")
    )


def _fit(headers: list[tuple[bytes, bytes]], tool: str) -> bool:
    """Return whether the headers of the protocol say what the body says, each once, and there are no others."""
    given = sorted((name, value) for name, value in headers if name.startswith(_ROUTING))
    wanted = {"mcp-method": _METHOD, "mcp-name": tool, "mcp-protocol-version": REVISION}
    return given == [(name.encode(), value.encode()) for name, value in wanted.items()]
