"""Contacts: list and search, create, look, change, delete, merge, check, import, export."""

from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response, delete, get, patch, post
from litestar.datastructures import MultiDict
from litestar.params import FromPath

from gatepost.access.costly import ALWAYS
from gatepost.admin.channels import get_channel
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.idempotency import REPLAYED, BodyHash, create_once, read_key
from gatepost.api.json_body import answer, envelope, read_body
from gatepost.api.paging import check_query, read_cursor, read_limit, show_cursor
from gatepost.api.stream_response import StreamResponse
from gatepost.api.upload import open_upload
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.errors import invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.field_readers import check_storable, read_choice
from gatepost.model.phone import check_phone
from gatepost.services import contacts as desk
from gatepost.services.contact_import import Importer, export_csv, export_fields, export_ndjson
from gatepost.services.contact_report import unpack_report
from gatepost.services.contact_table import open_table
from gatepost.store.contacts.read import ContactFilter, ContactRow, SearchPosition, list_contacts, search_contacts
from gatepost.store.idempotency import IdempotentRequest, Replay

_PATH = "/api/v1/contacts"
_ONE = _PATH + "/{contact_id:str}"
_FILTERS = ("label", "opted_out")
_WORDS_MOST = 64
_NDJSON = "application/x-ndjson"
_create = msgspec.json.Decoder(desk.NewContact)
_change = msgspec.json.Decoder(desk.ContactChange)
_merge = msgspec.json.Decoder(desk.MergeRequest)
_check = msgspec.json.Decoder(desk.CheckRequest)


@get(_PATH, opt={"scope": "read", "costly": "q"}, summary="List contacts")
async def list_all(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Contacts, the newest first; or those whose name or number begins with `q`, by what begins so."""
    query = check_query(request.query_params, "q", "phone", *_FILTERS, "limit", "cursor")
    wanted, limit = _filter(query), read_limit(query.get("limit"))
    if "phone" in query:
        rows, following = await _at_phone(query, wanted, _desk(gateway, caller)), None
    elif "q" in query:
        rows, following = await _search(query, wanted, limit, gateway, caller)
    else:
        before = read_cursor(query.get("cursor"), UUID)
        rows = await list_contacts(gateway.db, caller.channel_id, wanted, before, limit)
        following = show_cursor(rows[-1].id) if len(rows) == limit else None
    return answer(await _desk(gateway, caller).show_all(rows), paging=following)


@post(_PATH, opt={"scope": "manage"}, status_code=201, summary="Create a contact")
async def create_contact(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Makes a contact for a number that is not known yet."""
    new, body = await read_body(request, _create)

    async def make(once: IdempotentRequest[ContactRow]) -> ContactRow:
        return await _desk(gateway, caller).create(new, once)

    return await create_once(request, gateway, caller, body, make, _made)


@get(_ONE, opt={"scope": "read"}, summary="Get a contact")
async def get_contact(contact_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """One contact with its labels."""
    at = _desk(gateway, caller)
    return answer(await at.show(await at.access(contact_id)))


@patch(_ONE, opt={"scope": "manage"}, summary="Change a contact")
async def change_contact(
    contact_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Sets the name, some custom fields, or whether the person wants marketing."""
    wishes, _ = await read_body(request, _change)
    at = _desk(gateway, caller)
    changed = await at.change(contact_id, wishes)
    return answer(await at.show(changed), "Contact changed")


@delete(_ONE, opt={"scope": "manage"}, status_code=200, summary="Delete a contact")
async def delete_contact(contact_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Deletes a contact with its labels and the settings of its conversation; messages stay under the number."""
    await _desk(gateway, caller).delete(contact_id)
    return answer(None, "Contact deleted")


@post(_ONE + "/merge", opt={"scope": "manage"}, status_code=200, summary="Merge two contacts")
async def merge_contact(
    contact_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[bytes]:
    """Makes one person of two: messages, orders, labels and numbers of the second go to the first."""
    wish, _ = await read_body(request, _merge)
    at = _desk(gateway, caller)
    merged = await at.merge(contact_id, wish.other)
    return answer(await at.show(merged), "Contacts merged")


@post(_PATH + "/check", opt={"scope": "read"}, status_code=200, summary="Check numbers")
async def check_contacts(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Which numbers are on the network."""
    wish, _ = await read_body(request, _check)
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    return answer(await desk.check_numbers(gateway.speak, _desk(gateway, caller), channel, wish.phones))


@post(
    _PATH + "/import",
    opt={"scope": "manage", "costly": ALWAYS},
    status_code=200,
    request_max_body_size=None,
    summary="Import contacts",
)
async def import_contacts(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[Any]:
    """Takes a table in CSV, and tells line by line what became of it."""
    key, pieces = read_key(request, b""), BodyHash((await open_upload(request)).pieces)
    table = await open_table(aiter(pieces))
    once: IdempotentRequest[bytes] = IdempotentRequest(caller.channel_id, pieces.known_by(key), bytes)
    importer = Importer(gateway.db, gateway.clock, _ref(caller), caller.channel_id)
    try:
        await importer.begin(table, once)
    except Replay as before:
        return StreamResponse(unpack_report(before.answer), media_type=_NDJSON, headers=REPLAYED)
    return StreamResponse(importer.run(table, once), media_type=_NDJSON)


@get(_PATH + "/export", opt={"scope": "read", "costly": ALWAYS}, summary="Export contacts")
async def export_contacts(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[Any]:
    """All contacts as a table or as lines of JSON, the newest first."""
    query = check_query(request.query_params, "format", *_FILTERS)
    kind, wanted = read_choice("format", query.get("format", "csv"), ("csv", "ndjson")), _filter(query)
    headers = {"Content-Disposition": f'attachment; filename="contacts.{kind}"'}
    if kind == "ndjson":
        return StreamResponse(export_ndjson(gateway.db, caller.channel_id, wanted), media_type=_NDJSON, headers=headers)
    fields = await export_fields(gateway.db, caller.channel_id)
    table = export_csv(gateway.db, caller.channel_id, wanted, fields)
    return StreamResponse(table, media_type="text/csv", headers=headers)


def _made(row: ContactRow) -> bytes:
    return envelope(desk.show_contact(row, []), "Contact created")


def _ref(caller: Caller) -> ChannelRef:
    return ChannelRef(ids.show("ch", caller.channel_id), caller.kind, caller.phone)


def _desk(gateway: ApiContext, caller: Caller) -> desk.ContactService:
    return desk.ContactService(gateway.db, _ref(caller), caller.channel_id, gateway.clock.now())


async def _search(
    query: MultiDict[Any], wanted: ContactFilter, limit: int, gateway: ApiContext, caller: Caller
) -> tuple[list[ContactRow], str | None]:
    words, after = query["q"].strip(), read_cursor(query.get("cursor"), SearchPosition)
    check_storable("q", words)
    if not 1 <= len(words) <= _WORDS_MOST:
        raise invalid_field("q", f"takes 1 to {_WORDS_MOST} characters")
    if after is not None and "\x00" in after.key:
        raise invalid_field("cursor", "must not contain the character NUL")
    found = await search_contacts(gateway.db, caller.channel_id, words, wanted, after, limit)
    more = show_cursor(found[-1].match) if len(found) == limit else None
    return [one.contact for one in found], more


async def _at_phone(query: MultiDict[Any], wanted: ContactFilter, at: desk.ContactService) -> list[ContactRow]:
    """Whoever goes by a number: one, or nobody. The other filters count too."""
    if "q" in query:
        raise invalid_field("q", "cannot be combined with phone, which names one contact")
    row = await at.at(check_phone(query["phone"]))
    if row is None or (wanted.opted_out is not None and wanted.opted_out != (row.opted_out is not None)):
        return []
    if wanted.label_id is None:
        return [row]
    shown = await at.show(row)
    return [row] if ids.show("lb", wanted.label_id) in [label["id"] for label in shown["labels"]] else []


def _filter(query: MultiDict[Any]) -> ContactFilter:
    label, out = query.get("label"), query.get("opted_out")
    label_id = None if label is None else ids.read("lb", label)
    if label is not None and label_id is None:
        raise invalid_field("label", "must be the id of a label, as GET /api/v1/labels shows it")
    flag = None if out is None else read_choice("opted_out", out, ("true", "false")) == "true"
    return ContactFilter(label_id, flag)
