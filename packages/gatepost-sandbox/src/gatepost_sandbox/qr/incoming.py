"""Incoming events for all devices of a phone: messages, names, numbers and labels."""

from base64 import b64decode
from binascii import Error as BadBase64
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.qr.content import FILES
from gatepost_sandbox.qr.files import Stored, describe
from gatepost_sandbox.qr.incoming_content import TARGETED, check_incoming
from gatepost_sandbox.qr.network import QrNetwork
from gatepost_sandbox.qr.phone import QrPhone
from gatepost_sandbox.settings import Phone
from gatepost_sandbox.wire import Update


class _Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Sender(_Asked, frozen=True):
    """A sender; when `hidden`, only their private id is shown until a contact event reveals the number."""

    phone: Phone
    name: str | None = None
    hidden: bool | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "phone", network_form(self.phone))


class Quoted(_Asked, frozen=True):
    """A quoted message."""

    id: str
    from_me: bool = True


class Attachment(_Asked, frozen=True):
    """A file in base64."""

    data: str
    mime_type: Annotated[str, Meta(min_length=1)]
    filename: str | None = None


class Chat(_Asked, frozen=True):
    """The chat of a message, if it is a group."""

    kind: Literal["group", "status", "newsletter"]
    id: str
    name: str | None = None


class Incoming(_Asked, frozen=True, rename={"sender": "from"}):
    """A message from a person; with `from_me`, the phone's owner sends it to that person."""

    sender: Sender
    type: Annotated[str, Meta(min_length=1, max_length=64)] = "text"
    content: dict[str, Any] = {}
    media: Attachment | None = None
    id: str | None = None
    from_me: bool = False
    quote: Quoted | None = None
    target: str | None = None
    context: dict[str, Any] | None = None
    chat: Chat | None = None


class ContactUpdate(_Asked, frozen=True):
    """A new or changed name, number or private id of a person."""

    phone: Phone
    name: str | None = None
    username: str | None = None
    old_phone: Phone | None = None
    hidden: bool = False


class LabelUpdate(_Asked, frozen=True):
    """A label that was changed, deleted, assigned or removed."""

    id: Annotated[str, Meta(min_length=1)]
    action: Literal["changed", "deleted", "assigned", "removed"]
    name: str | None = None
    color: int | None = None
    person: Phone | None = None


def check(said: Incoming) -> str | None:
    """Return what is wrong with the message, or None."""
    if (said.type in FILES) != (said.media is not None):
        return f"media belongs to {', '.join(FILES)}, and each of them needs it"
    if said.type in TARGETED and said.target is None:
        return f"{said.type} needs a target: the id of the message it is about"
    if said.media is not None:
        try:
            b64decode(said.media.data, validate=True)
        except (BadBase64, ValueError):
            return "media.data is not base64"
    return check_incoming(said.type, said.content)


def reply_of(person: str, message_id: str, *, text: str, emoji: str | None) -> Incoming:
    """Return a person's answer to a message: a text that quotes it, or a reaction."""
    if emoji is not None:
        content = {"reaction": {"emoji": emoji}}
        return Incoming(sender=Sender(phone=person), type="reaction", content=content, target=message_id)
    quote = Quoted(id=message_id, from_me=True)
    return Incoming(sender=Sender(phone=person), content={"body": text}, quote=quote)


def deliver(qr: QrNetwork, qr_phone: QrPhone, said: Incoming) -> str:
    """Send a person's message to the phone's devices; return its id."""
    person, message_id = said.sender.phone, said.id or qr_phone.next_id(from_me=said.from_me)
    _introduce(qr, said.sender)
    if said.chat is None:
        qr_phone.conversations.add(person)
    qr.count(qr_phone, "incoming")
    row = {"from": person, "type": said.type, "content": said.content, "wamid": message_id}
    qr.note("incoming", qr_phone, qr_phone.phone, **row)
    item = _message(qr, qr_phone, said, message_id)
    if said.chat is None:
        _show(qr, qr_phone, said, item)
    _send_to_all(qr, qr_phone, "message", message_id, person, item)
    return message_id


def _show(qr: QrNetwork, qr_phone: QrPhone, said: Incoming, item: dict[str, Any]) -> None:
    """Show a message in the person's chat."""
    chats, number, content = qr.network.chats, qr_phone.phone, said.content
    target, author = said.target or "", "business" if said.from_me else "person"
    if said.type == "reaction":
        chats.react(number, target, author, content["reaction"]["emoji"])
    elif said.type == "edit":
        chats.edit(number, target, content["edit"]["content"])
    elif said.type == "revoke":
        chats.delete(number, target)
    elif said.type == "poll_vote":
        chats.vote(number, target, content["poll"]["options"])
    else:
        chat = chats.open(said.sender.phone, number, official=False)
        chat.name = said.sender.name or chat.name
        shown = {**content, "media": item["media"]} if "media" in item else content
        chats.add(
            chat,
            item["id"],
            qr.clock.now(),
            said.type,
            shown,
            from_person=not said.from_me,
            status="delivered",
            quote=said.quote.id if said.quote else None,
            forwarded=bool((said.context or {}).get("forwarded")),
        )


def send_contact_update(qr: QrNetwork, qr_phone: QrPhone, update: ContactUpdate) -> None:
    """Send a contact event to the phone's devices."""
    if update.old_phone is not None:
        qr.directory.move(update.old_phone, update.phone)
    _introduce(qr, Sender(phone=update.phone, name=update.name, hidden=update.hidden))
    person = qr.directory.show(update.phone, named=update.name is not None)
    item: dict[str, Any] = {"event": "contact", "person": {**person, **_given(username=update.username)}}
    item |= _given(old_phone=update.old_phone)
    _send_to_all(qr, qr_phone, "contact", "", update.phone, item | {"at": int(qr.clock.now())})


def send_label_update(qr: QrNetwork, qr_phone: QrPhone, update: LabelUpdate) -> None:
    """Send a label event to the phone's devices."""
    person = None if update.person is None else qr.directory.show(update.person)
    item = {"event": "label", "id": update.id, "action": update.action}
    item |= _given(name=update.name, color=update.color, person=person)
    _send_to_all(qr, qr_phone, "label", update.id, update.person or "", item | {"at": int(qr.clock.now())})


def _introduce(qr: QrNetwork, sender: Sender) -> None:
    if sender.name is not None:
        qr.directory.rename(sender.phone, sender.name)
    if sender.hidden is not None:
        (qr.directory.hidden.add if sender.hidden else qr.directory.hidden.discard)(sender.phone)


def _message(qr: QrNetwork, qr_phone: QrPhone, said: Incoming, message_id: str) -> dict[str, Any]:
    content = said.content
    media = None
    if said.media is not None:
        file = said.media
        stored = Stored(qr_phone.phone, file.mime_type, b64decode(file.data), file.filename)
        media, content = describe(qr.files.keep(stored), stored), {"media": {}, **content}
    item = {
        "event": "message",
        "id": message_id,
        "from": qr.directory.show(said.sender.phone, named=True),
        "from_me": said.from_me,
        "type": said.type,
        "content": content,
        "at": int(qr.clock.now()),
    }
    quote, chat = said.quote, said.chat
    return item | _given(
        quote=None if quote is None else msgspec.structs.asdict(quote),
        target=said.target,
        context=said.context,
        media=media,
        chat=None if chat is None else _given(**msgspec.structs.asdict(chat)),
    )


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _send_to_all(qr: QrNetwork, qr_phone: QrPhone, label: str, news_id: str, person: str, item: dict[str, Any]) -> None:
    for session in qr.linked(qr_phone):
        qr.publish(session, Update(label=label, wamid=news_id, person=person, item=item))
