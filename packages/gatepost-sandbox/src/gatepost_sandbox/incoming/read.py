"""Parsing and validation of messages that a person sends, from the control API or a script."""

from base64 import b64decode
from binascii import Error as Base64Error
from typing import Any

import msgspec

from gatepost_sandbox.incoming.samples import SAMPLES, Sample
from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.people import UserId
from gatepost_sandbox.settings import Phone

MEDIA = ("image", "video", "audio", "document", "sticker")
REPLIES = ("button_reply", "list_reply", "nfm_reply")
# Required fields of the content by type; further fields are passed through.
NEEDED: dict[str, tuple[str, ...]] = {
    "text": ("body",),
    "location": ("latitude", "longitude"),
    "reaction": ("message_id",),
    "button": ("payload", "text"),
    "interactive": ("type",),
    "button_reply": ("id", "title"),
    "list_reply": ("id", "title"),
    "nfm_reply": ("response_json",),
    "order": ("catalog_id", "product_items"),
    "system": ("type",),
    "edit": ("original_message_id", "message"),
    "revoke": ("original_message_id",),
    "user_preferences": ("value",),
    "echo": ("type",),
    "errors": (),
    "contacts": (),
    "unsupported": (),
    "request_welcome": (),
    "raw": (),
    **dict.fromkeys((*MEDIA, "voice"), ()),
}
_MAY_BE_ABSENT = {"unsupported", "request_welcome", *MEDIA, "voice"}
_ARRAYS = {"contacts", "errors"}


class Incoming(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"person": "from"}):
    """A message or other update that a person sends to a number."""

    person: Phone
    type: str
    content: Any = None
    name: str | None = None
    user_id: UserId | None = None
    username: str | None = None
    phone_hidden: bool | None = None
    identity_key_hash: str | None = None
    reply_to: str | None = None
    context: dict[str, Any] | None = None
    referral: dict[str, Any] | None = None
    errors: list[dict[str, Any]] | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "person", network_form(self.person))


def read_incoming(body: dict[str, Any]) -> Incoming:
    """Parse a message that a person sends. Raises ValueError or msgspec.ValidationError if it is invalid."""
    kind = body.get("type", "text")
    if not isinstance(kind, str) or kind not in NEEDED:
        raise ValueError(f"type must be one of {', '.join(sorted(NEEDED))}")
    fields = {**body, "type": kind}
    content = fields.pop(kind, None)
    if kind == "errors":
        fields.pop("errors", None)
    incoming = msgspec.convert({**fields, "content": _read_content(kind, content)}, Incoming)
    if kind in (*MEDIA, "voice"):
        read_file(kind, incoming.content)
    return incoming


def _read_content(kind: str, content: Any) -> Any:
    if kind == "text" and isinstance(content, str):
        content = {"body": content}
    if content is None and kind in _MAY_BE_ABSENT:
        content = {}
    if kind in _ARRAYS:
        if not isinstance(content, list) or not content:
            raise ValueError(f"{kind} must be a non-empty array")
        return content
    if not isinstance(content, dict):
        raise ValueError(f"a message of type {kind} needs {kind} as an object")
    absent = [name for name in NEEDED[kind] if name not in content]
    if absent:
        raise ValueError(f"{kind} needs {', '.join(absent)}")
    return content


def read_file(kind: str, content: dict[str, Any]) -> Sample:
    """Return the file of a media message: its bytes in base64 and its type, or the sample of the kind."""
    sample = SAMPLES[kind]
    mime_type = content.get("mime_type", sample.mime_type)
    written = content.get("content")
    if not isinstance(mime_type, str) or not isinstance(written, str | None):
        raise ValueError(f"{kind}.mime_type and {kind}.content must be strings")
    try:
        return Sample(mime_type, sample.content if written is None else b64decode(written, validate=True))
    except Base64Error as error:
        raise ValueError(f"{kind}.content must be base64: {error}") from error
