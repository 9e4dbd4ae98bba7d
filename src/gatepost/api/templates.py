"""Templates: list, create, get, edit, delete, sync with the network, preview."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta

from gatepost.admin.channels import get_channel
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.templates import TemplateShown
from gatepost.api.idempotency import CreateOnce
from gatepost.api.openapi.error_codes import NETWORK
from gatepost.api.openapi.route_docs import Sample, WaitUntil
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Paged
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, patch, post
from gatepost.model.account import Caller
from gatepost.model.template import NewTemplate, Preview
from gatepost.services import templates as service
from gatepost.services.business import check_templates, open_account
from gatepost.services.templates import PreviewRequest, TemplateChange, TemplateCheck, TemplateService
from gatepost.store.idempotency import IdempotentRequest
from gatepost.store.templates import StoredTemplate, Synced, TemplateFilter, list_templates

_PATH = "/api/v1/templates"
_ONE = _PATH + "/{template_id}"
_BODY: dict[str, Any] = {
    "type": "BODY",
    "text": "Hello {{1}}, your order {{2}} has left our house today.",
    "example": {"body_text": [["Ana", "4711"]]},
}
_READY = _BODY | {"text": "Hello {{1}}, your order {{2}} of list {{$timestamp}} is ready to be fetched."}
_NEW = {"name": "order_sent_{{$timestamp}}", "language": "en_US", "category": "UTILITY", "components": [_BODY]}
_TO_SEND = Sample(
    "Create a template to send",
    _NEW | {"name": "order_ready_{{$timestamp}}", "components": [_READY]},  # the network rejects the same text twice
    {"sent_template_id": "data.id", "template_name": "data.name"},
)
_REVIEWED = WaitUntil("/api/v1/templates/{{template_id}}", 'data.status !== "PENDING"')


class TemplateQuery(Paged, frozen=True, kw_only=True):
    """Which templates; all filters have to fit."""

    status: Annotated[str, Meta(description="Only items with this status.")] | None = None
    category: Annotated[str, Meta(description="Only templates of this category.")] | None = None
    language: Annotated[str, Meta(description="Only templates in this language.")] | None = None
    name: Annotated[str, Meta(description="Only templates whose name contains this text.")] | None = None

    def filter(self) -> TemplateFilter:
        """Return what to read."""
        given = self.given()
        upper = {name: given[name].upper() for name in ("status", "category") if name in given}
        return TemplateFilter(**(given | upper))


@get(_PATH, scope="read", summary="List templates", errors=("unsupported_on_channel",), only="official")
async def list_all(query: TemplateQuery, gateway: Context, caller: CurrentCaller) -> Page[TemplateShown]:
    """The channel's templates, the newest first, filtered by status, category, language or a part of the name."""
    check_templates(caller.kind)
    before = read_cursor(query.cursor, UUID)
    rows = await list_templates(gateway.db, caller.channel_id, query.filter(), before, query.limit)
    return Page([TemplateShown.of(row) for row in rows], show_cursor(rows[-1].id) if len(rows) == query.limit else None)


@post(
    _PATH,
    scope="manage",
    summary="Create a template",
    message="Template submitted for review",
    errors=NETWORK,
    example=_NEW,
    keeps={"template_id": "data.id"},
    more=(_TO_SEND,),
    only="official",
)
async def create_template(
    body: NewTemplate, once: CreateOnce, gateway: Context, caller: CurrentCaller
) -> Created[TemplateShown]:
    """Submits a template to the network for review."""

    async def make(request: IdempotentRequest[StoredTemplate]) -> StoredTemplate:
        return await service.create_template(await _templates(gateway, caller), body, request)

    return await once.create(make, TemplateShown.of)


@post(
    _PATH + "/check",
    scope="read",
    summary="Check a template",
    errors=("unsupported_on_channel",),
    example=_NEW,
    only="official",
)
async def check_template(body: NewTemplate, gateway: Context, caller: CurrentCaller) -> TemplateCheck:
    """All violations of the network's rules in a template, and its preview. Nothing is created or submitted."""
    check_templates(caller.kind)
    return await service.check_template(gateway.db, caller.channel_id, body)


@get(_ONE, scope="read", summary="Get a template", only="official")
async def get_template(template_id: str, gateway: Context, caller: CurrentCaller) -> TemplateShown:
    """One template with its current status."""
    return TemplateShown.of(await service.access_template(gateway.db, caller.channel_id, template_id))


@patch(
    _ONE,
    scope="manage",
    summary="Edit a template",
    message="Template changed",
    errors=NETWORK,
    example={"components": [_BODY, {"type": "FOOTER", "text": "Thank you for your trust"}]},
    after=_REVIEWED,
    only="official",
)
async def edit_template(
    template_id: str, body: TemplateChange, gateway: Context, caller: CurrentCaller
) -> TemplateShown:
    """Changes a template, which the network then reviews again."""
    return TemplateShown.of(await service.edit_template(await _templates(gateway, caller), template_id, body))


@delete(_ONE, scope="manage", summary="Delete a template", message="Template deleted", errors=NETWORK, only="official")
async def delete_template(template_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Deletes a template in one language, in the gateway and on the network."""
    await service.delete_template(await _templates(gateway, caller), template_id)


@post(
    _PATH + "/sync",
    scope="manage",
    summary="Sync templates",
    message="Templates read from the network",
    errors=NETWORK,
    only="official",
)
async def sync_templates(gateway: Context, caller: CurrentCaller) -> Synced:
    """Reads all templates of the business account from the network."""
    return await service.sync_templates(await _templates(gateway, caller))


@post(
    _ONE + "/preview",
    scope="read",
    summary="Preview a template",
    errors=("template_variables_mismatch",),
    example={"variables": ["Ana", "4711"]},
    only="official",
)
async def preview_template(template_id: str, body: PreviewRequest, gateway: Context, caller: CurrentCaller) -> Preview:
    """The template with its variables filled in."""
    template = await service.access_template(gateway.db, caller.channel_id, template_id)
    return service.preview_template(template, body)


async def _templates(gateway: ApiContext, caller: Caller) -> TemplateService:
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    return TemplateService(gateway.db, gateway.clock, channel.ref, channel.id, open_account(channel, gateway.business))
