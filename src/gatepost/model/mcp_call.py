"""The calls of assistants, as they are recorded."""

from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

import msgspec

CallOutcome = Literal["done", "sent", "draft", "dry_run", "repeated", "refused", "failed"]
CALL_OUTCOMES: tuple[CallOutcome, ...] = get_args(CallOutcome)
Transport = Literal["http", "stdio"]
REQUEST_MAX = 1024 * 1024  # bytes of a request, over HTTP and stdio
CLIENT_MAX = 100
UNAVAILABLE, REFUSED = -32000, -32003  # JSON-RPC error codes that are free for implementations: retryable, and not
META_PREFIX = "io.modelcontextprotocol/"  # of what each request says about its client, and each answer about the server
VERSION_KEY, CLIENT_KEY = f"{META_PREFIX}protocolVersion", f"{META_PREFIX}clientInfo"
CAPABILITIES_KEY = f"{META_PREFIX}clientCapabilities"
ARGUMENTS_MAX = 4096  # bytes of the arguments that are recorded
_TEXT_MAX = 200  # characters of each string in them
_DEPTH_MAX = 20  # objects and arrays in each other; no tool takes so many
_CUT = "…"


class McpCall(msgspec.Struct, frozen=True):
    """One call of a tool."""

    id: UUID
    key_id: UUID
    at: datetime
    client: str  # name and version, as the client states them
    transport: Transport
    tool: str
    arguments: str  # JSON, shortened by `short_arguments`
    fingerprint: bytes | None = None  # of the tool and the arguments; None: a repetition is a new call


class CallResult(msgspec.Struct, frozen=True):
    """What became of a call."""

    outcome: CallOutcome
    rule: str | None = None  # of the policy
    code: str | None = None  # of the error
    contact_id: UUID | None = None
    ids: tuple[str, ...] = ()  # of the message, the draft, …


def storable(text: str, limit: int) -> str:
    """Return a text from outside in a form that PostgreSQL stores."""
    return text[:limit].replace("\x00", "").encode("utf-8", "replace").decode()


def short_arguments(arguments: Any) -> str:
    """Return arguments as JSON with long strings cut; of too many arguments only the beginning of their JSON."""
    text = msgspec.json.encode(_shortened(arguments)).decode()
    if len(text.encode()) <= ARGUMENTS_MAX:
        return text
    begin = text.encode()[: ARGUMENTS_MAX // 2 - 16].decode("utf-8", "ignore")
    return msgspec.json.encode({"cut": begin}).decode()


def _shortened(value: Any, depth: int = _DEPTH_MAX) -> Any:
    if isinstance(value, str):
        return storable(value, _TEXT_MAX) + (_CUT if len(value) > _TEXT_MAX else "")
    if isinstance(value, dict | list | tuple) and not depth:
        return _CUT
    if isinstance(value, dict):
        return {storable(str(name), _TEXT_MAX): _shortened(field, depth - 1) for name, field in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, depth - 1) for item in value]
    return value
