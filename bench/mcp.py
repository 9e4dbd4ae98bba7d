"""Calls of assistants: CPU per call against the same question over REST and the bare SDK, latency, and memory."""

import argparse
import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
import uvloop

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Cpu, Gateway, running_gateway
from bench.measure import Sample
from bench.memory import MIB
from bench.processes import cpu_of, end_with_parent, resident, running, say
from bench.tenant import Tenant, make_tenant, meet_recipients
from gatepost.admin import keys
from gatepost.store.pool import Database

CALLERS = 10
COST_AIM = 1.1  # of REST and the bare SDK together
LATENCY_AIM = 0.150  # seconds, p99
_ROUNDS = 3
_LIMIT = 20
_REVISION = "2026-07-28"
_TOOL = "find_contacts"
_BODY = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": _TOOL,
        "arguments": {"limit": _LIMIT},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": _REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}
_HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": _REVISION,
    "mcp-method": "tools/call",
    "mcp-name": _TOOL,
}


class McpFindings(msgspec.Struct, frozen=True, kw_only=True):
    """The results of calls one after the other, with their floors, and of several callers at once."""

    call: Sample
    rest: Sample
    sdk: Sample
    many: Sample
    rest_mib: float  # memory before the first call
    loaded_mib: float  # after it

    @property
    def ratio(self) -> float:
        """Return the CPU of a call, relative to the same question over REST and a call of the bare SDK together."""
        return self.call.cost / (self.rest.cost + self.sdk.cost)


async def measure_mcp(folder: Path, seconds: float, progress: ShowProgress) -> McpFindings:
    """Measure with a gateway of role `api` that has 10,000 contacts."""
    config = write_config(folder)
    progress("mcp: starting a gateway (role api)")
    async with running_gateway(folder, config, role="api") as gateway:
        tenant = await make_tenant(gateway, config)
        await meet_recipients(gateway, tenant)
        key = await _assistant_key(gateway, tenant)
        before = resident(gateway.process) / MIB
        progress("mcp: the first call")
        await _calls(gateway, key, 1, requests=1)
        after = resident(gateway.process) / MIB
        async with _bare_sdk() as sdk:
            rounds = []
            for turn in range(_ROUNDS):
                progress(f"mcp and its floors: round {turn + 1} of {_ROUNDS}")
                rounds.append(
                    (
                        await _calls(gateway, key, 1, seconds=seconds / _ROUNDS),
                        await _questions(gateway, tenant, seconds / _ROUNDS),
                        await measure.load(*sdk, seconds=seconds / _ROUNDS, **_options(1, "")),
                    )
                )
        call, rest, bare = (measure.merge(samples) for samples in zip(*rounds, strict=True))
        progress(f"mcp: {CALLERS} callers")
        many = await _calls(gateway, key, CALLERS, seconds=seconds)
    return McpFindings(call=call, rest=rest, sdk=bare, many=many, rest_mib=before, loaded_mib=after)


async def _assistant_key(gateway: Gateway, tenant: Tenant) -> str:
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        made = await keys.create_key(db, tenant.channel_id, "Assistant", scopes=("mcp",), now=datetime.now(UTC))
        return made.text
    finally:
        await db.close()


def _options(connections: int, key: str) -> dict[str, Any]:
    body, headers = msgspec.json.encode(_BODY).decode(), msgspec.json.encode(_HEADERS).decode()
    return {"path": "/mcp", "connections": connections, "key": key, "body": body, "headers": headers, "recipients": 1}


async def _calls(gateway: Gateway, key: str, connections: int, seconds: float = 1.0, **more: int) -> Sample:
    return await measure.load(gateway.port, gateway.cpu, seconds=seconds, **_options(connections, key), **more)


async def _questions(gateway: Gateway, tenant: Tenant, seconds: float) -> Sample:
    path = f"/api/v1/contacts?limit={_LIMIT}"
    options = {"path": path, "method": "GET", "connections": 1, "key": tenant.key, "recipients": 1}
    return await measure.load(gateway.port, gateway.cpu, seconds=seconds, **options)


@asynccontextmanager
async def _bare_sdk() -> AsyncIterator[tuple[int, Any]]:
    """Run the bare SDK with one tool; yield its port, and how to read its CPU."""
    async with running("bench.mcp") as child:
        port = (await child.receive())["port"]
        yield port, lambda: Cpu(cpu_of(child.process), 0.0)


# -- the floor: `python -m bench.mcp` ----------------------------------------------------------------------------------


async def serve_bare_sdk() -> None:
    """Serve one tool that answers as many contacts as the gateway does, without a database, a key or a policy."""
    from mcp.server.lowlevel.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    contact = {"id": "ct_" + "0" * 32, "conversation": "cv_" + "0" * 32, "phone_ends": "0000"}
    answer = {"contacts": [contact] * _LIMIT, "next": "a" * 80}
    text = msgspec.json.encode(answer).decode()
    tool = {"name": _TOOL, "inputSchema": {"type": "object"}}

    async def list_tools(_context: Any, _params: Any) -> dict[str, Any]:
        return {"tools": [tool], "resultType": "complete"}

    async def call_tool(_context: Any, _params: Any) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return {"content": content, "structuredContent": answer, "isError": False, "resultType": "complete"}

    server: Any = Server(
        "bare",
        get_tool_input_schema={_TOOL: tool["inputSchema"]}.get,  # type: ignore[arg-type]
        on_list_tools=list_tools,  # type: ignore[arg-type]
        on_call_tool=call_tool,  # type: ignore[arg-type]
    )
    server.middleware.clear()
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=True)
    async with manager.run():
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        config = uvicorn.Config(
            manager.handle_request,
            interface="asgi3",  # a bound method is not recognized as such
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
        )
        say("ready", port=listener.getsockname()[1])
        await uvicorn.Server(config).serve(sockets=[listener])


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_bare_sdk())


if __name__ == "__main__":
    main()
