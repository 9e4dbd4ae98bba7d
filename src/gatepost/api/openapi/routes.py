"""All routes, as described in the reference and in the collection."""

import inspect
import re
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gatepost.api import hot_routes
from gatepost.api.openapi.error_codes import SENDING
from gatepost.api.openapi.route_docs import RouteDocs, Sample, WaitUntil
from gatepost.api.query import Query, QueryReader
from gatepost.model.accepted import Accepted
from gatepost.model.send_request import MESSAGE_TYPES, SendRequest, example_send
from gatepost.model.session import AccessRule
from gatepost.networks.kinds import NETWORK_KINDS

_PARAMETER = re.compile(r"\{(\w+)\}")


class Operation(msgspec.Struct, frozen=True):
    """One method of one path."""

    method: str
    path: str
    name: str
    summary: str
    description: str
    access: AccessRule | None  # None: public
    docs: RouteDocs
    costly: bool = False  # whether the number of concurrent requests is limited

    @property
    def scope(self) -> str | None:
        """The scope that a key or session needs; None if the route takes no key."""
        return self.access.scope if self.access else None

    @property
    def changes(self) -> bool:
        """Whether a session needs the CSRF token."""
        return self.method not in ("GET", "HEAD")

    @property
    def body(self) -> Any:
        """The type of the JSON body, or None."""
        return self.docs.body

    @property
    def status(self) -> int:
        """The status of a success."""
        return self.docs.status

    @property
    def key(self) -> str:
        """The name of the route: `GET /api/v1/messages/{message_id}`."""
        return f"{self.method} {self.path}"

    @property
    def parameters(self) -> list[str]:
        """The names of the variable parts of its path."""
        return _PARAMETER.findall(self.path)

    @property
    def resource(self) -> str:
        """The resource of the route: the first part of its path."""
        words = self.path.removeprefix("/api/v1/").strip("/").split("/")
        return {"message": "messages", "callbacks": "callbacks"}.get(words[0], words[0])


_SENDS = {type_: example_send(type_) for type_ in MESSAGE_TYPES}
_APPROVED = WaitUntil("/api/v1/templates/{{sent_template_id}}", 'data.status === "APPROVED"')


def _sample(type_: str, body: dict[str, Any]) -> Sample:
    """Return the example send of a type, for the kinds of channel that support it."""
    can = {name: kind.capabilities for name, kind in NETWORK_KINDS.items()}
    kinds = [name for name in can if type_ in can[name].types | can[name].as_text]
    return Sample(
        MESSAGE_TYPES[type_].title,
        body,
        folder="message types",
        only=kinds[0] if len(kinds) == 1 else None,
        after=_APPROVED if type_ == "template" else None,
    )


SEND = Operation(
    "POST",
    hot_routes.SEND,
    "send_message",
    "Send a message",
    inspect.getdoc(hot_routes.send_message) or "",
    AccessRule("send"),
    RouteDocs(
        data=Accepted,
        body=SendRequest,
        once=True,
        headers=("Idempotency-Key",),
        message="Message queued",
        errors=SENDING,
        example=_SENDS["text"],
        examples=_SENDS,
        keeps={"message_id": "data.key.id"},
        more=(
            Sample("Send a message later", _SENDS["text"] | {"send_at": "{{later}}"}, {"scheduled_id": "data.key.id"}),
            *(_sample(type_, body) for type_, body in _SENDS.items()),
        ),
    ),
)


class HandshakeQuery(Query, frozen=True, kw_only=True, rename=lambda name: f"hub.{name}"):
    """What the network sends when the callback address is set."""

    mode: Annotated[str, Meta(description="`subscribe`.")] | None = None
    challenge: Annotated[str, Meta(description="The text to return.")] | None = None
    verify_token: Annotated[str, Meta(description="The channel's verify token.")] | None = None


_CALLBACK = "/callbacks/cloud/{channel_id}"
CALLBACKS = (
    Operation(
        "GET",
        _CALLBACK,
        "shake_hands",
        "Verify the callback URL",
        inspect.getdoc(hot_routes.shake_hands) or "",
        None,
        RouteDocs(
            query=tuple(QueryReader(HandshakeQuery).parameters.values()),
            errors=("invalid_signature",),
            binary=("text/plain",),
        ),
    ),
    Operation(
        "POST",
        _CALLBACK,
        "take_callback",
        "Receive the network's updates",
        inspect.getdoc(hot_routes.take_callback) or "",
        None,
        RouteDocs(
            errors=("invalid_signature", "malformed_json", "body_too_large", "overloaded"), binary=("text/plain",)
        ),
    ),
)


def list_operations(routes: Iterable[Any]) -> list[Operation]:
    """Return all operations: the hot routes, and the others in their order."""
    return [SEND, *map(_operation, routes), *CALLBACKS]


def _operation(route: Any) -> Operation:
    docs: RouteDocs = route.docs
    function = route.function
    return Operation(
        route.method,
        route.path,
        docs.operation_id or f"{function.__module__.rpartition('.')[2]}_{function.__name__}",
        route.summary,
        " ".join((function.__doc__ or "").split()),
        route.access,
        docs,
        route.costly is not None,
    )
