"""The events of one session, stored in order until they are acknowledged.

put ─► numbered, stored ─► sent while online ─► ack(n): deleted up to n
                              ▲
            online again: all stored events, in order
"""

from collections import deque
from collections.abc import Callable

from gatepost_sandbox.qr.frames import Frame
from gatepost_sandbox.wire import Update

SendFrame = Callable[[Frame], None]


class Outbox:
    """Numbered events, delivered at least once."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._kept: deque[Frame] = deque()
        self._last = 0
        self._send: SendFrame | None = None

    @property
    def waiting(self) -> int:
        """The number of unacknowledged events."""
        return len(self._kept)

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self._last

    def put(self, update: Update) -> None:
        """Number and store an event, and send it while online."""
        self._last += 1
        frame = {"event": update.item["event"], "session": self._session, "seq": self._last, **update.item}
        self._kept.append(frame)
        if self._send is not None:
            self._send(frame)

    def ack(self, seq: int) -> None:
        """Drop all events up to a number."""
        while self._kept and self._kept[0]["seq"] <= seq:
            self._kept.popleft()

    def go_online(self, send: SendFrame) -> None:
        """Send all stored events, and new ones from now on."""
        if self._send is not None:
            return
        self._send = send
        for frame in list(self._kept):
            send(frame)

    def go_offline(self) -> None:
        """Store new events without sending them."""
        self._send = None

    def forget(self) -> None:
        """Drop all events: the device belongs to another phone now."""
        self._kept.clear()
