"""What the routes say of themselves."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from gatepost.api import hot_routes
from gatepost.api.openapi.notes import NOTES
from gatepost.api.openapi.route_docs import RouteDocs
from gatepost.model.message import SendRequest

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


class Operation(msgspec.Struct, frozen=True):
    """One method of one path."""

    method: str
    path: str
    name: str
    summary: str
    description: str
    scope: str | None  # None: no key is needed
    status: int
    docs: RouteDocs
    body: Any = None  # the type of its JSON body, where it has one
    costly: bool = False  # whether only so many may run at once

    @property
    def key(self) -> str:
        """How notes and people name it: `GET /api/v1/messages/{message_id}`."""
        return f"{self.method} {self.path}"

    @property
    def parameters(self) -> list[str]:
        """The names of the variable parts of its path."""
        return _PARAMETER.findall(self.path)

    @property
    def resource(self) -> str:
        """What it is about: the first word of its path."""
        words = self.path.removeprefix("/api/v1/").strip("/").split("/")
        return {"message": "messages", "callbacks": "callbacks"}.get(words[0], words[0])


def _hot(method: str, path: str, summary: str, handler: Callable[..., Any], **more: Any) -> Operation:
    description = (handler.__doc__ or "").strip()
    docs = NOTES[f"{method} {path}"]
    return Operation(
        method, path, handler.__name__, summary, description, more.get("scope"), 200, docs, more.get("body")
    )


_CALLBACK = hot_routes.CALLBACKS + "{channel_id}"
SEND = _hot("POST", hot_routes.SEND, "Send a message", hot_routes.send_message, scope="send", body=SendRequest)
CALLBACKS = (
    _hot("GET", _CALLBACK, "Shake hands with the network", hot_routes.shake_hands),
    _hot("POST", _CALLBACK, "Take updates of the network", hot_routes.take_callback),
)


def list_operations(handlers: Iterable[Any]) -> list[Operation]:
    """Every operation of the gateway: the hot routes, and those of the framework in their order."""
    return [SEND, *(operation for handler in handlers for operation in _read(handler)), *CALLBACKS]


def _read(handler: Any) -> list[Operation]:
    return [
        _operation(handler, method, _PARAMETER.sub(r"{\1}", path))
        for path in sorted(handler.paths)
        for method in sorted(handler.http_methods - {"OPTIONS", "HEAD"})
    ]


def _operation(handler: Any, method: str, path: str) -> Operation:
    docs = getattr(handler.fn, "docs", None) or NOTES[f"{method} {path}"]
    return Operation(
        method,
        path,
        docs.operation_id or f"{handler.fn.__module__.rpartition('.')[2]}_{handler.fn.__name__}",
        handler.summary or "",
        (handler.fn.__doc__ or "").strip(),
        None if handler.opt.get("public") else handler.opt["scope"],
        handler.status_code,
        docs,
        docs.body or _body(handler.fn),
        "costly" in handler.opt,
    )


def _body(function: Any) -> Any:
    """The type that a handler reads its body as: that of the decoder which it names."""
    used = [function.__globals__.get(name) for name in function.__code__.co_names]
    return next((decoder.type for decoder in used if isinstance(decoder, msgspec.json.Decoder)), None)
