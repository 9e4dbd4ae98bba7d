"""Converts neutral content into the library's messages, one function per type. Pure."""

import hashlib
import os
from collections.abc import Callable
from typing import Any

from gatepost.networks.qr.phone import handles, vcards
from gatepost.networks.qr.phone.jids import format_jid
from gatepost.networks.qr.phone.protos import common, e2e

Content = dict[str, Any]


class UnsupportedContent(Exception):
    """Content that cannot be sent. The text is the reason."""


def build(type_: str, content: Content, to: Any, frame: Content) -> Any:
    """Return the message to send. `frame` holds the quoted message, and the target of a reaction."""
    if type_ == "reaction":
        return _reaction(content, to, frame.get("target"))
    builder = _BUILDERS.get(type_)
    if builder is None:
        raise UnsupportedContent(f'Messages of the type "{type_}" cannot be sent from a linked phone.')
    try:
        said = builder(content)
    except (KeyError, TypeError, ValueError, handles.BadHandle) as error:
        raise UnsupportedContent(f"The content of this {type_} is not complete: {error!r}") from error
    if frame.get("quote"):
        _answer(said, frame["quote"], to)
    return said


def edit(id_: str, to: Any, said: Any, now_ms: int) -> Any:
    """Return the message that edits one of our own messages."""
    protocol = e2e.ProtocolMessage(
        key=key(id_, True, to), type=e2e.ProtocolMessage.MESSAGE_EDIT, editedMessage=said, timestampMS=now_ms
    )
    return e2e.Message(editedMessage=e2e.FutureProofMessage(message=e2e.Message(protocolMessage=protocol)))


def revoke(id_: str, to: Any) -> Any:
    """Return the message that deletes one of our own messages for everyone."""
    return e2e.Message(protocolMessage=e2e.ProtocolMessage(type=e2e.ProtocolMessage.REVOKE, key=key(id_, True, to)))


def key(id_: str, from_me: bool, to: Any) -> Any:
    return common.MessageKey(remoteJID=format_jid(to), fromMe=from_me, ID=id_)


def option_hashes(options: list[str]) -> dict[str, str]:
    """Return the options of a poll by their SHA-256, which identifies them in votes."""
    return {hashlib.sha256(option.encode()).hexdigest(): option for option in options}


def _text(content: Content) -> Any:
    # The plain form (`conversation`) cannot quote another message, so the extended form is always used.
    return e2e.Message(extendedTextMessage=e2e.ExtendedTextMessage(text=content["body"]))


def _file(type_: str) -> Callable[[Content], Any]:
    def make(content: Content) -> Any:
        kind, stored = handles.unpack(content["media"]["handle"])
        if not handles.keys_fit(kind, type_):
            raise ValueError(f"the file was uploaded as {kind}")
        said = e2e.Message()
        file = getattr(said, handles.FIELDS[type_])
        handles.copy_address(getattr(stored, handles.FIELDS[kind]), file)
        _describe(type_, file, content)
        return said

    return make


def _describe(type_: str, file: Any, content: Content) -> None:
    if content.get("caption") and type_ in ("image", "video", "document"):
        file.caption = content["caption"]
    if type_ == "audio":
        file.PTT = bool(content.get("voice"))
    if type_ == "document":
        file.fileName = file.title = content.get("filename") or "document"


def _location(content: Content) -> Any:
    place = content["location"]
    spot = e2e.LocationMessage(degreesLatitude=place["latitude"], degreesLongitude=place["longitude"])
    for name in ("name", "address"):
        if place.get(name):
            setattr(spot, name, place[name])
    return e2e.Message(locationMessage=spot)


def _contacts(content: Content) -> Any:
    cards = [
        e2e.ContactMessage(displayName=one["name"]["formatted_name"], vcard=vcards.write(one))
        for one in content["contacts"]
    ]
    if len(cards) == 1:
        return e2e.Message(contactMessage=cards[0])
    shown = f"{len(cards)} contacts"
    return e2e.Message(contactsArrayMessage=e2e.ContactsArrayMessage(displayName=shown, contacts=cards))


def _poll(content: Content) -> Any:
    poll = content["poll"]
    creation = e2e.PollCreationMessage(
        name=poll["question"],
        options=[e2e.PollCreationMessage.Option(optionName=option) for option in poll["options"]],
        selectableOptionsCount=0 if poll.get("multiple") else 1,
    )
    # Votes are encrypted with a key derived from this secret.
    secret = e2e.MessageContextInfo(messageSecret=os.urandom(32))
    if poll.get("multiple"):
        return e2e.Message(pollCreationMessage=creation, messageContextInfo=secret)
    return e2e.Message(pollCreationMessageV3=creation, messageContextInfo=secret)


def _reaction(content: Content, to: Any, target: Content | None) -> Any:
    if not target:
        raise UnsupportedContent("A reaction needs the message that it refers to.")
    about = key(target["id"], bool(target.get("from_me")), to)
    return e2e.Message(reactionMessage=e2e.ReactionMessage(key=about, text=content["reaction"].get("emoji", "")))


def _answer(said: Any, quote: Content, to: Any) -> None:
    """Set the quoted message of a reply."""
    for descriptor, value in said.ListFields():
        if descriptor.message_type and "contextInfo" in descriptor.message_type.fields_by_name:
            value.contextInfo.stanzaID = quote["id"]
            value.contextInfo.participant = quote.get("participant") or format_jid(to)
            value.contextInfo.quotedMessage.conversation = quote.get("text") or ""


_BUILDERS: dict[str, Callable[[Content], Any]] = {
    "text": _text,
    "location": _location,
    "contacts": _contacts,
    "poll": _poll,
    **{kind: _file(kind) for kind in handles.FIELDS},
}
