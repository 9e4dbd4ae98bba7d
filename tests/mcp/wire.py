"""Requests to `/mcp` as they are on the wire."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.running_gateway import Answer, Gateway

PATH = "/mcp"
REVISION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


def rpc(method: str, **params: Any) -> dict[str, Any]:
    """Return a request of today's protocol."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": ENVELOPE}}


def modern(method: str, name: str | None = None) -> dict[str, str]:
    """Return the headers of a request of today's protocol."""
    named = {"mcp-name": name} if name else {}
    return ACCEPT | {"mcp-protocol-version": REVISION, "mcp-method": method} | named


async def post(
    gateway: Gateway, key: str, body: Any = None, headers: Mapping[str, str] = {}, raw: bytes | None = None
) -> Answer:
    """Send a request to `/mcp`; by default one that lists the tools."""
    body = rpc("tools/list") if body is None and raw is None else body
    default = modern(body["method"], body.get("params", {}).get("name")) if isinstance(body, dict) else ACCEPT
    sent = raw if raw is not None else msgspec.json.encode(body)
    return await gateway.call("POST", PATH, raw=sent, key=key, headers={**default, **headers})


def check_rejected(answer: Answer, status: int, code: str) -> str:
    """Check that a request did not reach the protocol; return the message of its error."""
    assert answer.status == status, (answer.status, answer.body)
    body = answer.json()
    assert (body["jsonrpc"], body["id"]) == ("2.0", None)
    error, data = body["error"], body["error"]["data"]
    assert error["code"] == (-32000 if data["retryable"] else -32003)
    assert (data["code"], data["docs"]) == (code, f"/docs/reference/errors#{code}")
    assert data["request_id"] == answer.headers["x-request-id"]
    message: str = error["message"]
    return message
