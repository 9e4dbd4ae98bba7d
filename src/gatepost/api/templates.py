"""Templates: list, create, look, edit, delete, sync with the network, preview."""

from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, delete, get, patch, post
from litestar.datastructures import MultiDict
from litestar.params import FromPath

from gatepost.admin.channels import get_channel
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.idempotency import create_once
from gatepost.api.json_body import answer, envelope, read_body
from gatepost.api.paging import check_query, read_cursor, read_limit, show_cursor
from gatepost.model.account import Caller
from gatepost.model.field_readers import check_storable
from gatepost.model.template import NewTemplate
from gatepost.services import templates as desk
from gatepost.services.business import check_templates, open_account
from gatepost.store.idempotency import IdempotentRequest
from gatepost.store.templates import StoredTemplate, TemplateFilter, list_templates

_PATH = "/api/v1/templates"
_ONE = _PATH + "/{template_id:str}"
_create = msgspec.json.Decoder(NewTemplate)
_change = msgspec.json.Decoder(desk.TemplateChange)
_preview = msgspec.json.Decoder(desk.PreviewRequest)


@get(_PATH, opt={"scope": "read"}, summary="List templates")
async def list_all(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """The channel's templates, the newest first; by status, category, language or a part of the name."""
    check_templates(caller.kind)
    query = check_query(request.query_params, *TemplateFilter.__struct_fields__, "limit", "cursor")
    limit, before = read_limit(query.get("limit")), read_cursor(query.get("cursor"), UUID)
    wanted = _filter(query)
    found = await list_templates(gateway.db, caller.channel_id, wanted, before, limit)
    more = show_cursor(found[-1].id) if len(found) == limit else None
    return answer([desk.show_template(template) for template in found], paging=more)


@post(_PATH, opt={"scope": "manage"}, status_code=201, summary="Create a template")
async def create_template(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Hands a template in for review."""
    new, body = await read_body(request, _create)

    async def make(once: IdempotentRequest[StoredTemplate]) -> StoredTemplate:
        return await desk.create_template(await _desk(gateway, caller), new, once)

    return await create_once(request, gateway, caller, body, make, _made)


@get(_ONE, opt={"scope": "read"}, summary="Get a template")
async def get_template(template_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One template as it stands."""
    return answer(desk.show_template(await desk.access_template(gateway.db, caller.channel_id, template_id)))


@patch(_ONE, opt={"scope": "manage"}, summary="Edit a template")
async def edit_template(
    template_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Changes a template, which is then reviewed anew."""
    change, _ = await read_body(request, _change)
    changed = await desk.edit_template(await _desk(gateway, caller), template_id, change)
    return answer(desk.show_template(changed), "Template changed")


@delete(_ONE, opt={"scope": "manage"}, status_code=200, summary="Delete a template")
async def delete_template(template_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Deletes a template in its one language, here and on the network."""
    await desk.delete_template(await _desk(gateway, caller), template_id)
    return answer(None, "Template deleted")


@post(_PATH + "/sync", opt={"scope": "manage"}, status_code=200, summary="Sync templates")
async def sync_templates(gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Reads all templates of the business account anew."""
    return answer(await desk.sync_templates(await _desk(gateway, caller)), "Templates read from the network")


@post(_ONE + "/preview", opt={"scope": "read"}, status_code=200, summary="Preview a template")
async def preview_template(
    template_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """The template with its variables filled in."""
    wish, _ = await read_body(request, _preview)
    template = await desk.access_template(gateway.db, caller.channel_id, template_id)
    return answer(desk.preview_template(template, wish))


def _made(template: StoredTemplate) -> bytes:
    return envelope(desk.show_template(template), "Template handed in for review")


async def _desk(gateway: ApiContext, caller: Caller) -> desk.TemplateService:
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    return desk.TemplateService(gateway.db, gateway.clock, channel.id, open_account(channel, gateway.business))


def _filter(query: MultiDict[Any]) -> TemplateFilter:
    given = {name: query[name] for name in TemplateFilter.__struct_fields__ if name in query}
    for name, value in given.items():
        check_storable(name, value)
    words = {name: given[name].upper() for name in ("status", "category") if name in given}
    return TemplateFilter(**(given | words))
