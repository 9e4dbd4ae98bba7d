"""The REST door as one ASGI app: routes, the gate in front of them, and the errors behind."""

from typing import Any

from litestar import Litestar, Router
from litestar.connection import ASGIConnection
from litestar.di import Provide
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Scope

from gatepost.api import channel, events, health, messages, webhooks
from gatepost.api.errors import answer_error
from gatepost.api.front import Front
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
HEALTH: list[Any] = [health.healthz, health.readyz]


def create_app(gateway: Gateway, *, public_only: bool = False) -> ASGIApp:
    """The app for one process."""
    app = Litestar(
        [
            Router("/", route_handlers=[*HEALTH, *([] if public_only else ROUTES)], guards=[admit]),
        ],
        request_max_body_size=gateway.body_limit,
        dependencies={
            "gateway": Provide(lambda: gateway, sync_to_thread=False),
            "caller": Provide(_caller, sync_to_thread=False),
        },
        exception_handlers={Exception: answer_error},
        openapi_config=None,
        logging_config=None,
    )
    app.state.gateway = gateway
    return Front(app, gateway, hot=not public_only)


async def admit(connection: "ASGIConnection[Any, Any, Any, Any]", handler: BaseRouteHandler) -> None:
    """Every route names the scope that it needs, or says that it is public."""
    if not handler.opt.get("public"):
        gateway: Gateway = connection.app.state.gateway
        authorization = connection.headers.get("authorization")
        connection.scope["state"]["caller"] = await gateway.gate.admit(authorization, handler.opt["scope"])


def _caller(scope: Scope) -> Caller:
    caller: Caller = scope["state"]["caller"]
    return caller
