"""The events of one session, kept in order until the other side has them safely.

put ─► numbered, kept ─► on the wire while online ─► ack(n): forgotten up to n
                              ▲
            online again: all that is kept, in order
"""

from collections import deque
from collections.abc import Callable

from gatepost_sandbox.qr.frames import Frame
from gatepost_sandbox.wire import Update

Tell = Callable[[Frame], None]


class Outbox:
    """Numbered events, delivered at least once."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._kept: deque[Frame] = deque()
        self._last = 0
        self._tell: Tell | None = None

    @property
    def waiting(self) -> int:
        """How many events were not acknowledged."""
        return len(self._kept)

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self._last

    def put(self, update: Update) -> None:
        """Number an event, keep it, and tell it if anybody listens."""
        self._last += 1
        frame = {"event": update.item["event"], "session": self._session, "seq": self._last, **update.item}
        self._kept.append(frame)
        if self._tell is not None:
            self._tell(frame)

    def ack(self, seq: int) -> None:
        """Forget everything up to a number."""
        while self._kept and self._kept[0]["seq"] <= seq:
            self._kept.popleft()

    def go_online(self, tell: Tell) -> None:
        """Tell everything that is kept, and from now on what comes; once is enough."""
        if self._tell is not None:
            return
        self._tell = tell
        for frame in list(self._kept):
            tell(frame)

    def go_offline(self) -> None:
        """Only keep what comes."""
        self._tell = None

    def forget(self) -> None:
        """Keep nothing: the device belongs to another phone now."""
        self._kept.clear()
