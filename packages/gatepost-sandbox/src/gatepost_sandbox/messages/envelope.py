"""The fields of every message: recipient, context and callback data."""

import re
from typing import Any

import msgspec

from gatepost_sandbox.errors import Refusal, invalid, missing, parameter
from gatepost_sandbox.messages.fields import Refused
from gatepost_sandbox.messages.kinds import KINDS
from gatepost_sandbox.messages.limits import LIMITS
from gatepost_sandbox.messages.media import MediaRef
from gatepost_sandbox.number_forms import network_form

PHONE_MIN, PHONE_MAX = 7, 15

_SEPARATORS = str.maketrans("", "", "+-() ")
_DIGITS = re.compile(r"[0-9]+\Z")
_USER_ID = re.compile(r"[A-Z]{2}\.[A-Za-z0-9.]+\Z")
_CALLBACK_DATA_MAX = LIMITS["biz_opaque_callback_data"]


class Send(msgspec.Struct, frozen=True, gc=False):
    """A valid message to one person."""

    input: str
    to: str  # digits, or the user id if the request has no phone number
    type: str
    content: Any
    callback_data: str | None
    context: str | None
    media: tuple[MediaRef, ...] = ()
    identity_hash: str | None = None
    user_id: str | None = None  # set when the business wrote a user id instead of a phone number


class MarkRead(msgspec.Struct, frozen=True):
    """A business has read a person's message, and may be typing."""

    message_id: str
    typing: bool


def normalise_phone(value: str) -> str | None:
    """Return the digits of a phone number written with +, spaces, dashes or brackets; None when it is not one."""
    digits = value.translate(_SEPARATORS)
    return digits if PHONE_MIN <= len(digits) <= PHONE_MAX and _DIGITS.match(digits) else None


def is_user_id(value: str) -> bool:
    """Return whether a recipient is written as a business-scoped user id."""
    return len(value) <= LIMITS["user_id"] and _USER_ID.match(value) is not None


def read_payload(raw: bytes) -> Send | MarkRead | Refusal:
    """Parse a request body: a message, a read mark, or a refusal."""
    try:
        payload = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parameter("Invalid parameter: the request body is not valid JSON.")
    if not isinstance(payload, dict):
        return parameter("Invalid parameter: the request body must be a JSON object.")
    product = payload.get("messaging_product")
    if product is None:
        return parameter("The parameter messaging_product is required.")
    if product != "whatsapp":
        return parameter(f"Param messaging_product must be one of {{WHATSAPP}} - got {str(product)[:64]!r}.")
    return read_mark(payload) if "status" in payload else read_send(payload)


def read_mark(payload: dict[str, Any]) -> MarkRead | Refusal:
    """Return a read mark, with or without the typing indicator."""
    if payload["status"] != "read":
        return invalid("status", "must be 'read'")
    message_id = payload.get("message_id")
    if message_id is None:
        return missing("message_id")
    if not isinstance(message_id, str) or not message_id:
        return invalid("message_id", "must be the id of a message")
    typing = payload.get("typing_indicator")
    if typing is not None and typing != {"type": "text"}:
        return invalid("typing_indicator", "must be {'type': 'text'}")
    return MarkRead(message_id=message_id, typing=typing is not None)


def read_send(payload: dict[str, Any]) -> Send | Refusal:
    """Return a message of any kind."""
    written = payload.get("to", payload.get("recipient"))  # a user id may stand in either
    if written is None:
        return missing("to")
    to = normalise_phone(written) if isinstance(written, str) else None
    user_id = written if to is None and isinstance(written, str) and is_user_id(written) else None
    if to is None and user_id is None:
        return invalid("to", f"must be a phone number of {PHONE_MIN} to {PHONE_MAX} digits, or a user id")
    if payload.get("recipient_type", "individual") != "individual":
        return invalid("recipient_type", "must be 'individual'")
    kind = payload.get("type", "text")
    check = KINDS.get(kind) if isinstance(kind, str) else None
    if check is None:
        return Refusal(131051, details=f"Message type {str(kind)[:64]!r} is not supported.")
    content = payload.get(kind)
    if content is None:
        return missing(kind)
    try:
        media = check(content)
    except Refused as refused:
        return refused.refusal
    refusal = check_callback_data(payload) or check_context(payload, kind) or check_identity(payload)
    if refusal is not None:
        return refusal
    context = payload.get("context")
    return Send(
        input=written,
        to=network_form(to) if to else written,
        type=kind,
        content=content,
        callback_data=payload.get("biz_opaque_callback_data"),
        context=context["message_id"] if context else None,
        media=media,
        identity_hash=payload.get("recipient_identity_key_hash"),
        user_id=user_id,
    )


def check_callback_data(payload: dict[str, Any]) -> Refusal | None:
    """Check the business's own data, echoed in every status."""
    data = payload.get("biz_opaque_callback_data")
    if data is None:
        return None
    if not isinstance(data, str):
        return parameter("Param biz_opaque_callback_data must be a string.")
    if len(data) > _CALLBACK_DATA_MAX:
        return parameter(f"Param biz_opaque_callback_data must be at most {_CALLBACK_DATA_MAX} characters long.")
    return None


def check_context(payload: dict[str, Any], kind: str) -> Refusal | None:
    """Check the message that is quoted."""
    context = payload.get("context")
    if context is None:
        return None
    if not isinstance(context, dict):
        return parameter("Param context must be a JSON object.")
    if kind == "reaction":
        return invalid("context", "must not be given with a reaction")
    quoted = context.get("message_id")
    if quoted is None:
        return missing("context.message_id")
    return None if isinstance(quoted, str) and quoted else invalid("context.message_id", "must be the id of a message")


def check_identity(payload: dict[str, Any]) -> Refusal | None:
    """Check the identity the business believes the person to have."""
    key_hash = payload.get("recipient_identity_key_hash")
    if key_hash is None or isinstance(key_hash, str):
        return None
    return parameter("Param recipient_identity_key_hash must be a string.")
