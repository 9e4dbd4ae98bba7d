"""An outgoing message: refused, accepted, or accepted and then failed.

send ─► sender ─► refusing faults ─► media and template ─► send_checks: state, window, tier ─► rate ─► accepted
                                                                                                  │
        statuses ◄── status_plan ◄──────────────────── held? released or dropped ◄────────────────┤
        failed   ◄── unreachable, outside the window, stopped, a fault … ◄────────────────────────┘
"""

from functools import partial
from typing import Any, Literal

import msgspec

from gatepost_sandbox import errors, wire
from gatepost_sandbox.chats.state import ARRIVED
from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.faults import Rule, SendTraits, first_strike
from gatepost_sandbox.ids import outbound_wamid
from gatepost_sandbox.incoming import plan_reply
from gatepost_sandbox.messages import Send
from gatepost_sandbox.messages.media import check_refs
from gatepost_sandbox.messages.template import check_fit
from gatepost_sandbox.network_state import Answer, NetworkState
from gatepost_sandbox.number_status import note_opening
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.pricing import Charge, charge_message, conversation_of
from gatepost_sandbox.send_checks import check_sendable, find_failure, take_marketing
from gatepost_sandbox.status_plan import plan_statuses
from gatepost_sandbox.templates import Template
from gatepost_sandbox.templates.template import lifetime

_SENDER = Refusal(131021, details="Recipient phone number cannot be the same as the sender's.")
_TOO_FAST = {
    130429: "Message failed to send because there were too many messages sent from this phone number in a short "
    "period of time.",
    131056: "Message failed to send because there were too many messages sent from this phone number to the same phone "
    "number in a short period of time.",
}
_DROPPED = "The template was paused because of its quality while this message was held."


class Outgoing(msgspec.Struct, gc=False):
    """An accepted message. If it has not arrived when it expires, it is dropped without a status."""

    send: Send
    wamid: str
    charge: Charge
    template: Template | None
    user_id: str | None
    wa_id: str  # empty if the phone number is hidden
    expires: float
    arrived: bool = False

    def is_dropped(self, now: float) -> bool:
        """Return whether the message has expired before it arrived."""
        return not self.arrived and now > self.expires


class Hold(msgspec.Struct, frozen=True):
    """How long a template message is held, and its outcome."""

    seconds: float
    drop: bool


def receive_send(network: NetworkState, number: Number, send: Send, request_id: str) -> Answer:
    """Accept or refuse a message."""
    if send.user_id is not None:
        send = msgspec.structs.replace(send, to=network.people.phone_of(send.user_id) or send.user_id)
    refusal = _SENDER if send.to == number.spec.phone else network.accounts.refuse_send(number.id, send.to)
    if refusal is not None:
        return network.refuse(number.id, refusal, request_id, send.to)
    rule = _strike(network, number, send, network.faults.refusing) if network.faults.refusing else None
    if rule is not None:
        return _break(network, number, send, rule, request_id)
    now = network.clock.now()
    template = _find_template(network, number, send) if send.type == "template" else None
    refusal = _check_things(network, number, send, template, now) if send.type != "text" else None
    refusal = refusal or check_sendable(number, send, now)
    if refusal is not None:
        return network.refuse(number.id, refusal, request_id, send.to)
    code = number.pace.take(send.to, now, number.limits)
    if code is not None:
        return network.refuse(number.id, Refusal(code, details=_TOO_FAST[code]), request_id, send.to)
    return _accept(network, number, send, template, now, request_id)


def _find_template(network: NetworkState, number: Number, send: Send) -> Template | None:
    content = send.content
    return network.templates.find(number.spec.waba_id, content["name"], content["language"]["code"])


def _check_things(
    network: NetworkState, number: Number, send: Send, template: Template | None, now: float
) -> Refusal | None:
    refusal = check_refs(send.media, network.media, number.id, now) if send.media else None
    if refusal is not None or send.type != "template":
        return refusal
    refusal = check_fit(send.content, template)
    if refusal is None and send.user_id is not None and template is not None and template.category == "AUTHENTICATION":
        return Refusal(131062, details="One-time codes need a phone number, not a user id.")
    return refusal


def _accept(
    network: NetworkState, number: Number, send: Send, template: Template | None, now: float, request_id: str
) -> Answer:
    wamid = outbound_wamid(number.ids, send.to)
    network.ledger.count(number.id, "accepted")
    row = (send.to, send.type, send.content, wamid, send.callback_data, send.context, request_id)
    network.ledger.put("accepted", (now, number.id, *row))
    number.recent_messages.note(wamid, now, reaction=send.type == "reaction")
    if send.type != "reaction" and send.to.isdigit():
        _show(network, number, send, template, wamid, now)
    if number.limits.tier is not None and not number.window_open(send.to, now):
        note_opening(network, number, send.to, now)
    status = _set_out(network, number, send, template, wamid, now)
    wa_id = send.to if send.user_id is None else _shown(network, send.to)
    body = wire.accepted_body(send.input, wa_id, wamid, message_status=status, user_id=send.user_id)
    rule = _strike(network, number, send, network.faults.accepting) if network.faults.accepting else None
    if rule is None:
        return Answer(200, body, request_id)
    how: Literal["drop", "hang"] = "drop" if rule.fault == "accept_drop" else "hang"
    return Answer(200, body, request_id, how, rule.seconds or 0.0)


def _set_out(
    network: NetworkState, number: Number, send: Send, template: Template | None, wamid: str, now: float
) -> str | None:
    """Schedule the statuses of a message, or hold it; return its `message_status`."""
    charge = charge_message(number, send.to, template, wamid, now, service_billed=network.settings.service_billed)
    person = network.people.introduced(send.to)
    user_id = send.user_id if person is None else person.user_id
    wa_id = send.to if user_id is None else _shown(network, send.to)
    out = Outgoing(send, wamid, charge, template, user_id, wa_id, now + lifetime(template))
    rule = _strike(network, number, send, network.faults.outcomes) if network.faults.outcomes else None
    hold = _find_hold(network, number, template, rule) if template is not None else None
    if hold is not None:
        number.held[wamid] = partial(_judge, network, number, out)
        network.clock.at(now + hold.seconds, partial(settle_held, number, wamid, drop=hold.drop))
        return "held_for_quality_assessment"
    _travel(network, number, out, rule if rule is not None and rule.fault == "fail" else None)
    return "accepted" if template is not None else None


def _shown(network: NetworkState, phone: str) -> str:
    """Return the phone number of a person with a user id; empty if it is hidden from businesses."""
    person = network.people.introduced(phone)
    return "" if person is None or person.phone_hidden else phone


def _find_hold(network: NetworkState, number: Number, template: Template, rule: Rule | None) -> Hold | None:
    pacing = network.settings.pacing
    if rule is not None and rule.fault == "hold":
        return Hold(pacing.seconds if rule.seconds is None else rule.seconds, rule.drop)
    if not pacing.hold or template.category != "MARKETING" or number.random.random() >= pacing.hold:
        return None
    return Hold(pacing.seconds, number.random.random() < pacing.drop)


def settle_held(number: Number, wamid: str, *, drop: bool) -> bool:
    """Release or drop a held message; return False when it is no longer held."""
    judge = number.held.pop(wamid, None)
    if judge is not None:
        judge(drop)
    return judge is not None


def _judge(network: NetworkState, number: Number, out: Outgoing, drop: bool) -> None:
    if not drop:
        _travel(network, number, out, None)
        return
    report_status(network, number, out, "failed", error=errors.status_error(132015, _DROPPED))
    template = network.templates.get(out.template.id) if out.template is not None else None
    if template is not None and template.status == "APPROVED":
        network.templates.review.pause_for_pacing(template)


def _travel(network: NetworkState, number: Number, out: Outgoing, rule: Rule | None) -> None:
    now, send = network.clock.now(), out.send
    character = network.character(send.to, number.id)
    kind = "voice" if send.media and send.media[0].voice else send.type
    steps = plan_statuses(number.delays, character, number.jitter, kind)
    failure = find_failure(network.people.introduced(send.to), character, number, send, out.template, now)
    if rule is not None:
        failure = errors.status_error(rule.code or 131000, rule.details or errors.title(rule.code or 131000))
    failure = failure or take_marketing(number, send, out.template, now)
    if failure is not None:
        network.clock.at(now + steps[0].after, partial(report_status, network, number, out, "failed", error=failure))
        return
    for step in steps:
        network.clock.at(now + step.after, partial(report_status, network, number, out, step.label, priced=step.priced))
    if character.reachable and (network.people.sends_receipts(send.to) or kind == "voice"):
        network.chats.keep_outgoing(number.id, out.wamid, out)
    if steps[-1].label != "sent" and network.people.answers(send.to):
        plan_reply(network, number, send, out.wamid, out.template, now + steps[-1].after, out.is_dropped)


def report_status(
    network: NetworkState,
    number: Number,
    out: Outgoing,
    label: str,
    *,
    priced: bool = False,
    error: dict[str, Any] | None = None,
    opened: bool = False,
) -> None:
    """Report a status of a message; with `opened` the person opened the chat, and did not only plan to read it."""
    person = out.send.to
    if label in ARRIVED and network.offline.until(person) is not None:
        again = partial(report_status, network, number, out, label, priced=priced, opened=opened)
        network.offline.hold(person, out.wamid, again)
        return
    if label in ("read", "played") and not opened and not network.people.reads_unasked(person):
        return
    if label in ARRIVED:
        if out.is_dropped(network.clock.now()):
            return
        out.arrived = True
    if not network.chats.advance(number.id, out.wamid, label, error):
        return
    if out.send.type == "reaction" and error is None:
        _show_reaction(network, number, out)
    update = wire.status_update(
        label,
        out.wamid,
        person,
        network.clock.now(),
        callback_data=out.send.callback_data,
        user_id=out.user_id,
        wa_id=out.wa_id,
        conversation=conversation_of(out.charge, label) if priced else None,
        pricing=out.charge.pricing if priced else None,
        error=error,
    )
    network.emit(number, update)


def _show(network: NetworkState, number: Number, send: Send, template: Template | None, wamid: str, now: float) -> None:
    """Add a message to the person's chat."""
    chat, head = network.chats.open(send.to, number.id, official=True), (wamid, now, send.type, send.content)
    network.chats.add(chat, *head, from_person=False, status="accepted", quote=send.context, template=template)


def _show_reaction(network: NetworkState, number: Number, out: Outgoing) -> None:
    content = out.send.content
    show = partial(network.chats.react, number.id, content["message_id"], "business", content["emoji"])
    if not network.offline.hold(out.send.to, out.wamid, show):
        show()


def _strike(network: NetworkState, number: Number, send: Send, rules: Any) -> Rule | None:
    links = tuple(ref.link for ref in send.media if ref.link is not None)
    return first_strike(rules, number.id, send.to, SendTraits(send.type, links))


def _break(network: NetworkState, number: Number, send: Send, rule: Rule, request_id: str) -> Answer:
    if rule.fault == "refuse":
        refusal = Refusal(rule.code or 131000, details=rule.details, status=rule.status)
        return network.refuse(number.id, refusal, request_id, send.to, rule.id)
    status = (rule.status or 500) if rule.fault == "http_error" else 0
    network.note_refusal(number.id, send.to, None, status, rule.details, rule.id, request_id)
    body = (rule.details or "Service temporarily unavailable").encode()
    return Answer(status, body, request_id, "answer" if status else "drop")
