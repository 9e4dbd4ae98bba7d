"""The network's JSON for incoming messages, by type."""

from typing import Any

import msgspec

from gatepost_sandbox.errors import status_error
from gatepost_sandbox.incoming.read import MEDIA, REPLIES, Incoming, read_file
from gatepost_sandbox.media import Media

_CHANGED = {
    "user_changed_number": "User {name} changed from {old} to {new}",
    "user_changed_user_id": "User {name} changed their user id",
    "customer_identity_changed": "The security code of {name} changed",
}


def compose(incoming: Incoming, name: str, media: Media, phone_number_id: str, now: float) -> dict[str, Any]:
    """Return the type and its object."""
    kind, content = incoming.type, incoming.content
    if kind in (*MEDIA, "voice"):
        return _compose_file(kind, content, media, phone_number_id, now)
    if kind in REPLIES:
        return {"type": "interactive", "interactive": {"type": kind, kind: _reply(kind, content)}}
    if kind == "system":
        return _compose_system(incoming, name, now)
    if kind == "unsupported":
        error = status_error(131051, "This sort of message is not supported.")
        del error["href"]
        made: dict[str, Any] = {"errors": incoming.errors or [error], "type": kind}
        return {**made, "unsupported": content} if content else made
    if kind == "reaction" and not content.get("emoji"):
        return {"type": kind, kind: {"message_id": content["message_id"]}}
    if kind == "request_welcome":
        return {"type": kind}
    return {"type": kind, kind: content}


def _reply(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    if kind != "nfm_reply":
        return content
    response = content["response_json"]
    written = response if isinstance(response, str) else msgspec.json.encode(response).decode()
    return {"name": content.get("name", "flow"), "body": content.get("body", "Sent"), "response_json": written}


def _compose_file(kind: str, content: dict[str, Any], media: Media, phone_number_id: str, now: float) -> dict[str, Any]:
    file = read_file(kind, content)
    filename = content.get("filename", "document.pdf" if kind == "document" else None)
    stored = media.put(phone_number_id, file.content, file.mime_type, filename, now, incoming=True)
    shown: dict[str, Any] = {name: content[name] for name in ("caption",) if name in content}
    if kind == "document":
        shown["filename"] = filename
    shown |= {"mime_type": stored.mime_type, "sha256": stored.sha256, "id": stored.id, "url": media.url(stored, now)}
    if kind in ("audio", "voice"):
        shown["voice"] = kind == "voice" or bool(content.get("voice", False))
    if kind == "sticker":
        shown["animated"] = bool(content.get("animated", False))
    wire_type = "audio" if kind == "voice" else kind
    return {"type": wire_type, wire_type: shown}


def _compose_system(incoming: Incoming, name: str, now: float) -> dict[str, Any]:
    """Return a system message: a person has a new number, user id or identity."""
    content = dict(incoming.content)
    kind = content["type"]
    identity = content.pop("identity", None)
    said = _CHANGED.get(str(kind), "{name} changed").format(
        name=name, old=incoming.person, new=content.get("wa_id", "")
    )
    made: dict[str, Any] = {"type": "system", "system": {"body": said, **content}}
    if kind == "customer_identity_changed":
        default = {"acknowledged": False, "created_timestamp": int(now), "hash": incoming.identity_key_hash or ""}
        made["identity"] = {**default, **(identity or {})}
    return made
