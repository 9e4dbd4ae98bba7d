"""Callbacks of the Cloud API: the handshake, the signature, and the updates.

    body ─► entry (an account) ─► change (a field) ─► statuses ─► StatusUpdate
                                                    ─► messages, message_echoes ─► Incoming, ContactUpdate
                                                    ─► errors, other fields ─► TemplateUpdate, NumberUpdate

Each update is parsed separately, so that an invalid one does not affect the others.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from gatepost.model.errors import NotAuthenticated
from gatepost.model.json_parts import parts_within
from gatepost.networks.base import BadCallback, TemplateUpdate, Update
from gatepost.networks.cloud import account_updates
from gatepost.networks.cloud.json_values import as_dict, as_id, as_time, digits, flatten, parse
from gatepost.networks.cloud.messages import CallbackContacts, parse_echo, parse_message
from gatepost.networks.cloud.secrets import ChannelSecrets
from gatepost.networks.cloud.statuses import parse_status
from gatepost.networks.json_cleanup import clean_json
from gatepost.networks.kind import NetworkChannel

PARTS_MAX = 50_000  # entries, changes and updates of a callback, each with its brackets and commas
_DEPTH = 7  # how deep the lists of updates lie: what an update holds does not count
_UNREADABLE = (msgspec.MsgspecError, ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError)
_HEADER = b"x-hub-signature-256"
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}", re.ASCII)
_NONE = msgspec.Raw(b"[]")


class _Metadata(msgspec.Struct):
    phone_number_id: str = ""


class _Value(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    contacts: msgspec.Raw = _NONE
    messages: list[msgspec.Raw] = []
    statuses: list[msgspec.Raw] = []
    message_echoes: list[msgspec.Raw] = []
    errors: msgspec.Raw = _NONE


class _Change(msgspec.Struct):
    value: msgspec.Raw = msgspec.Raw(b"null")
    field: str = ""


class _Entry(msgspec.Struct):
    id: Any = ""
    time: Any = None
    changes: list[_Change] = []


class _Callback(msgspec.Struct):
    entry: list[_Entry]


class _OddEntry(msgspec.Struct):
    id: Any = ""
    time: Any = None
    changes: list[msgspec.Raw] = []


class _OddCallback(msgspec.Struct):
    entry: list[msgspec.Raw]


_decode_callback = msgspec.json.Decoder(_Callback).decode
_decode_odd_callback = msgspec.json.Decoder(_OddCallback).decode
_decode_odd_entry = msgspec.json.Decoder(_OddEntry).decode
_decode_change = msgspec.json.Decoder(_Change).decode
_decode_value = msgspec.json.Decoder(_Value).decode
_decode_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def parse_updates(
    body: bytes, phone_number_id: str, waba_id: str | None = None, phone: str | None = None
) -> tuple[list[Update], int]:
    """Return the updates of this number or its account, and how many could not be parsed.

    Without `waba_id`, updates of any account are returned; without `phone`, those of any number.
    """
    if not parts_within(body, PARTS_MAX, _DEPTH):
        raise BadCallback(f"it has more than {PARTS_MAX:,} entries and updates")
    reading = _Reading(phone_number_id, waba_id, phone)
    for entry in _decode(reading, clean_json(body)):
        for change in entry.changes:
            reading.attempt(_read_change, reading, entry, change)
    return reading.updates, reading.unread


class _Reading:
    """The number whose updates are parsed, and the updates so far."""

    def __init__(self, phone_number_id: str, waba_id: str | None, phone: str | None) -> None:
        self.phone_number_id = phone_number_id
        self.waba_id = waba_id
        self.phone = phone
        self.updates: list[Update] = []
        self.unread = 0

    def attempt(self, read: Callable[..., Iterable[Update]], *args: Any) -> None:
        """Add the updates that can be parsed; count those that cannot."""
        try:
            self.updates.extend(read(*args))
        except _UNREADABLE:
            self.unread += 1


# -- the envelope ------------------------------------------------------------------------------------------------------


def _decode(reading: _Reading, body: bytes) -> list[_Entry]:
    try:
        return _decode_callback(body).entry
    except RecursionError:
        body = flatten(body)
    except _UNREADABLE:
        pass
    try:
        entries = _decode_odd_callback(body).entry
    except _UNREADABLE as error:
        raise BadCallback(str(error)) from None
    return [_salvaged(reading, raw) for raw in entries]


def _salvaged(reading: _Reading, raw: msgspec.Raw) -> _Entry:
    """Return the valid changes of an entry."""
    entry = _Entry()
    try:
        odd = _decode_odd_entry(raw)
    except _UNREADABLE:
        reading.unread += 1
        return entry
    entry.id, entry.time = odd.id, odd.time
    for change in odd.changes:
        try:
            entry.changes.append(_decode_change(change))
        except _UNREADABLE:
            reading.unread += 1
    return entry


def _read_change(reading: _Reading, entry: _Entry, change: _Change) -> Iterable[Update]:
    if change.field not in ("messages", "smb_message_echoes"):
        updates = _read_account_change(reading, as_id(entry.id) or "", change)
        return [_at(update, entry.time) if isinstance(update, TemplateUpdate) else update for update in updates]
    try:
        value = _decode_value(change.value)
    except _UNREADABLE:
        value = _salvaged_value(reading, _decode_parts(change.value))
    if value.metadata.phone_number_id == reading.phone_number_id:
        _read_value(reading, value)
    return ()


def _salvaged_value(reading: _Reading, parts: dict[str, msgspec.Raw]) -> _Value:
    """Return the valid lists of a value."""
    value = _Value()
    for name in ("metadata", "messages", "statuses", "message_echoes"):
        alone = {name: parts[name]} if name in parts else {}
        try:
            setattr(value, name, getattr(_decode_value(msgspec.json.encode(alone)), name))
        except _UNREADABLE:
            reading.unread += 1
    value.contacts, value.errors = parts.get("contacts", value.contacts), parts.get("errors", value.errors)
    return value


# -- what it holds -----------------------------------------------------------------------------------------------------


def _read_value(reading: _Reading, value: _Value) -> None:
    for raw in value.statuses:
        try:  # like `attempt`, but inline, because most updates are statuses
            reading.updates.append(parse_status(raw))
        except _UNREADABLE:
            reading.unread += 1
    if value.messages or value.message_echoes:
        contacts = _contacts(value.contacts)
        for raw in value.messages:
            reading.attempt(parse_message, bytes(raw), contacts)
        for raw in value.message_echoes:
            reading.attempt(parse_echo, bytes(raw), contacts)
    if value.errors is not _NONE:
        reading.attempt(lambda: account_updates.parse_errors({"errors": parse(bytes(value.errors))}))


def _contacts(raw: msgspec.Raw) -> CallbackContacts:
    """Return the contacts; an invalid list must not cost a message."""
    try:
        return CallbackContacts(parse(bytes(raw)))
    except _UNREADABLE:
        return CallbackContacts([])


def _read_account_change(reading: _Reading, waba_id: str, change: _Change) -> Iterable[Update]:
    value = parse(bytes(change.value))
    if not isinstance(value, dict):
        raise TypeError("the value must be an object")
    if reader := account_updates.OF_ACCOUNT.get(change.field):
        ours = reading.waba_id in (None, waba_id) and _not_of_another(reading, value)
    elif reader := account_updates.OF_NUMBER.get(change.field):
        written = digits(value.get("display_phone_number"))
        ours = reading.waba_id in (None, waba_id) and (not written or reading.phone in (None, written))
    elif reader := account_updates.OF_METADATA.get(change.field):
        ours = as_dict(value.get("metadata")).get("phone_number_id") == reading.phone_number_id
    else:
        reading.unread += 1
        return ()
    return reader(change.field, value) if ours else ()


def _at(update: TemplateUpdate, time: Any) -> TemplateUpdate:
    """Return an update with the time of its entry, if it has one that can be read."""
    try:
        return msgspec.structs.replace(update, at=as_time(time))
    except ValueError:
        return update


def _not_of_another(reading: _Reading, value: dict[str, Any]) -> bool:
    """An alert may name the one number that it is about."""
    named = value.get("entity_type") == "PHONE_NUMBER" and as_id(value.get("entity_id"))
    return not named or named == reading.phone_number_id


class CloudCallbackReader(msgspec.Struct, frozen=True):
    """Verifies and parses the callbacks of one number."""

    phone_number_id: str
    waba_id: str | None
    phone: str
    app_secret: str
    verify_token: str

    @classmethod
    def open(cls, channel: NetworkChannel) -> "CloudCallbackReader":
        secrets = msgspec.json.decode(channel.secrets, type=ChannelSecrets)
        address = channel.address["phone_number_id"], channel.address.get("waba_id")
        return cls(*address, channel.phone, secrets.app_secret, secrets.verify_token)

    def answer_handshake(self, query: Mapping[str, str]) -> str:
        token = query.get("hub.verify_token", "").encode("utf-8", "replace")
        if query.get("hub.mode") != "subscribe" or not hmac.compare_digest(self.verify_token.encode(), token):
            raise NotAuthenticated("The verify token is not the one of this channel.", "invalid_signature")
        return query.get("hub.challenge", "")

    def check_headers(self, headers: Mapping[bytes, str]) -> None:
        if not _SIGNATURE.fullmatch(headers.get(_HEADER, "")):
            raise NotAuthenticated("The header X-Hub-Signature-256 is missing or malformed.", "invalid_signature")

    def check_signature(self, headers: Mapping[bytes, str], body: bytes) -> None:
        self.check_headers(headers)
        expected = "sha256=" + hmac.digest(self.app_secret.encode(), body, hashlib.sha256).hex()
        if not hmac.compare_digest(expected, headers[_HEADER]):
            raise NotAuthenticated("The signature does not fit this body.", "invalid_signature")

    def parse(self, body: bytes) -> tuple[list[Update], int]:
        return parse_updates(body, self.phone_number_id, self.waba_id, self.phone)
