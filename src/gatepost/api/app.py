"""The REST door as one ASGI app: routes, the gate in front of them, and the errors behind."""

from typing import Any

from litestar import Litestar, Router
from litestar.connection import ASGIConnection
from litestar.di import Provide
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Scope

from gatepost.api import (
    batch,
    channel,
    collection,
    contacts,
    conversations,
    events,
    health,
    history,
    labels,
    media,
    messages,
    orders,
    profile,
    reference,
    templates,
    usage,
    webhooks,
)
from gatepost.api.errors import answer_error
from gatepost.api.front import Front
from gatepost.api.gateway import Gateway
from gatepost.api.openapi.routes import list_operations
from gatepost.model.account import Caller

ROUTES: list[Any] = [
    history.list_messages,
    history.export_messages,
    batch.send_batch,
    messages.get_message,
    messages.get_trace,
    messages.post_cancel,
    messages.patch_message,
    messages.remove_message,
    messages.post_read,
    conversations.list_all,
    conversations.get_conversation,
    conversations.change_conversation,
    conversations.list_messages,
    conversations.post_read,
    conversations.post_typing,
    contacts.list_all,
    contacts.create_contact,
    contacts.check_contacts,
    contacts.import_contacts,
    contacts.export_contacts,
    contacts.get_contact,
    contacts.change_contact,
    contacts.delete_contact,
    contacts.merge_contact,
    orders.list_all,
    orders.get_order,
    orders.change_order,
    usage.show_usage,
    labels.list_labels,
    labels.create_label,
    labels.get_label,
    labels.change_label,
    labels.delete_label,
    labels.label_conversation,
    labels.unlabel_conversation,
    labels.label_contact,
    labels.unlabel_contact,
    webhooks.create_webhook,
    webhooks.list_webhooks,
    webhooks.get_webhook,
    webhooks.change_webhook,
    webhooks.delete_webhook,
    webhooks.list_webhook_attempts,
    media.upload_media,
    media.get_media,
    media.get_content,
    media.delete_media,
    events.list_events,
    channel.show_channel,
    channel.connect_channel,
    channel.show_qr,
    channel.make_pairing_code,
    channel.log_out_channel,
    profile.get_profile,
    profile.change_profile,
    profile.get_health,
    templates.list_all,
    templates.create_template,
    templates.get_template,
    templates.edit_template,
    templates.delete_template,
    templates.sync_templates,
    templates.preview_template,
]
HEALTH: list[Any] = [health.healthz, health.readyz]
REFERENCE: list[Any] = [
    reference.show_openapi,
    reference.show_docs,
    reference.show_docs_style,
    reference.show_docs_script,
    collection.get_collection,
]


def create_app(gateway: Gateway, *, public_only: bool = False) -> ASGIApp:
    """The app for one process."""
    app = Litestar(
        [
            Router("/", route_handlers=[*HEALTH, *([] if public_only else [*REFERENCE, *ROUTES])], guards=[admit]),
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
    app.state.operations = list_operations([*ROUTES, *REFERENCE, *HEALTH])
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
