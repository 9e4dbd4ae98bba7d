"""The REST API as one ASGI app: routes, authentication, and errors."""

from functools import cache
from typing import Any

from litestar import Litestar, Request, Response, Router
from litestar.connection import ASGIConnection
from litestar.di import Provide
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from gatepost.access.access_recheck import remember_access
from gatepost.access.costly import is_costly
from gatepost.api import (
    account,
    account_channels,
    account_keys,
    account_presence,
    account_stream,
    account_usage,
    account_users,
    batch,
    cancel,
    channel,
    channel_setup,
    collection,
    contacts,
    conversations,
    credential_test,
    deliveries,
    docs_pages,
    drafts,
    event_pages,
    events,
    hand_over,
    health,
    history,
    key_policies,
    labels,
    mcp_calls,
    media,
    messages,
    metrics,
    notes,
    one_time_links,
    orders,
    profile,
    recoveries,
    reference,
    saved_views,
    session,
    templates,
    usage,
    webhook_secrets,
    webhook_test,
    webhooks,
)
from gatepost.api.admission import admit_request, read_headers
from gatepost.api.context import ApiContext
from gatepost.api.deprecations import DEPRECATIONS, check_deprecations
from gatepost.api.dispatcher import Dispatcher
from gatepost.api.errors import answer_error, name_methods
from gatepost.api.openapi.routes import list_operations
from gatepost.api.suggestions import KnownRoutes
from gatepost.model.account import Caller
from gatepost.model.session import AccessRule, SignedInUser

ROUTES: list[Any] = [
    history.list_messages,
    history.export_messages,
    batch.send_batch,
    cancel.post_selection,
    messages.get_message,
    messages.get_trace,
    messages.post_cancel,
    messages.patch_message,
    messages.remove_message,
    messages.post_read,
    conversations.list_all,
    conversations.count_all,
    conversations.get_conversation,
    conversations.change_conversation,
    conversations.list_messages,
    conversations.post_read,
    conversations.post_typing,
    notes.list_notes,
    notes.add_note,
    notes.delete_note,
    hand_over.get_hand_over,
    hand_over.end_hand_over,
    drafts.list_drafts,
    drafts.create_draft,
    drafts.get_draft,
    drafts.edit_draft,
    drafts.approve_draft,
    drafts.refuse_draft,
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
    mcp_calls.list_mcp_calls,
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
    recoveries.recover_webhook,
    recoveries.list_all,
    recoveries.get_recovery,
    deliveries.list_deliveries,
    deliveries.get_delivery,
    deliveries.retry_delivery,
    deliveries.retry_deliveries,
    webhooks.change_webhook,
    webhooks.delete_webhook,
    webhooks.list_webhook_attempts,
    webhooks.list_webhook_figures,
    webhook_secrets.rotate_secret,
    webhook_secrets.verify_delivery,
    webhook_test.try_webhook,
    media.upload_media,
    media.get_media,
    media.get_content,
    media.delete_media,
    events.list_events,
    events.stream_events,
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
    templates.check_template,
    templates.get_template,
    templates.edit_template,
    templates.delete_template,
    templates.sync_templates,
    templates.preview_template,
    account.show_account,
    account.show_checklist,
    account_usage.show_account_usage,
    account.list_log,
    account_stream.stream_account,
    account_presence.put_presence,
    account_channels.list_account_channels,
    account_channels.get_account_channel,
    channel_setup.create_account_channel,
    credential_test.test_account_channel,
    account_channels.change_account_channel,
    account_channels.delete_account_channel,
    account_keys.list_account_keys,
    account_keys.list_refused_requests,
    account_keys.create_account_key,
    account_keys.rotate_account_key,
    account_keys.revoke_account_key,
    key_policies.get_key_policy,
    key_policies.put_key_policy,
    key_policies.get_mcp_access,
    key_policies.put_mcp_access,
    account_users.list_account_users,
    account_users.invite_account_user,
    account_users.change_account_user,
    account_users.delete_account_user,
    account_users.create_account_reset_link,
    session.sign_in,
    session.get_session,
    session.sign_out,
    session.change_password,
    session.begin_totp,
    session.confirm_totp,
    session.replace_recovery_codes,
    session.remove_totp,
    saved_views.list_views,
    saved_views.replace_views,
    one_time_links.get_link,
    one_time_links.use_link,
]
HEALTH: list[Any] = [health.healthz, health.readyz]
FIGURES: list[Any] = [metrics.show_metrics]  # for the operator: not in the reference
REFERENCE: list[Any] = [
    reference.show_openapi,
    reference.show_docs,
    reference.show_docs_style,
    reference.show_docs_script,
    event_pages.show_events_page,
    event_pages.show_event_schema,
    collection.get_collection,
]


def create_app(gateway: ApiContext, *, public_only: bool = False) -> Dispatcher:
    """Return the ASGI app of a process."""
    app = _framework(gateway.body_limit, public_only, figures=bool(gateway.figures.token))
    check_deprecations(DEPRECATIONS, {operation.key for operation in app.state.operations})
    return Dispatcher(app, gateway, hot=not public_only)


@cache
def _framework(body_limit: int, public_only: bool, *, figures: bool) -> Litestar:
    """Return the framework with all routes. It is slow to create, and cached: each request carries its own gateway."""
    operator = [*HEALTH, *FIGURES] if figures else HEALTH  # without a token the route does not exist
    customers = [] if public_only else [*docs_pages.ROUTES, *REFERENCE, *ROUTES]
    app = Litestar(
        [
            Router("/", route_handlers=[*operator, *customers], guards=[admit]),
        ],
        request_max_body_size=body_limit,
        dependencies={
            "gateway": Provide(_gateway, sync_to_thread=False),
            "caller": Provide(_caller, sync_to_thread=False),
            "user": Provide(_user, sync_to_thread=False),
        },
        before_request=answer_options,
        exception_handlers={Exception: answer_error},
        openapi_config=None,
        logging_config=None,
    )
    app.state.operations = list_operations([*ROUTES, *REFERENCE, *HEALTH])
    app.state.known_routes = KnownRoutes.of((operation.method, operation.path) for operation in app.state.operations)
    app.state.methods = {route.path_format: name_methods(route.methods) for route in app.routes}
    return app


async def answer_options(request: Request[Any, Any, Any]) -> Response[None] | None:
    """Answer OPTIONS. The framework's own response names only the first method that was registered for a path."""
    if request.method != "OPTIONS":
        return None
    return Response(None, status_code=204, headers={"Allow": request.app.state.methods[request.scope["path_template"]]})


async def admit(connection: "ASGIConnection[Any, Any, Any, Any]", handler: BaseRouteHandler) -> None:
    """Authenticate a request, unless its route is public, and check what the route requires."""
    scope: Any = connection.scope
    if scope["state"].get("head"):  # the route is found as GET: restore the method
        scope["method"] = "HEAD"
    rule: AccessRule | None = handler.opt.get("access")
    if rule is not None and scope["method"] != "OPTIONS":  # which only names the methods
        gateway, state = _gateway(scope), scope["state"]
        admitted = await admit_request(gateway, scope, read_headers(scope), rule)
        state.update(left=admitted.left, access=rule)
        if admitted.caller is not None:
            state["caller"] = admitted.caller
        if admitted.user is not None:
            state["user"] = admitted.user
        remember_access(scope, admitted.recheck)
        if is_costly(handler.opt.get("costly"), connection.query_params):
            gateway.costly.begin(admitted.principal)
            state["costly"] = admitted.principal.id  # ended in `dispatcher.py`


def _gateway(scope: Scope) -> ApiContext:
    gateway: ApiContext = scope["state"]["gateway"]
    return gateway


def _caller(scope: Scope) -> Caller:
    caller: Caller = scope["state"]["caller"]
    return caller


def _user(scope: Scope) -> SignedInUser:
    user: SignedInUser = scope["state"]["user"]
    return user
