"""One session: the device that a link holds, from its first code to its logout.

open ─► connecting ─┬─ device known ──────────────────────────────► connected · limited · banned
                    └─ none ─► waiting_for_scan ─ 160 s ─► disconnected (scan_expired)
                                     │ scanned, or typed
                                     ▼
             linked ─► disconnected (restart_required) ─► connecting ─► connected (linked)

The device outlives the connection: only logging out forgets it.
"""

from functools import partial
from math import ceil
from random import Random
from typing import Protocol

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.qr.codes import CODES, code_seconds, pairing_code, scan_code
from gatepost_sandbox.qr.frames import Frame
from gatepost_sandbox.qr.outbox import Outbox
from gatepost_sandbox.qr.phone import FOREVER, QrPhone
from gatepost_sandbox.watch import Watch

RESTART_SECONDS = 0.5
ONLINE = frozenset({"connected", "limited"})


class Wire(Protocol):
    """The connection to the client."""

    def put(self, frame: Frame) -> None:
        """Send one frame."""

    def cut(self) -> None:
        """Drop the connection abruptly."""


class Session:
    """The state of one session; every change is reported."""

    def __init__(self, session_id: str, clock: Clock, random: Random, watch: Watch) -> None:
        self.id = session_id
        self.outbox = Outbox(session_id)
        self.wire: Wire | None = None
        self.device: QrPhone | None = None
        self.state, self.reason = "disconnected", "closed"
        self.code: str | None = None
        self.code_until = 0.0
        self.pairing: tuple[str, str] | None = None  # phone and code
        self.turn = 0  # invalidates timers of an earlier turn
        self._until: float | None = None
        self._served: str | None = None  # the phone whose events are stored, also after a logout
        self._clock = clock
        self._random = random
        self._watch = watch

    @property
    def online(self) -> bool:
        """Whether the session is connected."""
        return self.state in ONLINE

    def attach(self, wire: Wire) -> None:
        """Continue on this connection; the previous one is notified."""
        if self.wire is not None and self.wire is not wire:
            self.drop("replaced")
        self.wire = wire

    def detach(self, wire: Wire) -> None:
        """Detach from a closed connection."""
        if self.wire is wire:
            self.wire = None
            self.drop("driver_gone")

    def begin(self) -> None:
        """Connect the device, or show codes until one is scanned."""
        self._end_turn()
        self._become("connecting", "started")
        if self.device is None:
            self._become("waiting_for_scan", "started")
            self._show_code(self.turn, 0)
        else:
            self.resume("started")

    def resume(self, reason: str) -> None:
        """Enter the state that the phone's restrictions allow."""
        device, now = self.device, self._clock.now()
        if device is None:
            return
        if device.is_banned(now):
            self.shut("banned", "banned", until=device.banned_until)
        elif device.is_locked(now):
            self._become("limited", "time_locked", until=device.locked_until)
        else:
            self._become("connected", reason)
        if self.online:
            self.outbox.go_online(self.send_frame)

    def repeat(self) -> None:
        """Report the state again."""
        self._become(self.state, self.reason, until=self._until)
        if self.code is not None:
            self._report_code(max(0.0, self.code_until - self._clock.now()))

    def new_pairing_code(self, phone: str) -> str:
        """Return a code that this phone may type instead of scanning."""
        code = pairing_code(self._random)
        self.pairing = (phone, code)
        self._watch.changed("sessions")
        return code

    def link_to(self, qr_phone: QrPhone, lid: str) -> None:
        """Become a device of the phone, report it, and reconnect as the network demands."""
        self._end_turn()
        if self._served not in (None, qr_phone.phone):
            self.outbox.forget()
        self.device, self._served, spec = qr_phone, qr_phone.phone, qr_phone.spec
        self.send_frame({"event": "linked", "session": self.id, "phone": spec.phone, "lid": lid, "name": spec.name})
        self._become("disconnected", "restart_required")
        self._become("connecting", "restart_required")
        self._clock.at(self._clock.now() + RESTART_SECONDS, partial(self._restarted, self.turn))

    def drop(self, reason: str, *, back_after: float | None = None) -> None:
        """Lose the connection, for a while or until it is opened again; the device stays."""
        self.shut("disconnected", reason)
        if back_after is not None:
            self._clock.at(self._clock.now() + back_after, partial(self._back, self.turn))

    def log_out(self) -> None:
        """Remove the device."""
        self.shut("logged_out", "logged_out")
        self.device = None

    def shut(self, state: str, reason: str, *, until: float | None = None) -> None:
        """Enter a disconnected state."""
        self._end_turn()
        self._become(state, reason, until=until)

    def send_frame(self, frame: Frame) -> None:
        """Send a frame to the client, if it is connected."""
        if self.wire is not None:
            self.wire.put(frame)

    def _end_turn(self) -> None:
        self.turn += 1
        self.code = self.pairing = None
        self.outbox.go_offline()

    def _become(self, state: str, reason: str, *, until: float | None = None) -> None:
        self.state, self.reason, self._until = state, reason, until
        self._watch.changed("sessions")
        device, now = self.device, self._clock.now()
        if device is not None and device.note_session(self.id, now, connected=self.online):
            self._watch.presence_changed(device.phone)
        frame: Frame = {"event": "connection", "session": self.id, "state": state, "reason": reason}
        if until is not None and until != FOREVER:
            frame["until"] = ceil(until)
        self.send_frame(frame)

    def _show_code(self, turn: int, number: int) -> None:
        if turn != self.turn:
            return
        if number == CODES:
            self.drop("scan_expired")
            return
        self.code = scan_code(self._random)
        self.code_until = self._clock.now() + code_seconds(number)
        self._report_code(code_seconds(number))
        self._watch.changed("sessions")
        self._clock.at(self.code_until, partial(self._show_code, turn, number + 1))

    def _report_code(self, seconds: float) -> None:
        self.send_frame({"event": "qr", "session": self.id, "code": self.code, "seconds": seconds})

    def _restarted(self, turn: int) -> None:
        if turn == self.turn:
            self.resume("linked")

    def _back(self, turn: int) -> None:
        if turn == self.turn and self.wire is not None:
            self.begin()
