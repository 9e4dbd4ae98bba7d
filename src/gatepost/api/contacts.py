"""Contacts: list and search, create, get, change, delete, merge, check, import, export."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from gatepost.access.costly import ALWAYS
from gatepost.admin.channels import get_channel
from gatepost.api.asgi import Request
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.contacts import Checked, Contact
from gatepost.api.idempotency import REPLAYED, BodyHash, CreateOnce, read_key
from gatepost.api.openapi.error_codes import IDEMPOTENT, NETWORK
from gatepost.api.openapi.route_docs import CONNECTED, Sample
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.query import Cursor, LabelFilter, Limit, Phone, Query, read_label
from gatepost.api.responses import Created, Page
from gatepost.api.route import delete, get, patch, post
from gatepost.api.stream_response import StreamResponse
from gatepost.api.upload import open_upload
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.model.phone import check_phone
from gatepost.services.contact_import import Importer, export_csv, export_fields, export_ndjson, unpack_report
from gatepost.services.contact_table import open_table
from gatepost.services.contacts import (
    CheckRequest,
    ContactChange,
    ContactService,
    MergeRequest,
    NewContact,
    check_numbers,
)
from gatepost.store.contacts.read import ContactFilter, ContactRow, SearchPosition, list_contacts, search_contacts
from gatepost.store.idempotency import IdempotentRequest, Replay

_PATH = "/api/v1/contacts"
_ONE = _PATH + "/{contact_id}"
_WORDS_MAX = 64
_NDJSON = "application/x-ndjson"


class ContactFilters(Query, frozen=True, kw_only=True):
    """Which contacts; all filters have to fit."""

    label: LabelFilter | None = None
    opted_out: (
        Annotated[bool, Meta(description="`true`: only contacts that opted out of marketing; `false`: only others.")]
        | None
    ) = None

    def filter(self) -> ContactFilter:
        """Return what to read."""
        return ContactFilter(read_label(self.label), self.opted_out)


class ContactQuery(ContactFilters, frozen=True, kw_only=True):
    """A page of contacts."""

    q: Annotated[str, Meta(description="The beginning of a name or number to search for.")] | None = None
    phone: Phone | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class ContactExportQuery(ContactFilters, frozen=True, kw_only=True):
    """Contacts as a file."""

    format: Annotated[Literal["csv", "ndjson"], Meta(description="The format of the file.")] = "csv"


@get(
    _PATH,
    scope="read",
    costly="q",
    summary="List contacts",
    errors=("invalid_phone",),
    asks={"phone": "{{phone}}"},
    keeps={"contact_id": "data[0].id"},
)
async def list_all(query: ContactQuery, gateway: Context, caller: CurrentCaller) -> Page[Contact]:
    """Contacts, the newest first. With `q`, the contacts whose name or number begins with it, in that order.

    A page that is not full may have a next one.
    """
    contacts = _contacts(gateway, caller)
    if query.phone is not None:
        return Page(await _show_all(contacts, await _at_phone(query, query.phone, contacts)))
    if query.q is not None:
        rows, following = await _search(query, query.q, contacts)
    else:
        before = read_cursor(query.cursor, UUID)
        page = await list_contacts(gateway.db, caller.channel_id, query.filter(), before, query.limit)
        rows, following = page.contacts, show_cursor(page.following) if page.following else None
    return Page(await _show_all(contacts, rows), following)


@post(
    _PATH,
    scope="manage",
    agents=True,
    summary="Create a contact",
    message="Contact created",
    errors=("invalid_phone", "contact_exists"),
    example={"phone": "1555{{$timestamp}}", "name": "Anna Lee", "custom": {"city": "Lisbon"}},
    keeps={"other_id": "data.id"},
    more=(Sample("Create another contact", {"phone": "1666{{$timestamp}}"}, {"spare_id": "data.id"}),),
)
async def create_contact(
    body: NewContact, once: CreateOnce, gateway: Context, caller: CurrentCaller
) -> Created[Contact]:
    """Creates a contact for a phone number that has none yet."""
    contacts = _contacts(gateway, caller)
    return await once.create(lambda request: contacts.create(body, request), Contact.of)


@get(_ONE, scope="read", summary="Get a contact")
async def get_contact(contact_id: str, gateway: Context, caller: CurrentCaller) -> Contact:
    """One contact with its labels."""
    contacts = _contacts(gateway, caller)
    return await _show(contacts, await contacts.access(contact_id))


@patch(
    _ONE,
    scope="manage",
    agents=True,
    summary="Change a contact",
    message="Contact changed",
    errors=("wrong_state",),
    example={"name": "Anna B. Lee", "custom": {"city": "Porto"}},
)
async def change_contact(contact_id: str, body: ContactChange, gateway: Context, caller: CurrentCaller) -> Contact:
    """Sets the name, some custom fields, or whether the person opted out of marketing."""
    contacts = _contacts(gateway, caller)
    return await _show(contacts, await contacts.change(contact_id, body))


@delete(
    _ONE,
    scope="manage",
    summary="Delete a contact",
    message="Contact deleted",
    errors=("wrong_state",),
    uses={"contact_id": "spare_id"},
)
async def delete_contact(contact_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Deletes a contact, its labels and the settings of its conversation. Messages are kept under the number."""
    await _contacts(gateway, caller).delete(contact_id)


@post(
    _ONE + "/merge",
    scope="manage",
    summary="Merge two contacts",
    message="Contacts merged",
    errors=("wrong_state",),
    example={"with": "{{other_id}}"},
)
async def merge_contact(contact_id: str, body: MergeRequest, gateway: Context, caller: CurrentCaller) -> Contact:
    """Merges another contact into this one, with its messages, orders, labels and phone numbers."""
    contacts = _contacts(gateway, caller)
    return await _show(contacts, await contacts.merge(contact_id, body.other))


@post(
    _PATH + "/check",
    scope="read",
    summary="Check numbers",
    errors=("invalid_phone", *NETWORK),
    example={"phones": ["{{phone}}"]},
    after=CONNECTED,
    only="qr",
)
async def check_contacts(body: CheckRequest, gateway: Context, caller: CurrentCaller) -> list[Checked]:
    """Asks the network which phone numbers it knows."""
    channel = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    found = await check_numbers(gateway.db, gateway.speak, channel, body.phones)
    return [
        Checked(one.phone, one.exists, ids.format_id("ct", one.contact_id) if one.contact_id else None) for one in found
    ]


@post(
    _PATH + "/import",
    scope="manage",
    costly=ALWAYS,
    body_limit=False,
    summary="Import contacts",
    errors=(
        *IDEMPOTENT,
        "malformed_upload",
        "invalid_field",
        "body_too_large",
        "unsupported_media_type",
        "overloaded",
    ),
    headers=("Idempotency-Key",),
    upload="phone,name,city\n1777{{$timestamp}},Ben Cole,Porto\n",
    upload_type="text/csv",
    binary=(_NDJSON,),
)
async def import_contacts(request: Request, gateway: Context, caller: CurrentCaller) -> StreamResponse:
    """Imports a CSV table, and reports the result of each line."""
    key, chunks = read_key(request, b""), BodyHash((await open_upload(request)).chunks)
    table = await open_table(aiter(chunks))
    once: IdempotentRequest[bytes] = IdempotentRequest(caller.channel_id, chunks.known_by(key), bytes)
    importer = Importer(gateway.db, gateway.clock, caller.ref, caller.channel_id)
    try:
        await importer.begin(table, once)
    except Replay as before:
        return StreamResponse(unpack_report(before.answer), media_type=_NDJSON, headers=REPLAYED)
    return StreamResponse(importer.run(table, once), media_type=_NDJSON)


@get(
    _PATH + "/export",
    scope="read",
    costly=ALWAYS,
    summary="Export contacts",
    binary=(_NDJSON, "text/csv; charset=utf-8"),
)
async def export_contacts(query: ContactExportQuery, gateway: Context, caller: CurrentCaller) -> StreamResponse:
    """All contacts as a CSV table or as lines of JSON, the newest first."""
    filter_, channel_id = query.filter(), caller.channel_id
    headers = {"Content-Disposition": f'attachment; filename="contacts.{query.format}"'}
    if query.format == "ndjson":
        lines = export_ndjson(gateway.db, channel_id, filter_, Contact.of)
        return StreamResponse(lines, media_type=_NDJSON, headers=headers)
    table = export_csv(gateway.db, channel_id, filter_, await export_fields(gateway.db, channel_id))
    return StreamResponse(table, media_type="text/csv", headers=headers)


def _contacts(gateway: ApiContext, caller: Caller) -> ContactService:
    return ContactService(gateway.db, caller.ref, caller.channel_id, gateway.clock.now())


async def _show(contacts: ContactService, row: ContactRow) -> Contact:
    return (await _show_all(contacts, [row]))[0]


async def _show_all(contacts: ContactService, rows: list[ContactRow]) -> list[Contact]:
    labels = await contacts.labels(rows)
    return [Contact.of(row, labels[row.id]) for row in rows]


async def _search(query: ContactQuery, words: str, contacts: ContactService) -> tuple[list[ContactRow], str | None]:
    words, after = words.strip(), read_cursor(query.cursor, SearchPosition)
    check_storable("q", words)
    if not 1 <= len(words) <= _WORDS_MAX:
        raise invalid_field("q", f"takes 1 to {_WORDS_MAX} characters")
    if after is not None and "\x00" in after.key:
        raise invalid_field("cursor", "must not contain the character NUL")
    page = await search_contacts(contacts.db, contacts.channel_id, words, query.filter(), after, query.limit)
    return [one.contact for one in page.found], show_cursor(page.following) if page.following else None


async def _at_phone(query: ContactQuery, phone: str, contacts: ContactService) -> list[ContactRow]:
    """Return the contact with a phone number, if it fits the other filters."""
    filter_ = query.filter()
    if query.q is not None:
        raise invalid_field("q", "cannot be combined with phone, which names one contact")
    row = await contacts.at(check_phone(phone))
    if row is None or (filter_.opted_out is not None and filter_.opted_out != (row.opted_out is not None)):
        return []
    if filter_.label_id is None:
        return [row]
    labels = await contacts.labels([row])
    return [row] if filter_.label_id in [label.id for label in labels[row.id]] else []
