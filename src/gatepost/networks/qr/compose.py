"""Converts neutral content for the link. Choices that a linked phone cannot show are sent as numbered text. Pure."""

from typing import Any

import msgspec

from gatepost.networks.base import AcceptedMessage, CannotCompose

LINK_TYPES = {  # the message types of linked phones, and their names there
    "text": "conversation",
    "image": "imageMessage",
    "video": "videoMessage",
    "audio": "audioMessage",
    "document": "documentMessage",
    "sticker": "stickerMessage",
    "location": "locationMessage",
    "contacts": "contactsArrayMessage",
    "reaction": "reactionMessage",
    "poll": "pollCreationMessage",
}
CHOICES = frozenset({"buttons", "list", "cta_url"})  # sent as text
_FILES = frozenset({"image", "video", "audio", "document", "sticker"})

Content = dict[str, Any]


def link_content(type_: str, content: Content, media: dict[str, str]) -> tuple[str, Content]:
    """Return the type and content of a message for the link. Files are replaced by their handles."""
    if type_ in CHOICES:
        return _choices(type_, content, media)
    kept = {key: value for key, value in content.items() if key != "fallback"}
    if type_ in _FILES:
        return type_, {**kept, "media": {"handle": _handle(content.get("media"), media)}}
    if type_ == "reaction":  # the id of its target is a separate field of the request
        return type_, {"reaction": {"emoji": content["reaction"].get("emoji", "")}}
    return type_, kept


def accepted_fields(message: AcceptedMessage) -> Content:
    """Return the fields that a linked phone adds to the response to a send."""
    type_, content = LINK_TYPES.get(message.type, "conversation"), msgspec.json.decode(message.content)
    if type_ == "conversation":
        content = as_text(message.type, content) if message.type in CHOICES else content["body"]
    return {"message": {type_: content}, "messageType": type_, "messageTimestamp": int(message.at.timestamp())}


def as_text(type_: str, content: Content) -> str:
    """Return buttons, a list or a link button as text that a person can answer with a number."""
    header = content.get("header") or {}
    parts = [
        f"*{header['text']}*" if header.get("type") == "text" and header.get("text") else "",
        content.get("body", ""),
        _options(type_, content),
        f"_{content['footer']}_" if content.get("footer") else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _options(type_: str, content: Content) -> str:
    if type_ == "cta_url":
        cta = content.get("cta") or {}
        return f"{cta.get('text', '')}: {cta.get('url', '')}"
    if type_ == "buttons":
        return "\n".join(_numbered(number, row) for number, row in enumerate(content.get("buttons", ()), 1))
    return _sections(content.get("sections", ()))


def _sections(sections: Any) -> str:
    """Return the sections as text. Rows are numbered across all sections, so each number is unique."""
    blocks, number = [], 0
    for section in sections:
        lines = [f"*{section['title']}*"] if section.get("title") else []
        for row in section.get("rows", ()):
            number += 1
            lines.append(_numbered(number, row))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _numbered(number: int, row: Content) -> str:
    described = f" — {row['description']}" if row.get("description") else ""
    return f"{number}. {row.get('title', '')}{described}"


def _choices(type_: str, content: Content, media: dict[str, str]) -> tuple[str, Content]:
    if content.get("fallback") != "text":
        raise CannotCompose(f'A linked phone cannot send "{type_}". Send it as text with "fallback": "text".')
    text = as_text(type_, content)
    header = content.get("header") or {}
    if header.get("type") not in _FILES:
        return "text", {"body": text}
    file = {"media": {"handle": _handle(header.get("media"), media)}, "caption": text}
    return header["type"], file | ({"filename": header["filename"]} if header.get("filename") else {})


def _handle(file: Any, media: dict[str, str]) -> str:
    name = (file or {}).get("id") or (file or {}).get("link")
    handle = media.get(name) if name else None
    if handle is None:
        raise CannotCompose("The file of this message has not been uploaded to the network.")
    return handle
