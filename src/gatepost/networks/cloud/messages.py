"""Messages from people, echoes of messages sent from the business's phone, and changes of people's names."""

from datetime import datetime
from typing import Any

import msgspec

from gatepost.networks.base import ContactUpdate, Incoming, Person, Update
from gatepost.networks.cloud.incoming_content import IncomingContent, parse_content
from gatepost.networks.cloud.json_values import (
    as_dict,
    as_id,
    as_list,
    as_phone,
    as_str,
    as_time,
    limit_depth,
    parse,
    require_id,
    without_none,
)

MESSAGE_MAX = 512 * 1024  # bytes; of a larger message only these fields are parsed
_TOO_LARGE = [{"code": 0, "title": "The message is too large to be read"}]
_encode = msgspec.json.Encoder().encode
_NAME_MAX = 256


class CallbackContacts:
    """The contacts of a callback, by phone number and by user id."""

    def __init__(self, found: Any) -> None:
        self._all = [contact for contact in as_list(found) if isinstance(contact, dict)]
        self._by_phone = {contact["wa_id"]: contact for contact in self._all if as_phone(contact.get("wa_id"))}
        self._by_user = {contact["user_id"]: contact for contact in self._all if as_str(contact.get("user_id"))}

    def person(self, wa_id: Any, user_id: Any) -> Person:
        """Return a person with all known names. Without number and id, it is the only contact of the callback."""
        number, user = as_phone(wa_id), as_id(user_id) if isinstance(user_id, str) else None
        contact = self._by_phone.get(number or "") or self._by_user.get(user or "") or {}
        if not (number or user or wa_id) and len(self._all) == 1:
            contact = self._all[0]
        return _known(contact, number, user)


def _known(contact: dict[str, Any], number: str | None, user: str | None) -> Person:
    """Return a person with a phone number or user id."""
    given = contact.get("user_id")
    profile = as_dict(contact.get("profile"))
    person = Person(
        phone=number or as_phone(contact.get("wa_id")),
        user_id=user or (as_id(given) if isinstance(given, str) else None),
        name=as_str(profile.get("name"), _NAME_MAX),
        username=as_str(profile.get("username"), _NAME_MAX),
    )
    if not (person.phone or person.user_id):
        raise ValueError("a person must have a phone number or a user id")
    return person


def parse_message(raw: bytes, contacts: CallbackContacts) -> list[Update]:
    """Parse one message, and an update of the contact if their number or id changed."""
    message = _object(raw)
    person = contacts.person(message.get("from"), message.get("from_user_id"))
    read = parse_content(message, raw)
    incoming = _incoming(message, person, read)
    changed = _contact_update(person, incoming.at, read.content["system"]) if read.type == "system" else None
    return [incoming, changed] if changed else [incoming]


def parse_echo(raw: bytes, contacts: CallbackContacts) -> list[Update]:
    """Parse one message that the business sent from its own phone."""
    message = _object(raw)
    person = contacts.person(message.get("to"), message.get("to_user_id"))
    incoming = _incoming(message, person, parse_content(message, raw))
    return [msgspec.structs.replace(incoming, from_me=True)]


class _Head(msgspec.Struct, omit_defaults=True, rename={"sender": "from", "recipient": "to"}):
    """The fields that every message has."""

    id: Any
    timestamp: Any
    type: Any
    sender: Any = None
    from_user_id: Any = None
    recipient: Any = None
    to_user_id: Any = None


_decode_head = msgspec.json.Decoder(_Head).decode


def _object(raw: bytes) -> dict[str, Any]:
    if len(raw) > MESSAGE_MAX:
        head = msgspec.to_builtins(_decode_head(raw))
        return {**head, "type": "unsupported", "unsupported": {"type": head["type"]}, "errors": _TOO_LARGE}
    message = parse(raw)
    if not isinstance(message, dict):
        raise TypeError("a message must be an object")
    return message


def _incoming(message: dict[str, Any], person: Person, read: IncomingContent) -> Incoming:
    context = as_dict(message.get("context"))
    return Incoming(
        network_id=require_id(message.get("id")),
        person=person,
        type=read.type,
        content=_encode(read.content).decode(),
        at=as_time(message.get("timestamp")),
        reply_to=as_id(context.get("id")),
        target=read.target,
        context=_context(context, as_dict(message.get("referral"))) or None,
        media=read.media,
    )


def _context(context: dict[str, Any], referral: dict[str, Any]) -> dict[str, Any]:
    product = as_dict(context.get("referred_product"))
    return without_none(
        forwarded=True if context.get("forwarded") is True else None,
        frequently_forwarded=True if context.get("frequently_forwarded") is True else None,
        referred_product=_product(product) or None,
        referral=limit_depth(referral) or None,
    )


def _product(product: dict[str, Any]) -> dict[str, Any]:
    return without_none(
        catalog_id=as_id(product.get("catalog_id")), retailer_id=as_id(product.get("product_retailer_id"))
    )


def _contact_update(old: Person, at: datetime, system: dict[str, Any]) -> ContactUpdate | None:
    """Return the change of a person's number or id."""
    number, user_id = system.get("phone"), system.get("user_id")
    if system["kind"] == "number_changed" and number:
        # An id of the old number may not outlive it; it is only kept where nothing else tells who this was.
        new = Person(number, user_id=user_id or (None if old.phone else old.user_id), name=old.name)
        return ContactUpdate(new, at, old_phone=old.phone)
    if system["kind"] == "user_id_changed" and user_id:
        new = Person(old.phone or number, user_id=user_id, name=old.name)
        return ContactUpdate(new, at, old_user_id=None if new.phone else old.user_id)
    return None
