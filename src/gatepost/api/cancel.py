"""Canceling a selection of messages that have not left yet."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.messages import CanceledMessages
from gatepost.api.openapi.route_docs import Sample
from gatepost.api.paging import read_cursor, show_cursor
from gatepost.api.responses import Reply
from gatepost.api.route import post
from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.dates import LAST_ID, IdRange, first_id, read_moment, read_zone
from gatepost.model.errors import NotFound, invalid_field
from gatepost.model.message import check_client_ref
from gatepost.model.number_forms import forms_of
from gatepost.model.phone import check_phone
from gatepost.outbound.cancel import CancelResult, cancel_selection
from gatepost.services.history_query import HistoryQuery, read_conversation, resolve
from gatepost.services.labels import access_label
from gatepost.store.messages.accept_rows import read_batch
from gatepost.store.messages.cancel import CancelCursor, CancelSelection

PATH = "/api/v1/messages/cancel"


class CancelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The messages to cancel: those that match all given fields. A null counts as not given."""

    batch_id: str | None = None
    label: str | None = None
    client_ref_prefix: str | None = None
    phone: str | None = None
    conversation: str | None = None
    created_from: str | None = None
    created_to: str | None = None
    send_from: str | None = None
    send_to: str | None = None
    tz: str | None = None
    cursor: str | None = None


FILTERS = tuple(name for name in CancelRequest.__struct_fields__ if name not in ("tz", "cursor"))


@post(
    PATH,
    scope="send",
    summary="Cancel many messages",
    message="11,998 messages canceled",
    errors=("not_found", "invalid_cursor", "overloaded"),
    example={"client_ref_prefix": "spring-sale-", "send_from": "2026-11-15"},
    more=(Sample("Cancel a batch", {"batch_id": "{{batch_id}}"}),),
)
async def post_selection(body: CancelRequest, gateway: Context, caller: CurrentCaller) -> Reply[CanceledMessages]:
    """Cancels all selected messages that have not been sent yet. A large selection needs several requests."""
    if all(getattr(body, name) is None for name in FILTERS):
        raise invalid_field(FILTERS[0], f"give at least one filter; there are: {', '.join(FILTERS)}")
    place = read_cursor(body.cursor, CancelCursor, "'data.cursor' of the last answer")
    selection = await _select(gateway, caller, body)
    result = CancelResult(0, 0, None)
    if selection is not None:
        result = await cancel_selection(gateway.db, gateway.clock, caller, selection, place)
    cursor = show_cursor(result.place) if result.place else None
    canceled = CanceledMessages(result.canceled, result.too_late, cursor is None, cursor)
    return Reply(canceled, f"{result.canceled:,} messages canceled")


async def _select(gateway: ApiContext, caller: Caller, body: CancelRequest) -> CancelSelection | None:
    """Return the selection of a request; None if nothing can fit."""
    zone = read_zone(body.tz)
    created = _range("created", body.created_from, body.created_to, zone)
    send_from, send_to = _range("send", body.send_from, body.send_to, zone)
    prefix = None if body.client_ref_prefix is None else check_client_ref("client_ref_prefix", body.client_ref_prefix)
    person = HistoryQuery(
        phone=None if body.phone is None else check_phone(body.phone),
        conversation=None if body.conversation is None else read_conversation(body.conversation),
    )
    label = await access_label(gateway.db, caller.channel_id, body.label) if body.label is not None else None
    ranges = await _batch(gateway, caller, body.batch_id) if body.batch_id is not None else None
    filter_ = await resolve(gateway.db, caller.channel_id, person)
    phones = forms_of(person.phone) if person.phone and not person.conversation else ()
    if filter_ is None and not phones:
        return None
    start, end = (None if at is None else first_id(at) for at in created)
    span = IdRange(start or ids.ZERO, end or LAST_ID)
    contact_id, label_id = filter_.contact_id if filter_ else None, label.id if label else None
    return CancelSelection(span, send_from, send_to, ranges, prefix, contact_id, phones, label_id)


def _range(name: str, from_: str | None, to: str | None, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
    start = None if from_ is None else read_moment(f"{name}_from", from_, zone)
    end = None if to is None else read_moment(f"{name}_to", to, zone)
    if start is not None and end is not None and start >= end:
        raise invalid_field(f"{name}_to", f"must be later than '{name}_from'; the range ends before it")
    return start, end


async def _batch(gateway: ApiContext, caller: Caller, text: str) -> tuple[tuple[Any, Any], ...]:
    batch_id = ids.parse_id("bat", text)
    ranges = await read_batch(gateway.db, caller.channel_id, batch_id) if batch_id else []
    if not ranges:
        raise NotFound("There is no such batch on this channel.")
    return tuple(ranges)
