"""Chats and messages as the control API and the feed show them."""

from functools import partial
from typing import Any, Literal

import msgspec

from gatepost_sandbox.chats.state import Chat, ChatMessage
from gatepost_sandbox.chats.view import view_of
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.qr import QrNetwork
from gatepost_sandbox.qr.phone import QrPhone

QUOTE_MAX = 300  # characters of a quoted text
NAME_MAX = 256  # characters of a name: businesses and strangers choose them
ACTIVE_SECONDS = 30  # an official number is shown as online for so long after it did something in the chat


class ChatFile(msgspec.Struct, frozen=True):
    """A file that was sent in a chat."""

    mime_type: str
    content: bytes
    filename: str | None

    @property
    def size(self) -> int:
        """The length in bytes."""
        return len(self.content)


class ChatViews:
    """Shows the chats of both networks in one shape."""

    def __init__(self, network: Network, qr: QrNetwork) -> None:
        self._network = network
        self._qr = qr

    def business(self, number: str) -> Number | QrPhone | None:
        """Return the official number with this id, or the QR phone with this number."""
        return self._network.numbers.get(number) or self._qr.phones.get(number)

    def file(self, number: str, file_id: str) -> ChatFile | None:
        """Return a file of a number."""
        if number in self._network.numbers:
            stored = self._network.media.look(file_id, self._network.clock.now())
            if stored is None or stored.phone_number_id != number:
                return None
            return ChatFile(stored.mime_type, stored.content, stored.filename)
        kept = self._qr.files.find(number, file_id)
        return None if kept is None else ChatFile(kept.mime, kept.data, kept.filename)

    def chat(self, chat: Chat) -> dict[str, Any]:
        """Return a chat without its messages, except for the last one that the person has."""
        person = self._network.people.known_name(chat.person, chat.name)
        blocked = (chat.person, chat.number) in self._network.chats.blocked
        last = next((message for message in reversed(chat.messages) if message.arrived), None)
        return {
            "person": chat.person,
            "name": person[:NAME_MAX],
            "number": self._number(chat),
            "unread": sum(message.unread for message in chat.messages),
            "last": None if last is None else self.message(last),
            "typing": self._network.clock.now() < chat.typing_until,
            "presence": None if blocked else self._presence(chat),
            "blocked": blocked,
            **self._official_state(chat),
        }

    def message(self, message: ChatMessage) -> dict[str, Any]:
        """Return a message."""
        return {
            "id": message.id,
            "seq": message.seq,
            "from": _author(message),
            "at": int(message.at),
            "type": message.type,
            "view": self._view(message),
            "status": message.status,
            "error": None if message.error is None else {name: message.error.get(name) for name in ("code", "title")},
            "quote": self._quote(message),
            "reactions": [{"from": who, "emoji": emoji} for who, emoji in message.reactions],
            "edited": message.edited,
            "deleted": message.deleted,
            "forwarded": message.forwarded,
        }

    def _view(self, message: ChatMessage) -> dict[str, Any]:
        official = message.number in self._network.numbers
        return view_of(message, official=official, find_file=partial(self.file, message.number))

    def _quote(self, message: ChatMessage) -> dict[str, Any] | None:
        if message.quote is None:
            return None
        quoted = self._network.chats.message(message.number, message.quote)
        if quoted is None:
            return {"id": message.quote, "from": None, "text": "", "type": "unknown"}
        view = self._view(quoted)
        text = view.get("text") or view.get("poll", {}).get("name") or ""
        return {"id": quoted.id, "from": _author(quoted), "text": str(text)[:QUOTE_MAX], "type": quoted.type}

    def _number(self, chat: Chat) -> dict[str, Any]:
        business = self.business(chat.number)
        network: Literal["official", "qr"] = "official" if chat.official else "qr"
        spec = None if business is None else business.spec
        phone, name = (chat.number, chat.number) if spec is None else (spec.phone, spec.name)
        return {"id": chat.number, "network": network, "phone": phone, "name": name[:NAME_MAX]}

    def _presence(self, chat: Chat) -> dict[str, Any] | None:
        """Return whether the business is online, until when that is shown, and when it was seen; None if never."""
        if chat.official:
            seen = None if chat.active_at is None else int(chat.active_at)
            until = None if seen is None else seen + ACTIVE_SECONDS
            online = until is not None and self._network.clock.now() < until
        else:
            phone = self._qr.phones.get(chat.number)
            online, until = phone is not None and phone.online, None
            seen = None if phone is None or phone.last_online is None else int(phone.last_online)
        return {"online": online, "until": until, "last_seen": seen} if online or seen is not None else None

    def _official_state(self, chat: Chat) -> dict[str, Any]:
        number = self._network.numbers.get(chat.number)
        if number is None:
            return {"marketing_stopped": False, "window_ends_at": None}
        ends = number.window_end(chat.person, self._network.clock.now())
        return {
            "marketing_stopped": chat.person in number.stopped,
            "window_ends_at": None if ends is None else int(ends),
        }


def _author(message: ChatMessage) -> Literal["person", "business"]:
    return "person" if message.from_person else "business"
