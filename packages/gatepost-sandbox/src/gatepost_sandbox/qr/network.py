"""The QR network: its phones, its sessions, and everything that may happen to a link.

phone ── scans ──► session ◄── wire ── the business's program
  │                   ▲
  └── what people do ─┘   (faults on updates strike here too)
"""

from functools import partial

from gatepost_sandbox.ids import stream
from gatepost_sandbox.ledger import FIELDS
from gatepost_sandbox.network import Network
from gatepost_sandbox.qr.directory import Directory
from gatepost_sandbox.qr.files import Files
from gatepost_sandbox.qr.outbox import Outbox
from gatepost_sandbox.qr.phone import PhoneSpec, QrPhone
from gatepost_sandbox.qr.session import Session, Wire
from gatepost_sandbox.update_faults import UpdateFaults
from gatepost_sandbox.wire import Update


class SessionTarget:
    """A session as fault rules see it, identified by its phone."""

    def __init__(self, phone: str, outbox: Outbox) -> None:
        self.id = phone
        self.outbox = outbox


class QrNetwork:
    """All phones and sessions of a network; they share clock, people, faults and ledger with the Cloud API."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.clock = network.clock
        self.directory = Directory(network.settings.seed, network.people)
        self.files = Files()
        self.phones: dict[str, QrPhone] = {}
        self.sessions: dict[str, Session] = {}
        self.links: dict[int, Wire] = {}
        self._link_serial = 0
        self._update_faults = UpdateFaults(network.clock, network.faults)

    # -- phones and sessions -------------------------------------------------------------------------------------------

    def register(self, spec: PhoneSpec) -> QrPhone:
        """Create or change a phone."""
        qr_phone = self.phones.get(spec.phone)
        if qr_phone is None:
            qr_phone = self.phones[spec.phone] = QrPhone(spec, self.network.settings.seed)
            self.network.watch.changed("phones")
        qr_phone.spec = spec
        return qr_phone

    def phone(self, phone: str) -> QrPhone:
        """Return the phone with this number, which is created when needed."""
        return self.phones.get(phone) or self.register(PhoneSpec(phone=phone))

    def session(self, session_id: str) -> Session:
        """Return the session with this name, which is created when needed."""
        if session_id not in self.sessions:
            random = stream(self.network.settings.seed, "qr", "session", session_id)
            self.sessions[session_id] = Session(session_id, self.clock, random, self.network.watch)
        return self.sessions[session_id]

    def linked(self, qr_phone: QrPhone) -> list[Session]:
        """Return the sessions that are devices of a phone."""
        return [session for session in self.sessions.values() if session.device is qr_phone]

    def adopt(self, old: "QrNetwork") -> None:
        """Take over the phones and linked sessions of an earlier network."""
        for qr_phone in old.phones.values():
            self.register(qr_phone.spec)
        for session in old.sessions.values():
            if session.device is not None:
                self.session(session.id).device = self.phone(session.device.phone)

    def close(self) -> None:
        """Drop all links."""
        for link in list(self.links.values()):
            link.cut()

    def keep_link(self, link: Wire, auto_scan: float | None) -> int:
        """Register a new connection; return its number."""
        self._link_serial += 1
        self.clock.begin()
        self.clock.record("link", auto_scan)
        self.links[self._link_serial] = link
        return self._link_serial

    def drop_link(self, number: int) -> None:
        """Remove a connection."""
        if self.links.pop(number, None) is not None:
            self.clock.record("unlink", number)

    # -- linking -------------------------------------------------------------------------------------------------------

    def open(self, session: Session, phone: str | None, wire: Wire, auto_scan: float | None) -> None:
        """Open a session on a connection, or report its state if it is open."""
        begun = session.wire is wire and (session.online or session.state in ("connecting", "waiting_for_scan"))
        session.attach(wire)
        if begun:
            session.repeat()
            return
        session.begin()
        if phone is not None and session.device is None:
            qr_phone = self.phone(phone)
            after = auto_scan if qr_phone.spec.auto_scan is None else qr_phone.spec.auto_scan
            if after is not None:
                self.clock.at(self.clock.now() + after, partial(self._scan_by_itself, session, qr_phone, session.turn))

    def waiting(self, code: str) -> Session | None:
        """Return the session that shows this code."""
        return next((session for session in self.sessions.values() if session.code == code), None)

    def pairing(self, qr_phone: QrPhone, code: str) -> Session | None:
        """Return the session that waits for this phone to type this code."""
        return next((each for each in self.sessions.values() if each.pairing == (qr_phone.phone, code)), None)

    def scan(self, session: Session, qr_phone: QrPhone, *, fail: bool = False) -> None:
        """Link a session to the phone that scanned or typed its code; fails for a banned phone."""
        if fail or qr_phone.is_banned(self.clock.now()):
            session.drop("pair_failed")
        else:
            session.link_to(qr_phone, self.directory.lid_of(qr_phone.phone))

    def _scan_by_itself(self, session: Session, qr_phone: QrPhone, turn: int) -> None:
        if session.turn == turn:
            self.scan(session, qr_phone)

    # -- restrictions -------------------------------------------------------------------------------------------------

    def ban(self, qr_phone: QrPhone, until: float) -> None:
        """Ban a phone until a time; a time in the past lifts the ban."""
        qr_phone.banned_until = until
        self._review(qr_phone, until)

    def lock(self, qr_phone: QrPhone, until: float) -> None:
        """Prevent a phone from opening conversations until a time."""
        qr_phone.locked_until = until
        self._review(qr_phone, until)

    def _review(self, qr_phone: QrPhone, until: float) -> None:
        """Update the phone's sessions now and when the restriction ends."""
        for session in self.linked(qr_phone):
            if session.online or session.state == "banned":
                session.resume("started")
        if self.clock.now() < until < float("inf"):
            self.clock.at(until, partial(self._ended, qr_phone, until))

    def _ended(self, qr_phone: QrPhone, until: float) -> None:
        if until in (qr_phone.banned_until, qr_phone.locked_until):
            self._review(qr_phone, 0.0)

    # -- events and ledger ---------------------------------------------------------------------------------------------

    def publish(self, session: Session, update: Update) -> None:
        """Send an event to one session, subject to faults."""
        phone = session.device.phone if session.device is not None else ""
        self._update_faults.apply(SessionTarget(phone, session.outbox), update)

    def note(self, kind: str, qr_phone: QrPhone, to: str | None, **values: object) -> None:
        """Append a row to the shared ledger."""
        row = {"at": self.clock.now(), "phone_number_id": qr_phone.phone, "to": to, **values}
        self.network.ledger.put(kind, tuple(row.get(name) for name in FIELDS[kind]))

    def count(self, qr_phone: QrPhone, what: str) -> None:
        """Increment a counter of a phone."""
        self.network.ledger.count(qr_phone.phone, what)
