"""Messages to be sent, one function for each type. They only build a message; the gateway validates it.

gp.send_text("5511999998888", "Hello")                     composes and sends
gp.batch([compose.text("5511999998888", "Hello"), …])      sends many at once

`phone` may also be the id of a contact (ct_…), for people whose number is not known.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import msgspec

from gatepost_client.files import File
from gatepost_client.wire import given, show_time

Fields: TypeAlias = Mapping[str, Any]
Attachment: TypeAlias = str | Path | File


class Options(TypedDict, total=False):
    """Options of every type of message."""

    reply_to: str
    client_ref: str
    send_at: datetime
    ttl: int
    priority: Literal["chat", "bulk"]
    on_unknown: Literal["retry", "fail"]
    idempotency_key: str


class Outgoing(msgspec.Struct, frozen=True):
    """A message to be sent, with a file to upload first if it has one."""

    fields: dict[str, Any]
    idempotency_key: str | None = None
    file: File | None = None

    def with_media(self, media_id: str) -> "Outgoing":
        """Return the same message with its file uploaded."""
        return Outgoing(self.fields | {"media": {"id": media_id}}, self.idempotency_key)


def message(phone: str, body: str | None = None, *, type: str = "text", **fields: Any) -> Outgoing:
    """Compose any message by the fields of the API."""
    return _made(phone, type, {"body": body} | fields, {})


def text(phone: str, body: str, *, preview_url: bool | None = None, **options: Unpack[Options]) -> Outgoing:
    """Compose a text message."""
    return _made(phone, "text", given(body=body, preview_url=preview_url), options)


def image(phone: str, media: Attachment, *, caption: str | None = None, **options: Unpack[Options]) -> Outgoing:
    """Compose an image: the id of an upload, a link, or a file of yours."""
    return _with_file(phone, "image", media, given(caption=caption), options)


def video(phone: str, media: Attachment, *, caption: str | None = None, **options: Unpack[Options]) -> Outgoing:
    """Compose a video: the id of an upload, a link, or a file of yours."""
    return _with_file(phone, "video", media, given(caption=caption), options)


def audio(phone: str, media: Attachment, *, voice: bool | None = None, **options: Unpack[Options]) -> Outgoing:
    """Compose an audio message; with `voice`, a voice message."""
    return _with_file(phone, "audio", media, given(voice=voice), options)


def document(
    phone: str,
    media: Attachment,
    *,
    caption: str | None = None,
    filename: str | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a document; `filename` is its displayed name."""
    return _with_file(phone, "document", media, given(caption=caption, filename=filename), options)


def sticker(phone: str, media: Attachment, **options: Unpack[Options]) -> Outgoing:
    """Compose a sticker."""
    return _with_file(phone, "sticker", media, {}, options)


def location(
    phone: str,
    latitude: float,
    longitude: float,
    *,
    name: str | None = None,
    address: str | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a location."""
    place = given(latitude=latitude, longitude=longitude, name=name, address=address)
    return _made(phone, "location", {"location": place}, options)


def contacts(phone: str, contacts: Sequence[Fields], **options: Unpack[Options]) -> Outgoing:
    """Compose contact cards."""
    return _made(phone, "contacts", {"contacts": contacts}, options)


def buttons(
    phone: str,
    body: str,
    buttons: Mapping[str, str],
    *,
    header: str | Fields | None = None,
    footer: str | None = None,
    fallback: Literal["text"] | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a text with up to three buttons: `{"yes": "Yes, please"}`, the id that comes back and what it says."""
    choices = [{"id": id, "title": title} for id, title in buttons.items()]
    extras = given(header=_header(header), footer=footer, fallback=fallback)
    return _made(phone, "buttons", {"body": body, "buttons": choices} | extras, options)


def list_choice(
    phone: str,
    body: str,
    button: str,
    sections: Sequence[Fields],
    *,
    header: str | Fields | None = None,
    footer: str | None = None,
    fallback: Literal["text"] | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a text with a list: sections with `title` and `rows` (`id`, `title`, `description`)."""
    extras = given(header=_header(header), footer=footer, fallback=fallback)
    return _made(phone, "list", {"body": body, "button": button, "sections": sections} | extras, options)


def link_button(
    phone: str,
    body: str,
    text: str,
    url: str,
    *,
    header: str | Fields | None = None,
    footer: str | None = None,
    fallback: Literal["text"] | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a text with a button that opens a URL."""
    extras = given(header=_header(header), footer=footer, fallback=fallback)
    return _made(phone, "cta_url", {"body": body, "cta": {"text": text, "url": url}} | extras, options)


def product(
    phone: str,
    catalog_id: str,
    retailer_id: str,
    *,
    body: str | None = None,
    footer: str | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a product message."""
    shown = {"product": {"catalog_id": catalog_id, "retailer_id": retailer_id}}
    return _made(phone, "product", shown | given(body=body, footer=footer), options)


def product_list(
    phone: str,
    body: str,
    header: str | Fields,
    catalog_id: str,
    sections: Sequence[Fields],
    *,
    footer: str | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a list of products: sections with `title` and `products`, which are your product ids."""
    fields = given(body=body, header=_header(header), catalog_id=catalog_id, sections=sections, footer=footer)
    return _made(phone, "product_list", fields, options)


def catalog(
    phone: str, body: str, *, thumbnail: str | None = None, footer: str | None = None, **options: Unpack[Options]
) -> Outgoing:
    """Compose a link to the catalog."""
    return _made(phone, "catalog", given(body=body, thumbnail=thumbnail, footer=footer), options)


def template(
    phone: str,
    name: str,
    language: str,
    *,
    variables: Sequence[str] | Mapping[str, str] | None = None,
    header: str | Fields | None = None,
    buttons: Sequence[Fields] | None = None,
    components: Sequence[Fields] | None = None,
    **options: Unpack[Options],
) -> Outgoing:
    """Compose a template message with its variables."""
    used = given(
        name=name, language=language, variables=variables, header=header, buttons=buttons, components=components
    )
    return _made(phone, "template", {"template": used}, options)


def reaction(phone: str, message_id: str, emoji: str, **options: Unpack[Options]) -> Outgoing:
    """Compose a reaction to a message; an empty emoji removes it."""
    return _made(phone, "reaction", {"reaction": {"message_id": message_id, "emoji": emoji}}, options)


def poll(
    phone: str, question: str, choices: Sequence[str], *, multiple: bool = False, **options: Unpack[Options]
) -> Outgoing:
    """Compose a poll with 2 to 12 options; QR channels only."""
    return _made(
        phone, "poll", {"poll": {"question": question, "options": list(choices), "multiple": multiple}}, options
    )


def _made(phone: str, kind: str, content: dict[str, Any], options: Options) -> Outgoing:
    recipient = "contact" if phone.startswith("ct_") else "phone"
    fields: dict[str, Any] = {recipient: phone, "type": kind} | content | dict(options)
    key = fields.pop("idempotency_key", None)
    if isinstance(fields.get("send_at"), datetime):
        fields["send_at"] = show_time(fields["send_at"])
    return Outgoing(given(**fields), key)


def _with_file(phone: str, kind: str, media: Attachment, content: dict[str, Any], options: Options) -> Outgoing:
    if isinstance(media, str):
        return _made(phone, kind, {"media": _named(media)} | content, options)
    file = media if isinstance(media, File) else File(media)
    return msgspec.structs.replace(_made(phone, kind, content, options), file=file)


def _named(media: str) -> dict[str, str]:
    if media.startswith(("http://", "https://")):
        return {"link": media}
    if media.startswith("med_"):
        return {"id": media}
    raise ValueError("media is an id (med_…), a link (https://…), a Path, or a File")


def _header(header: str | Fields | None) -> Fields | None:
    return {"type": "text", "text": header} if isinstance(header, str) else header
