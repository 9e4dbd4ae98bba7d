"""A phone of the QR network: its messages, its conversations and its restrictions."""

from collections import Counter
from typing import Any

import msgspec

from gatepost_sandbox.ids import stream
from gatepost_sandbox.settings import Phone, Seconds

FOREVER = float("inf")


class PhoneSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A phone as registered; with `auto_scan` it scans automatically that many seconds after the first code."""

    phone: Phone
    name: str = "Sandbox Phone"
    auto_scan: Seconds | None = None


class Message(msgspec.Struct):
    """A message that was accepted from a session, and how often it was received."""

    id: str
    to: str
    type: str
    content: dict[str, Any]
    at: float
    session: str
    quote: str | None = None
    target: str | None = None
    offered: int = 1
    edits: int = 0
    deleted: bool = False
    statuses: list[str] = []


class QrPhone:
    """One phone at run time."""

    def __init__(self, spec: PhoneSpec, seed: int) -> None:
        self.spec = spec
        self.phone = spec.phone
        self.ids = stream(seed, "qr", spec.phone, "ids")
        self.jitter = stream(seed, "qr", spec.phone, "jitter")
        self.messages: dict[str, Message] = {}
        self.refused: Counter[str] = Counter()  # by message id
        self.conversations: set[str] = set()
        self.locked_until = 0.0
        self.banned_until = 0.0
        self.last_online: float | None = None  # when the last session lost its connection
        self._connected: set[str] = set()  # ids of sessions

    @property
    def online(self) -> bool:
        """Whether a session of the phone is connected."""
        return bool(self._connected)

    def note_session(self, session_id: str, now: float, *, connected: bool) -> bool:
        """Record whether a session is connected; return whether the phone went online or offline."""
        before = self.online
        (self._connected.add if connected else self._connected.discard)(session_id)
        if before and not self.online:
            self.last_online = now
        return before != self.online

    def is_locked(self, now: float) -> bool:
        """Return whether the phone may not open conversations."""
        return now < self.locked_until

    def is_banned(self, now: float) -> bool:
        """Return whether the phone is banned."""
        return now < self.banned_until

    def next_id(self, *, from_me: bool) -> str:
        """Return the id of a message that was typed on a phone."""
        return f"{'3EB0' if from_me else '3A'}{self.ids.getrandbits(72):018X}"
