"""A parsed request to the network, and the types of results."""

from collections.abc import Awaitable
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from multipart import MultipartError, MultipartParser, parse_options_header  # type: ignore[import-untyped]

from gatepost_sandbox.errors import Refusal, parameter
from gatepost_sandbox.graph.asgi import BODY_MAX, Scope


class Call(msgspec.Struct, frozen=True):
    """A parsed request."""

    method: str
    object_id: str
    path: str  # the part after the object
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    root: str  # the address that the client used

    @property
    def token(self) -> str | None:
        """The access token: in the query or in the header."""
        if self.query.get("access_token"):
            return self.query["access_token"]
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() or None if scheme.lower() in SCHEMES else None

    @property
    def rest(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


class Raw(msgspec.Struct, frozen=True):
    """A response that is not JSON."""

    content: bytes
    mime_type: str


class File(msgspec.Struct, frozen=True):
    """A file in a form."""

    content: bytes
    mime_type: str
    filename: str | None


Result = dict[str, Any] | Raw | Refusal
Outcome = Result | Awaitable[Result]
SUCCESS: dict[str, Any] = {"success": True}
SCHEMES = ("bearer", "oauth")  # of the header Authorization
_CREDENTIALS = ("access_token", "appsecret_proof")


def read_call(scope: Scope, parts: list[str], body: bytes) -> Call:
    """Parse a request; `parts` is its path without the version."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    parts = [part for part in parts if part]
    return Call(
        method=scope["method"],
        object_id=parts[0] if parts else "",
        path="/".join(parts[1:]),
        query=query,
        headers=headers,
        body=body,
        root=root_of(scope),
    )


def root_of(scope: Scope) -> str:
    """Return the address that a request was sent to, for links back to here."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    return f"{scope.get('scheme', 'http')}://{host.decode('latin-1')}"


def read_params(call: Call) -> dict[str, Any] | Refusal:
    """Return the parameters of a request, from the query, JSON or a form."""
    params: dict[str, Any] = {name: value for name, value in call.query.items() if name not in _CREDENTIALS}
    kind = call.headers.get("content-type", "")
    if not call.body:
        return params
    if kind.startswith("multipart/form-data"):
        form = read_form(call)
        return form if isinstance(form, Refusal) else params | form
    if kind.startswith("application/x-www-form-urlencoded"):
        return params | dict(parse_qsl(call.body.decode("utf-8", "replace"), keep_blank_values=True))
    try:
        body = msgspec.json.decode(call.body)
        body = msgspec.json.decode(body) if isinstance(body, str) else body  # some clients write JSON inside JSON
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parameter("Invalid parameter: the request body is not valid JSON.")
    if not isinstance(body, dict):
        return parameter("Invalid parameter: the request body must be a JSON object.")
    return params | body


def read_form(call: Call) -> dict[str, str | File] | Refusal:
    """Return the fields and files of a multipart form."""
    boundary = parse_options_header(call.headers["content-type"])[1].get("boundary")
    if not boundary:
        return parameter("Invalid parameter: the form has no boundary.")
    found: dict[str, str | File] = {}
    try:
        for part in MultipartParser(BytesIO(call.body), boundary, spool_limit=BODY_MAX, memory_limit=BODY_MAX):
            plain = part.filename is None and part.name != "file"
            kind = part.headers.get("Content-Type", "")
            found[part.name] = part.value if plain else File(part.raw, kind, part.filename)
            part.close()
    except (MultipartError, UnicodeDecodeError):
        return parameter("Invalid parameter: the form cannot be read.")
    return found
