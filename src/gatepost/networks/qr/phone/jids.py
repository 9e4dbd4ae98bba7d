"""Converts between the library's JIDs and the protocol's persons and chats. Pure.

15550002222@s.whatsapp.net   a phone         123@lid        the same person, hidden
15550002222:7@…              one device      123-456@g.us   a group
status@broadcast             stories         123@newsletter a newsletter
123@broadcast                a list of people
"""

from typing import Any

from gatepost.networks.qr.phone.protos import neo

_PHONES = frozenset({"s.whatsapp.net", "c.us", "hosted"})
_HIDDEN = frozenset({"lid", "hosted.lid"})
_KINDS = {"g.us": "group", "newsletter": "newsletter", "broadcast": "status"}

Person = dict[str, str]


def person(*jids: Any, name: str = "") -> Person:
    """Return the person with these JIDs."""
    found: Person = {}
    for jid in jids:
        if jid.User and jid.Server in _PHONES:
            found.setdefault("phone", jid.User)
        elif jid.User and jid.Server in _HIDDEN:
            found.setdefault("lid", jid.User)
    return found | ({"name": name} if name else {})


def chat(jid: Any, name: str = "") -> dict[str, str] | None:
    """Return the kind and id of a chat; None for a conversation with one person."""
    kind = _KINDS.get(jid.Server)
    if kind is None:
        return None
    return {"kind": kind, "id": format_jid(jid)} | ({"name": name} if name else {})


def chat_of(source: Any) -> dict[str, str] | None:
    """Return the chat of a message. What a person sends to a list of people is shown in the conversation with them."""
    listed = source.Chat.Server == "broadcast" and source.Chat.User != "status"
    return None if listed and not source.IsFromMe else chat(source.Chat)


def other_side(source: Any, name: str = "") -> Person:
    """Return the other person of a message: its sender, or the recipient if our own phone sent it.

    For a message of our own to a group or a list it is our own account.
    """
    if not source.IsFromMe:
        return person(source.Sender, source.SenderAlt, name=name)
    if chat_of(source):
        return person(source.Sender, source.SenderAlt)
    return person(source.Chat, source.RecipientAlt)


def jid_of(who: Person) -> Any:
    """Return the JID of a person; a phone number takes precedence over a hidden id."""
    if who.get("phone"):
        return jid(who["phone"], "s.whatsapp.net")
    return jid(who.get("lid", ""), "lid")


def jid(user: str, server: str, device: int = 0) -> Any:
    return neo.JID(User=user, Server=server, Device=device, RawAgent=0, Integrator=0, IsEmpty=False)


def format_jid(jid_: Any) -> str:
    """Return a JID as text, with its device if it has one."""
    device = f":{jid_.Device}" if jid_.Device else ""
    return f"{jid_.User}{device}@{jid_.Server}" if jid_.User else str(jid_.Server)


def parse_jid(text: str) -> Any:
    """Parse the text of a JID."""
    user, _, server = text.rpartition("@")
    user, _, device = user.partition(":")
    return jid(user.partition(".")[0], server, int(device) if device.isdigit() else 0)
