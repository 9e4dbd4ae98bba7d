"""The network itself: it takes a send, decides, and lets the statuses and answers follow.

send ─► refusing faults ─► limits ─► accepting faults ─► ledger ─► timers
                                                                      │
   callback ◄── outbox ◄── faults on updates ◄── statuses, replies ◄──┘
"""

from functools import partial
from typing import Any, Literal

import msgspec

from gatepost.sandbox import errors, wire
from gatepost.sandbox.clock import Clock
from gatepost.sandbox.courier import Courier
from gatepost.sandbox.errors import Refusal
from gatepost.sandbox.faults import Faults, Rule, first_strike
from gatepost.sandbox.ids import inbound_wamid, outbound_wamid, stream, trace_id
from gatepost.sandbox.journey import plan_journey
from gatepost.sandbox.ledger import Ledger
from gatepost.sandbox.messages import MarkRead, Send
from gatepost.sandbox.numbers import Number
from gatepost.sandbox.people import People
from gatepost.sandbox.settings import NumberSpec, SandboxSettings
from gatepost.sandbox.troubles import Troubles


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What goes back to the business, or how it is kept from getting there."""

    status: int
    body: bytes
    request_id: str
    how: Literal["answer", "drop", "hang"] = "answer"
    seconds: float = 0.0


class Network:
    """One simulated network with its clock, numbers, people, faults and ledger."""

    def __init__(self, settings: SandboxSettings, courier: Courier) -> None:
        self.settings = settings
        self.clock = Clock(settings.start, frozen=settings.frozen, speed=settings.speed)
        self.ledger = Ledger(settings.ledger_cap, settings.attempts_cap)
        self.people = People(settings.default_character, settings.echo_suffix)
        self.faults = Faults(settings.seed)
        self.courier = courier
        self.numbers: dict[str, Number] = {}
        self._troubles = Troubles(self.clock, self.faults)
        self._traces = stream(settings.seed, "traces")

    def register(self, spec: NumberSpec) -> Number:
        """Add a number, or change one; a changed number keeps its pace, windows and streams."""
        number = self.numbers.get(spec.phone_number_id)
        if number is None:
            number = Number(spec, self.settings, self.clock, self.ledger, self.courier.post)
            self.numbers[spec.phone_number_id] = number
        else:
            number.tune(spec, self.settings)
        return number

    async def remove(self, phone_number_id: str) -> bool:
        """Forget a number and whatever was on its way."""
        number = self.numbers.pop(phone_number_id, None)
        if number is not None:
            await number.outbox.close()
        return number is not None

    def retune(self, settings: SandboxSettings) -> None:
        """Take on changed global settings."""
        self.settings = settings
        self.people.default_character = settings.default_character
        self.people.echo_suffix = settings.echo_suffix
        for number in self.numbers.values():
            number.tune(number.spec, settings)

    async def settled(self) -> None:
        """Wait until no callback is queued or on the wire."""
        for number in list(self.numbers.values()):
            await number.outbox.settled()

    async def close(self) -> None:
        """Stop everything."""
        self.clock.close()
        for number in self.numbers.values():
            await number.outbox.close()

    def next_request_id(self) -> str:
        """The id of the next request."""
        return trace_id(self._traces)

    def refuse(
        self, phone_number_id: str, refusal: Refusal, request_id: str, to: str | None = None, fault: str | None = None
    ) -> Answer:
        """Refuse a request, and write it down."""
        status = errors.http_status(refusal, self.settings.throttle_status)
        self._note_refusal(phone_number_id, to, refusal.code, status, refusal.details, fault, request_id)
        return Answer(status, errors.refusal_body(refusal, request_id), request_id)

    def receive_mark(self, number: Number, mark: MarkRead, request_id: str) -> Answer:
        """Take a read mark."""
        self.ledger.count(number.id, "reads")
        self.ledger.put("read", (self.clock.now(), number.id, None, mark.message_id, mark.typing, request_id))
        return Answer(200, b'{"success":true}', request_id)

    def receive_send(self, number: Number, send: Send, request_id: str) -> Answer:
        """Take a message, or refuse it."""
        if send.to == number.spec.phone:
            refusal = Refusal(131021, details="Recipient phone number cannot be the same as the sender's.")
            return self.refuse(number.id, refusal, request_id, send.to)
        rule = first_strike(self.faults.refusing, number.id, send.to) if self.faults.refusing else None
        if rule is not None:
            return self._break(number, send, rule, request_id)
        now = self.clock.now()
        code = number.pace.take(send.to, now, number.limits)
        if code is not None:
            return self.refuse(number.id, Refusal(code, details=_TOO_FAST[code]), request_id, send.to)
        wamid = self._accept(number, send, now, request_id)
        body = wire.accepted_body(send.input, send.to, wamid)
        rule = first_strike(self.faults.accepting, number.id, send.to) if self.faults.accepting else None
        if rule is None:
            return Answer(200, body, request_id)
        how: Literal["drop", "hang"] = "drop" if rule.fault == "accept_drop" else "hang"
        return Answer(200, body, request_id, how, rule.seconds or 0.0)

    def say(self, number: Number, person: str, text: str, *, name: str | None = None, quote: str | None = None) -> str:
        """A person writes to a number; returns the id of the message."""
        now = self.clock.now()
        wamid = inbound_wamid(number.ids, person)
        number.hear(person, now)
        number.pace.note_incoming(now)
        self.ledger.count(number.id, "incoming")
        self.ledger.put("incoming", (now, number.id, number.spec.phone, person, "text", {"body": text}, wamid))
        context = {"from": number.spec.phone, "id": quote} if quote else None
        name = name or self.people.find(person).name
        self._emit(number, wire.text_update(wamid, person, name, now, body=text, context=context))
        return wamid

    def _accept(self, number: Number, send: Send, now: float, request_id: str) -> str:
        wamid = outbound_wamid(number.ids, send.to)
        self.ledger.count(number.id, "accepted")
        row = (send.to, send.type, send.content, wamid, send.callback_data, send.context, request_id)
        self.ledger.put("accepted", (now, number.id, *row))
        character = self.people.character(send.to)
        steps = plan_journey(number.delays, character, number.jitter)
        failure = None
        if not character.reachable:
            failure = errors.status_error(131026, errors.UNDELIVERABLE)
        elif number.limits.window and not number.window_open(send.to, now):
            failure = errors.status_error(131047, errors.OUTSIDE_WINDOW)
        if failure is not None:
            self.clock.at(now + steps[0].after, partial(self._report, number, send, wamid, "failed", error=failure))
            return wamid
        for step in steps:
            self.clock.at(now + step.after, partial(self._report, number, send, wamid, step.label, priced=step.priced))
        if steps[-1].label != "sent":
            self._plan_reply(number, send, wamid, now + steps[-1].after)
        return wamid

    def _plan_reply(self, number: Number, send: Send, wamid: str, seen_at: float) -> None:
        reply = self.people.reply_to(send.to, send.content["body"]) if send.type == "text" else None
        if reply is not None:
            self.clock.at(seen_at + reply.delay, partial(self.say, number, send.to, reply.text, quote=wamid))

    def _report(
        self,
        number: Number,
        send: Send,
        wamid: str,
        label: str,
        *,
        priced: bool = False,
        error: dict[str, Any] | None = None,
    ) -> None:
        now = self.clock.now()
        update = wire.status_update(
            label, wamid, send.to, now, callback_data=send.callback_data, priced=priced, error=error
        )
        self._emit(number, update)

    def _emit(self, number: Number, update: wire.Update) -> None:
        if self.faults.on_updates:
            self._troubles.pass_on(number, update)
        else:
            number.outbox.put(update)

    def _break(self, number: Number, send: Send, rule: Rule, request_id: str) -> Answer:
        if rule.fault == "refuse":
            refusal = Refusal(rule.code or 131000, details=rule.details, status=rule.status)
            return self.refuse(number.id, refusal, request_id, send.to, rule.id)
        status = (rule.status or 500) if rule.fault == "http_error" else 0
        self._note_refusal(number.id, send.to, None, status, rule.details, rule.id, request_id)
        body = (rule.details or "Service temporarily unavailable").encode()
        return Answer(status, body, request_id, "answer" if status else "drop")

    def _note_refusal(self, phone_number_id: str, to: str | None, code: int | None, status: int, *rest: Any) -> None:
        whose = phone_number_id if phone_number_id in self.numbers else "unknown"
        self.ledger.count(whose, "refused")
        self.ledger.count(whose, f"refused.{code or 'fault'}")
        self.ledger.put("refused", (self.clock.now(), phone_number_id, to, code, status, *rest))


_TOO_FAST = {
    130429: "Message failed to send because there were too many messages sent from this phone number in a short "
    "period of time.",
    131056: "Message failed to send because there were too many messages sent from this phone number to the same phone "
    "number in a short period of time.",
}
