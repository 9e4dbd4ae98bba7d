"""The state that all parts of the network share: clock, numbers, people, files and ledger.

refuse ─► a response and a row of the ledger       emit ─► faults on updates ─► the number's outbox
announce ─► every callback address of an account
"""

from functools import partial
from typing import Any, Literal

import msgspec

from gatepost_sandbox import errors, wire
from gatepost_sandbox.accounts import Accounts
from gatepost_sandbox.callback_client import CallbackClient
from gatepost_sandbox.chats import Chat, Chats
from gatepost_sandbox.chats.state import TYPING_SECONDS
from gatepost_sandbox.clock import Clock
from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.faults import Faults
from gatepost_sandbox.ids import stream, trace_id
from gatepost_sandbox.ledger import Ledger
from gatepost_sandbox.media import Media
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.offline import Offline
from gatepost_sandbox.people import CHARACTERS, Character, People
from gatepost_sandbox.settings import Management, NumberSpec, SandboxSettings
from gatepost_sandbox.templates import Templates
from gatepost_sandbox.update_faults import UpdateFaults
from gatepost_sandbox.uploads import Uploads
from gatepost_sandbox.watch import Watch


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The response to a request, and whether a fault drops or delays it."""

    status: int
    body: bytes
    request_id: str
    how: Literal["answer", "drop", "hang"] = "answer"
    seconds: float = 0.0


class NetworkState:
    """The state of one simulated network."""

    def __init__(self, settings: SandboxSettings, callback_client: CallbackClient) -> None:
        self.settings = settings
        self.clock = Clock(settings.start, frozen=settings.frozen, speed=settings.speed)
        self.watch = Watch()
        self.ledger = Ledger(settings.ledger_cap, settings.attempts_cap, self.watch)
        self.chats = Chats(self.watch)
        self.offline = Offline(self.clock, self.watch)
        self.people = People(settings.default_character, settings.echo_suffix)
        self.people.user_ids = settings.user_ids
        self.faults = Faults(settings.seed)
        self.callback_client = callback_client
        self.numbers: dict[str, Number] = {}
        self.accounts = Accounts()
        self.media = Media(settings.seed, settings.management.media_bytes)
        self.uploads = Uploads(settings.seed)
        self.templates = Templates(settings.seed, self.clock, self._management, self.announce)
        self._update_faults = UpdateFaults(self.clock, self.faults)
        self._traces = stream(settings.seed, "traces")

    def _management(self) -> Management:
        return self.settings.management

    def register(self, spec: NumberSpec) -> Number:
        """Add or change a number; a changed number keeps its counters, windows and random streams."""
        number = self.numbers.get(spec.phone_number_id)
        if number is None:
            number = Number(
                spec, self.settings, self.clock, self.ledger, self.callback_client.post, self.accounts.address
            )
            self.numbers[spec.phone_number_id] = number
        else:
            number.configure(spec, self.settings)
        return number

    async def keep_body(self, body: bytes) -> bytes | str:
        """Return the body of a request for the log; a large one is written to a file, off the event loop."""
        recorder = self.clock.recorder
        return body if recorder is None or len(body) <= recorder.inline_max else await recorder.keep_file(body)

    def character(self, person: str, number_id: str) -> Character:
        """Return how a person reacts to messages of a number."""
        blocked = self.chats.blocked
        return CHARACTERS["blocked"] if blocked and (person, number_id) in blocked else self.people.character(person)

    def next_request_id(self) -> str:
        """Return the id of the next request."""
        return trace_id(self._traces)

    def refuse(
        self, phone_number_id: str, refusal: Refusal, request_id: str, to: str | None = None, fault: str | None = None
    ) -> Answer:
        """Refuse a request, and record it in the ledger."""
        status = errors.http_status(refusal, self.settings.throttle_status)
        self.note_refusal(phone_number_id, to, refusal.code, status, refusal.details, fault, request_id)
        return Answer(status, errors.refusal_body(refusal, request_id), request_id)

    def note_refusal(self, phone_number_id: str, to: str | None, code: int | None, status: int, *rest: Any) -> None:
        """Record a refusal in the ledger."""
        whose = phone_number_id if phone_number_id in self.numbers else "unknown"
        self.ledger.count(whose, "refused")
        self.ledger.count(whose, f"refused.{code or 'fault'}")
        self.ledger.put("refused", (self.clock.now(), phone_number_id, to, code, status, *rest))

    def emit(self, number: Number, update: wire.Update) -> None:
        """Send an update to a number's callback address, subject to faults."""
        if self.faults.on_updates:
            self._update_faults.apply(number, update)
        else:
            number.outbox.put(update)

    def announce(self, waba_id: str, field: str, value: dict[str, Any]) -> None:
        """Send an account-level update once to each callback address of an account."""
        self.watch.changed("templates" if "template" in field else "numbers")
        update, notified = wire.account_update(field, value, self.clock.now()), set()
        for number in self.numbers.values():
            address = self.accounts.address(number.spec, field)
            if number.spec.waba_id == waba_id and address not in notified:
                notified.add(address)
                self.emit(number, update)


def show_typing(network: NetworkState, chat: Chat) -> None:
    """Show the person that the business is typing, until it writes or some time has passed."""
    until = network.clock.now() + TYPING_SECONDS
    network.chats.set_typing(chat, until)
    network.clock.at(until, partial(network.chats.report_chat, chat))
