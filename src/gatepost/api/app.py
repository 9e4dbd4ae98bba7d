"""The REST door as one ASGI app: routes, the gate in front of them, and the errors behind."""

import os
from typing import Any

from litestar import Litestar, Router
from litestar.connection import ASGIConnection
from litestar.di import Provide
from litestar.enums import ScopeType
from litestar.handlers import BaseRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from gatepost.api import channel, events, health, hot, messages, webhooks
from gatepost.api.errors import answer_error
from gatepost.api.gateway import Gateway
from gatepost.model.account import Caller

ROUTES: list[Any] = [
    messages.get_message,
    messages.get_trace,
    messages.post_cancel,
    webhooks.create_webhook,
    webhooks.list_webhooks,
    webhooks.get_webhook,
    webhooks.change_webhook,
    webhooks.delete_webhook,
    webhooks.list_webhook_attempts,
    events.list_events,
    channel.show_channel,
]
HOT: list[Any] = [hot.send_message, hot.cloud_callback]
HEALTH: list[Any] = [health.healthz, health.readyz]


def create_app(gateway: Gateway, version: str, *, public_only: bool = False) -> ASGIApp:
    """The app for one process."""
    app = Litestar(
        [
            Router("/", route_handlers=[*HEALTH, *([] if public_only else ROUTES)], guards=[admit]),
            *([] if public_only else HOT),
        ],
        request_max_body_size=gateway.body_limit,
        dependencies={
            "gateway": Provide(lambda: gateway, sync_to_thread=False),
            "caller": Provide(_caller, sync_to_thread=False),
        },
        exception_handlers={Exception: answer_error},
        openapi_config=OpenAPIConfig("Gatepost", version),
        logging_config=None,
    )
    app.state.gateway = gateway
    if app.openapi_schema.paths is not None and not public_only:
        app.openapi_schema.paths.update(hot.described())
    return RequestIds(app)


async def admit(connection: "ASGIConnection[Any, Any, Any, Any]", handler: BaseRouteHandler) -> None:
    """Every route names the scope that it needs, or says that it is public."""
    if not handler.opt.get("public"):
        gateway: Gateway = connection.app.state.gateway
        authorization = connection.headers.get("authorization")
        connection.scope["state"]["caller"] = await gateway.gate.admit(authorization, handler.opt["scope"])


def _caller(scope: Scope) -> Caller:
    caller: Caller = scope["state"]["caller"]
    return caller


class RequestIds:
    """Gives every request an id, and every answer the header that tells it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request_id = "req_" + os.urandom(12).hex()
        scope.setdefault("state", {})["request_id"] = request_id
        header = (b"x-request-id", request_id.encode())

        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], header]
            await send(message)

        await self._app(scope, receive, tagged)
