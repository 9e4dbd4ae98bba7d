"""What a business may post to /messages: each kind is read and checked here, and nowhere else."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from gatepost.sandbox.errors import Refusal, invalid, missing, parameter

TEXT_MAX = 4096
CALLBACK_DATA_MAX = 512
PHONE_MIN, PHONE_MAX = 7, 15

_SEPARATORS = str.maketrans("", "", "+-() ")
_DIGITS = re.compile(r"[0-9]+\Z")


class Send(msgspec.Struct, frozen=True, gc=False):
    """A message to one person that has passed every check of its form."""

    input: str
    to: str
    type: str
    content: Any
    callback_data: str | None
    context: str | None


class MarkRead(msgspec.Struct, frozen=True):
    """A business has read a person's message, and may be typing."""

    message_id: str
    typing: bool


Content = Callable[[Any], Refusal | None]


def check_text(content: Any) -> Refusal | None:
    """A text message's own fields."""
    if not isinstance(content, dict):
        return parameter("Param text must be a JSON object.")
    for name in content:
        if name not in ("body", "preview_url"):
            return parameter(f'Unexpected key "{name}" on param "text".')
    body = content.get("body")
    if body is None:
        return missing("text.body")
    if not isinstance(body, str):
        return parameter("Param text['body'] must be a string.")
    if len(body) > TEXT_MAX:
        return parameter(f"Param text['body'] must be at most {TEXT_MAX} characters long.")
    if not body.strip():
        return invalid("text.body", "must not be empty")
    if not isinstance(content.get("preview_url", False), bool):
        return invalid("text.preview_url", "must be a boolean")
    return None


# A further kind of message is one more line here.
KINDS: dict[str, Content] = {"text": check_text}


def normalise_phone(value: str) -> str | None:
    """The digits of a phone number written with +, spaces, dashes or brackets; None when it is not one."""
    digits = value.translate(_SEPARATORS)
    return digits if PHONE_MIN <= len(digits) <= PHONE_MAX and _DIGITS.match(digits) else None


def read_payload(raw: bytes) -> Send | MarkRead | Refusal:
    """Read one request body: a message, a read mark, or the reason it is neither."""
    try:
        payload = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
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
    """A read mark, with or without the typing indicator."""
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
    """A message of any kind."""
    written = payload.get("to")
    if written is None:
        return missing("to")
    to = normalise_phone(written) if isinstance(written, str) else None
    if to is None:
        return invalid("to", f"must be a phone number of {PHONE_MIN} to {PHONE_MAX} digits")
    if payload.get("recipient_type", "individual") != "individual":
        return invalid("recipient_type", "must be 'individual'")
    kind = payload.get("type", "text")
    check = KINDS.get(kind) if isinstance(kind, str) else None
    if check is None:
        return Refusal(131051, details=f"Message type {str(kind)[:64]!r} is not supported.")
    content = payload.get(kind)
    refusal = missing(kind) if content is None else check(content)
    refusal = refusal or check_callback_data(payload) or check_context(payload)
    if refusal is not None:
        return refusal
    context = payload.get("context")
    return Send(
        input=written,
        to=to,
        type=kind,
        content=content,
        callback_data=payload.get("biz_opaque_callback_data"),
        context=context["message_id"] if context else None,
    )


def check_callback_data(payload: dict[str, Any]) -> Refusal | None:
    """The business's own data, echoed in every status."""
    data = payload.get("biz_opaque_callback_data")
    if data is None:
        return None
    if not isinstance(data, str):
        return parameter("Param biz_opaque_callback_data must be a string.")
    if len(data) > CALLBACK_DATA_MAX:
        return parameter(f"Param biz_opaque_callback_data must be at most {CALLBACK_DATA_MAX} characters long.")
    return None


def check_context(payload: dict[str, Any]) -> Refusal | None:
    """The message that is quoted."""
    context = payload.get("context")
    if context is None:
        return None
    if not isinstance(context, dict):
        return parameter("Param context must be a JSON object.")
    quoted = context.get("message_id")
    if quoted is None:
        return missing("context.message_id")
    return None if isinstance(quoted, str) and quoted else invalid("context.message_id", "must be the id of a message")
