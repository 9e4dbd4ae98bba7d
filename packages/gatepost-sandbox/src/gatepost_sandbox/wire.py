"""The network's JSON: responses to sends, and webhooks."""

import hmac
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

SERVICE_PRICING = {
    "billable": False,
    "pricing_model": "PMP",
    "type": "free_customer_service",
    "category": "service",
}


class Update(msgspec.Struct, frozen=True, gc=False):
    """One reported update: a status, an incoming message, or an update of a number or account.

    `list_name` is the list of the webhook's value it belongs in; when empty, `item` is the value itself.
    """

    label: str  # sent, delivered, read, played, failed, message, or the field of any other update
    wamid: str
    person: str
    item: dict[str, Any]
    contact: dict[str, Any] | None = None
    list_name: str = "statuses"
    field: str = "messages"
    time: int | None = None  # of the entry: only account updates have it


def accepted_body(
    written: str, wa_id: str, wamid: str, *, message_status: str | None = None, user_id: str | None = None
) -> bytes:
    """Return the answer to an accepted send."""
    contact = {"input": written, "wa_id": wa_id}
    message = {"id": wamid}
    if user_id is not None:
        contact["user_id"] = user_id
    if message_status is not None:
        message["message_status"] = message_status
    return msgspec.json.encode({"messaging_product": "whatsapp", "contacts": [contact], "messages": [message]})


def status_update(
    label: str,
    wamid: str,
    person: str,
    at: float,
    *,
    callback_data: str | None,
    user_id: str | None = None,
    wa_id: str,
    conversation: dict[str, Any] | None = None,
    pricing: dict[str, Any] | None = None,
    error: dict[str, Any] | None = None,
) -> Update:
    """Return one status of a message the business sent."""
    item: dict[str, Any] = {"id": wamid, "status": label, "timestamp": str(int(at)), "recipient_id": wa_id}
    if user_id is not None:
        item["recipient_user_id"] = user_id
    if callback_data is not None:
        item["biz_opaque_callback_data"] = callback_data
    if conversation is not None:
        item["conversation"] = conversation
    if pricing is not None:
        item["pricing"] = pricing
    if error is not None:
        item["errors"] = [error]
    contact = None if user_id is None else {"wa_id": wa_id, "user_id": user_id}
    return Update(label=label, wamid=wamid, person=person, item=item, contact=contact)


def message_update(wamid: str, person: str, item: dict[str, Any], contact: dict[str, Any] | None) -> Update:
    """Return one message from a person; a system message has no contact."""
    return Update(label="message", wamid=wamid, person=person, item=item, contact=contact, list_name="messages")


def text_update(
    wamid: str, person: str, name: str, at: float, *, body: str, context: dict[str, Any] | None = None
) -> Update:
    """Return one text message from a person."""
    item: dict[str, Any] = {"from": person, "id": wamid, "timestamp": str(int(at)), "type": "text"}
    if context is not None:
        item["context"] = context
    item["text"] = {"body": body}
    return message_update(wamid, person, item, {"profile": {"name": name}, "wa_id": person})


def errors_update(error: dict[str, Any]) -> Update:
    """Return an error of the number itself, of no message."""
    return Update(label="errors", wamid="", person="", item=error, list_name="errors")


def account_update(field: str, value: dict[str, Any], at: float) -> Update:
    """Return an update of a number, template or account, under its own field."""
    return Update(label=field, wamid="", person="", item=value, list_name="", field=field, time=int(at))


def listed_update(
    field: str, list_name: str, item: dict[str, Any], person: str, at: float, contact: dict[str, Any] | None = None
) -> Update:
    """Return an update about one person, in a list under its own field."""
    wamid = str(item.get("id", ""))
    return Update(field, wamid, person, item, contact=contact, list_name=list_name, field=field, time=int(at))


def without_echo(update: Update) -> Update:
    """Return the same update with the business's own data left out."""
    item = {name: value for name, value in update.item.items() if name != "biz_opaque_callback_data"}
    return msgspec.structs.replace(update, item=item)


def webhook_body(waba_id: str, phone: str, phone_number_id: str, updates: Sequence[Update]) -> bytes:
    """Return the bytes of one callback; adjacent updates of the same kind share a `change`, which keeps the order."""
    metadata = {"display_phone_number": phone, "phone_number_id": phone_number_id}
    if len(updates) == 1 and updates[0].time is None:  # nearly always: no need to look for neighbours
        change = {"field": updates[0].field, "value": _value(metadata, updates[0].list_name, updates)}
        return to_ascii_json({"object": "whatsapp_business_account", "entry": [{"id": waba_id, "changes": [change]}]})
    entries: list[dict[str, Any]] = []
    for time, group in groupby(updates, lambda update: update.time):
        entry: dict[str, Any] = {"id": waba_id} if time is None else {"id": waba_id, "time": time}
        entry["changes"] = list(_changes(metadata, group))
        entries.append(entry)
    return to_ascii_json({"object": "whatsapp_business_account", "entry": entries})


def to_ascii_json(value: Any) -> bytes:
    """JSON with everything outside ASCII as \\uXXXX, as the network writes it."""
    quick = msgspec.json.encode(value)  # ten times faster, and the same bytes unless something needs escaping
    plain = quick.isascii() and b"\x7f" not in quick
    return quick if plain else json.dumps(value, separators=(",", ":")).encode("ascii")


def _changes(metadata: dict[str, str], updates: Iterable[Update]) -> Iterator[dict[str, Any]]:
    for (field, list_name), group in groupby(updates, lambda update: (update.field, update.list_name)):
        if list_name:
            yield {"field": field, "value": _value(metadata, list_name, list(group))}
        else:
            yield from ({"field": field, "value": update.item} for update in group)


def _value(metadata: dict[str, str], list_name: str, updates: Sequence[Update]) -> dict[str, Any]:
    value: dict[str, Any] = {"messaging_product": "whatsapp", "metadata": metadata}
    contacts = _contacts(updates)
    if contacts:
        value["contacts"] = contacts
    value[list_name] = [update.item for update in updates]
    return value


def _contacts(updates: Iterable[Update]) -> list[dict[str, Any]]:
    return list({update.person: update.contact for update in updates if update.contact is not None}.values())


def signature(app_secret: bytes, body: bytes) -> str:
    """Return the value of X-Hub-Signature-256."""
    return "sha256=" + hmac.digest(app_secret, body, "sha256").hex()
