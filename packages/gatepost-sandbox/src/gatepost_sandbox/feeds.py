"""The open feeds: changes of the network as server-sent events.

network ─► Feeds: gathered until the event loop continues, encoded once ─► Feed: a capped buffer per reader
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from gatepost_sandbox.chats import Chat, ChatMessage
from gatepost_sandbox.chats.show import ChatViews
from gatepost_sandbox.ledger import show_row
from gatepost_sandbox.network import Network
from gatepost_sandbox.qr import QrNetwork
from gatepost_sandbox.watch import What

FEEDS_MAX = 64
BUFFER_MAX = 1024 * 1024  # bytes that wait for one slow reader
HEARTBEAT = 15.0  # real seconds
_encode = msgspec.json.Encoder().encode


def write_event(name: str, data: Any) -> bytes:
    """Encode one event; JSON has no line breaks."""
    return b"event: " + name.encode() + b"\ndata: " + _encode(data) + b"\n\n"


_MISSED = write_event("changed", {"what": "all"})


class Feed:
    """The events that one reader has not received yet."""

    def __init__(self, person: str | None, *, ledger: bool) -> None:
        self.person = person
        self.ledger = ledger
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self._closed = False

    def put(self, event: bytes) -> None:
        """Add an event. When too much waits, one event replaces it all: the reader has to read everything again."""
        if self._size + len(event) > BUFFER_MAX:
            self._waiting.clear()
            self._size, event = 0, _MISSED
        if event is not _MISSED or not self._waiting or self._waiting[-1] is not _MISSED:
            self._waiting.append(event)
            self._size += len(event)
        self._news.set()

    def close(self) -> None:
        """End the feed."""
        self._closed = True
        self._news.set()

    async def read(self, first: bytes) -> AsyncIterator[bytes]:
        """Yield events, and heartbeats when there are none."""
        yield first
        while not self._closed:
            try:
                async with asyncio.timeout(HEARTBEAT):
                    await self._news.wait()
            except TimeoutError:
                yield b": heartbeat\n\n"
                continue
            self._news.clear()
            events = b"".join(self._waiting)
            self._waiting.clear()
            self._size = 0
            if events:
                yield events


class Feeds:
    """All open feeds of one sandbox."""

    def __init__(self) -> None:
        self._feeds: set[Feed] = set()
        self._network: Network | None = None
        self._qr: QrNetwork | None = None
        self._messages: dict[int, ChatMessage] = {}  # changed ones, by identity
        self._chats: dict[int, Chat] = {}
        self._changed: dict[What, None] = {}
        self._scheduled = False
        self._closed = False

    def attach(self, network: Network, qr: QrNetwork) -> None:
        """Report the changes of this network from now on."""
        if self._network is not None:
            self._network.watch.observer = None
            self._forget()
        self._network, self._qr = network, qr
        self._watch()
        self.changed("all")

    def open(self, person: str | None, *, ledger: bool) -> Feed | None:
        """Add a feed, or return None if there are too many."""
        if len(self._feeds) >= FEEDS_MAX or self._closed:
            return None
        feed = Feed(person, ledger=ledger)
        self._feeds.add(feed)
        self._watch()
        return feed

    def end(self, feed: Feed) -> None:
        """Remove a feed whose reader is gone."""
        self._feeds.discard(feed)
        self._watch()

    def close(self) -> None:
        """End all feeds, and refuse new ones."""
        self._closed = True
        for feed in self._feeds:
            feed.close()

    # -- changes -------------------------------------------------------------------------------------------------------

    def message_changed(self, message: ChatMessage) -> None:
        """Report a new or changed message."""
        self._messages[id(message)] = message
        self._schedule()

    def chat_changed(self, chat: Chat) -> None:
        """Report a chat whose state changed."""
        self._chats[id(chat)] = chat
        self._schedule()

    def presence_changed(self, number: str) -> None:
        """Report the chats of a number that went online or offline."""
        if self._network is not None:
            for chat in self._network.chats.of_number(number):
                self.chat_changed(chat)

    def changed(self, what: What) -> None:
        """Report that something other than a chat changed."""
        if self._feeds:
            self._changed[what] = None
            self._schedule()

    def ledger_row(self, kind: str, seq: int, values: tuple[Any, ...]) -> None:
        """Report a new row of the ledger."""
        readers = [feed for feed in self._feeds if feed.ledger]
        if readers:
            event = write_event("ledger", show_row(kind, seq, values))
            for feed in readers:
                feed.put(event)

    def _watch(self) -> None:
        if self._network is not None:
            self._network.watch.observer = self if self._feeds else None

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _forget(self) -> None:
        self._messages, self._chats, self._changed = {}, {}, {}

    def _flush(self) -> None:
        """Send what changed since the event loop ran last."""
        self._scheduled = False
        messages, chats, changed = self._messages, self._chats, self._changed
        self._forget()
        if self._network is None or self._qr is None or not self._feeds:
            return
        views = ChatViews(self._network, self._qr)
        shown: dict[int, dict[str, Any]] = {}  # each chat once, however many of its messages changed
        for what in changed:
            self._send(None, write_event("changed", {"what": what}))
        for message in messages.values():
            chat = self._network.chats.find(message.person, message.number)
            if chat is not None and self._follows(message.person):
                chats.pop(id(chat), None)
                if id(chat) not in shown:
                    shown[id(chat)] = views.chat(chat)
                event = {"chat": shown[id(chat)], "message": views.message(message)}
                self._send(message.person, write_event("message", event))
        for chat in chats.values():
            if self._follows(chat.person):
                self._send(chat.person, write_event("chat", {"chat": views.chat(chat)}))

    def _follows(self, person: str) -> bool:
        return any(feed.person in (None, person) for feed in self._feeds)

    def _send(self, person: str | None, event: bytes) -> None:
        for feed in self._feeds:
            if person is None or feed.person in (None, person):
                feed.put(event)
