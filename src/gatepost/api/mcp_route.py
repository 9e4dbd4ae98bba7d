"""`/mcp`: authenticates and checks a request before it reaches the MCP server (`gatepost.mcp`).

Host, Origin ─► method ─► API key with the scope `mcp` ─► size ─► `gatepost.mcp`

Errors up to there have the statuses, codes and texts of the API, in the shape of JSON-RPC: clients show no other text.
A session is not enough: an assistant has its own key.
"""

import time
from urllib.parse import urlsplit

import msgspec

from gatepost.access.origin import origin_of
from gatepost.api.admission import client_address, read_headers
from gatepost.api.asgi import Receive, Scope, Send, WrongMethod
from gatepost.api.context import ApiContext
from gatepost.api.hot_routes import PROMPT, read_all
from gatepost.api.json_body import HttpAnswer, check_json
from gatepost.model.errors import BadRequest, Forbidden
from gatepost.model.mcp_call import REFUSED, REQUEST_MAX, UNAVAILABLE

PATH = "/mcp"
SCOPE = "mcp"
VALUES_MAX = 20_000  # in the JSON of a body: the SDK reads each of them on the event loop
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


async def serve_mcp(gateway: ApiContext, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request to the MCP server, or raise why it is rejected."""
    headers = read_headers(scope)
    check_host(gateway.public_url, headers.get(b"host", ""), headers.get(b"origin"))
    if scope["method"] != "POST":  # no event streams and no sessions: each request has one answer
        raise WrongMethod("POST")
    authorization, address = headers.get(b"authorization"), client_address(gateway, scope, headers)
    caller, left = await gateway.gate.admit(authorization, SCOPE, address)
    scope.setdefault("state", {}).update(caller=caller, left=left)
    check_json(headers.get(b"content-type"))
    admitted_at = time.monotonic()
    body = await read_all(headers, receive, REQUEST_MAX)
    check_values(body)
    scope["state"]["size"] = len(body)
    if time.monotonic() - admitted_at > PROMPT:
        await gateway.gate.check(authorization, SCOPE)
    await gateway.mcp(scope, body, receive, send)


def as_json_rpc(answer: HttpAnswer) -> HttpAnswer:
    """Return an error response of the API as one of JSON-RPC. It has no id: the message may not have been read."""
    failure = msgspec.json.decode(answer.body)
    details = failure["error"]
    code = UNAVAILABLE if details["retryable"] else REFUSED
    error = {"code": code, "message": failure["message"], "data": details}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
    return msgspec.structs.replace(answer, body=body)


def check_host(public_url: str, host: str, origin: str | None) -> None:
    """Reject requests to a foreign host name or from a foreign page: a page may point its own name at this address."""
    own = origin_of(public_url)
    if not _fits(own, f"{urlsplit(own).scheme or 'http'}://{host}"):
        raise Forbidden(
            f"This address answers MCP requests to {own or 'localhost'} only, not to the Host of this request. If the "
            "address is wrong, the operator has to set server.public_url.",
            "wrong_host",
        )
    if origin is not None and not _fits(own, origin):
        raise Forbidden(
            f"MCP requests from a page must come from {own or 'localhost'}: the Origin of this request says otherwise.",
            "wrong_origin",
        )


def _fits(own: str, url: str) -> bool:
    """Return whether a URL has the gateway's own origin; without a public address, whether it is on this machine."""
    given = origin_of(url)
    if own:
        return given == own
    return given != "" and urlsplit(given).hostname in _LOOPBACK


def check_values(body: bytes) -> None:
    """Reject JSON with too many values, by its signs. Those in strings count, too: no call has so many."""
    if sum(map(body.count, (b",", b"[", b"{"))) > VALUES_MAX:
        raise BadRequest(f"The body may have at most {VALUES_MAX:,} commas and brackets.", "malformed_json")
