"""What the Cloud API posts to us: checking its signature, and reading its updates one by one.

Each update is decoded on its own, so that one that makes no sense does not spoil its batch.
"""

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from gatepost.networks.base import Incoming, NetworkError, Status, Update
from gatepost.networks.cloud.callback_data import unpack


class BadCallback(Exception):
    """The body is not a callback at all."""


class _Metadata(msgspec.Struct):
    phone_number_id: str = ""


class _Value(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    contacts: list[msgspec.Raw] = []
    messages: list[msgspec.Raw] = []
    statuses: list[msgspec.Raw] = []


class _Change(msgspec.Struct):
    value: msgspec.Raw
    field: str = ""


class _Entry(msgspec.Struct):
    changes: list[_Change] = []


class _Callback(msgspec.Struct):
    entry: list[_Entry]


class _Status(msgspec.Struct):
    id: str
    status: str
    timestamp: str
    biz_opaque_callback_data: str | None = None
    errors: list[dict[str, Any]] = []


class _Profile(msgspec.Struct):
    name: str | None = None


class _Contact(msgspec.Struct):
    wa_id: str = ""
    profile: _Profile = msgspec.field(default_factory=_Profile)


_decode_callback = msgspec.json.Decoder(_Callback).decode
_decode_value = msgspec.json.Decoder(_Value).decode
_decode_status = msgspec.json.Decoder(_Status).decode
_decode_contact = msgspec.json.Decoder(_Contact).decode


def signature_ok(app_secret: str, body: bytes, header: str | None) -> bool:
    """Whether `X-Hub-Signature-256` is the HMAC of these very bytes."""
    if not header or not header.startswith("sha256="):
        return False
    wanted = hmac.digest(app_secret.encode(), body, hashlib.sha256).hex()
    return hmac.compare_digest(wanted.encode(), header[7:].encode("utf-8", "replace"))


def token_ok(verify_token: str, given: str | None) -> bool:
    """Whether the handshake's token is the channel's."""
    return hmac.compare_digest(verify_token.encode(), (given or "").encode("utf-8", "replace"))


def read_updates(body: bytes, phone_number_id: str) -> tuple[list[Update], int]:
    """The updates of this number, and how many could not be read."""
    try:
        callback = _decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadCallback(str(error)) from None
    updates: list[Update] = []
    unread = 0
    for change in (change for entry in callback.entry for change in entry.changes if change.field == "messages"):
        try:
            value = _decode_value(change.value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            unread += 1
            continue
        if value.metadata.phone_number_id == phone_number_id:
            unread += _read_value(value, updates)
    return updates, unread


def _decode(body: bytes) -> _Callback:
    """Half a surrogate pair in one name must not cost the whole callback: what is refused is mended and read again."""
    try:
        return _decode_callback(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_callback(_mended(body))


def _mended(body: bytes) -> bytes:
    return json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")


def _read_value(value: _Value, updates: list[Update]) -> int:
    unread = 0
    for raw in value.statuses:
        try:
            updates.append(_read_status(_decode_status(raw)))
        except (msgspec.MsgspecError, ValueError, OverflowError, OSError, RecursionError):
            unread += 1
    names = _names(value.contacts) if value.messages else {}
    for raw in value.messages:
        try:
            updates.append(_read_message(_decode_loosely(bytes(raw)), names))
        except (KeyError, TypeError, ValueError, OverflowError, OSError, RecursionError):
            unread += 1
    return unread


def _read_status(status: _Status) -> Status:
    ours = unpack(status.biz_opaque_callback_data)
    return Status(
        network_id=_clean(status.id),
        status=status.status,
        at=_time(status.timestamp),
        message_id=ours[0] if ours else None,
        attempt=ours[1] if ours else None,
        error=_read_error(status.errors[0]) if status.errors else None,
    )


def _read_error(error: dict[str, Any]) -> NetworkError:
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    code = error.get("code")
    title = str(error.get("title") or error.get("message") or "")
    return NetworkError(
        code if isinstance(code, int) else 0, _clean(title), _clean(str(details)) if details is not None else None
    )


def _read_message(message: dict[str, Any], names: dict[str, str]) -> Incoming:
    type_ = str(message["type"])
    context = message.get("context")
    return Incoming(
        network_id=_clean(_text(message["id"])),
        phone=_phone(message["from"]),
        name=names.get(message["from"]),
        type=_clean(type_)[:64],
        content=json.dumps(message.get(type_, {}), ensure_ascii=True, allow_nan=False),
        at=_time(message["timestamp"]),
        reply_to=_clean(_text(context["id"])) if isinstance(context, dict) and context.get("id") else None,
    )


def _names(contacts: list[msgspec.Raw]) -> dict[str, str]:
    names = {}
    for raw in contacts:
        try:
            contact = _decode_contact(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if contact.wa_id and contact.profile.name:
            names[contact.wa_id] = _clean(contact.profile.name)[:256]
    return names


def _decode_loosely(raw: bytes) -> dict[str, Any]:
    """Python's own decoder takes what strict ones refuse: half surrogate pairs, huge numbers."""
    value = json.loads(raw.decode("utf-8", "replace"))
    if not isinstance(value, dict):
        raise TypeError("a message must be an object")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("text expected")
    return value


def _phone(value: object) -> str:
    digits = _text(value)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise ValueError("digits expected")
    return digits


def _time(text: object) -> datetime:
    seconds = int(str(text)[:20])
    if not 0 <= seconds < 2**35:
        raise ValueError("not a time")
    return datetime.fromtimestamp(seconds, UTC)


def _clean(text: str) -> str:
    """Text that PostgreSQL can keep."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
