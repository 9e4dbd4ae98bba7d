"""The way of a message out: refused, accepted, or accepted and then failed.

send ─► who? ─► file, faults that refuse ─► media and template ─► gate: state, window, tier ─► pace ─► accepted
                                                                                                  │
        statuses ◄── journey ◄──────────────────────── held? released or dropped ◄────────────────┤
        failed   ◄── unreachable, outside the window, stopped, a fault … ◄────────────────────────┘
"""

from functools import partial
from typing import Any, Literal

import msgspec

from gatepost_sandbox import errors, wire
from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.faults import Look, Rule, first_strike
from gatepost_sandbox.gate import check_gate, find_failure
from gatepost_sandbox.ids import outbound_wamid
from gatepost_sandbox.incoming import plan_reply
from gatepost_sandbox.journey import plan_journey
from gatepost_sandbox.messages import Send
from gatepost_sandbox.messages.media import check_refs
from gatepost_sandbox.messages.template import check_fit
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.standing import note_opening
from gatepost_sandbox.switchboard import Answer, Switchboard
from gatepost_sandbox.templates import Template
from gatepost_sandbox.terms import Terms, agree_terms, conversation_of

_SENDER = Refusal(131021, details="Recipient phone number cannot be the same as the sender's.")
_TOO_FAST = {
    130429: "Message failed to send because there were too many messages sent from this phone number in a short "
    "period of time.",
    131056: "Message failed to send because there were too many messages sent from this phone number to the same phone "
    "number in a short period of time.",
}
_DROPPED = "The template was paused because of its quality while this message was held."


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """An accepted message."""

    send: Send
    wamid: str
    terms: Terms
    template: Template | None
    user_id: str | None
    wa_id: str  # empty for somebody whose phone number is hidden


class Hold(msgspec.Struct, frozen=True):
    """A template that waits to be judged."""

    seconds: float
    drop: bool


def receive_send(board: Switchboard, number: Number, send: Send, request_id: str) -> Answer:
    """Take a message, or refuse it."""
    if send.user_id is not None:
        send = msgspec.structs.replace(send, to=board.people.phone_of(send.user_id) or send.user_id)
    refusal = _SENDER if send.to == number.spec.phone else board.accounts.refuse_send(number.id, send.to)
    if refusal is not None:
        return board.refuse(number.id, refusal, request_id, send.to)
    rule = _strike(board, number, send, board.faults.refusing) if board.faults.refusing else None
    if rule is not None:
        return _break(board, number, send, rule, request_id)
    now = board.clock.now()
    template = _find_template(board, number, send) if send.type == "template" else None
    refusal = _check_things(board, number, send, template, now) if send.type != "text" else None
    refusal = refusal or check_gate(number, send, now)
    if refusal is not None:
        return board.refuse(number.id, refusal, request_id, send.to)
    code = number.pace.take(send.to, now, number.limits)
    if code is not None:
        return board.refuse(number.id, Refusal(code, details=_TOO_FAST[code]), request_id, send.to)
    return _accept(board, number, send, template, now, request_id)


def _find_template(board: Switchboard, number: Number, send: Send) -> Template | None:
    content = send.content
    return board.templates.find(number.spec.waba_id, content["name"], content["language"]["code"])


def _check_things(
    board: Switchboard, number: Number, send: Send, template: Template | None, now: float
) -> Refusal | None:
    refusal = check_refs(send.media, board.media, number.id, now) if send.media else None
    if refusal is not None or send.type != "template":
        return refusal
    refusal = check_fit(send.content, template)
    if refusal is None and send.user_id is not None and template is not None and template.category == "AUTHENTICATION":
        return Refusal(131062, details="One-time codes need a phone number, not a user id.")
    return refusal


def _accept(
    board: Switchboard, number: Number, send: Send, template: Template | None, now: float, request_id: str
) -> Answer:
    wamid = outbound_wamid(number.ids, send.to)
    board.ledger.count(number.id, "accepted")
    row = (send.to, send.type, send.content, wamid, send.callback_data, send.context, request_id)
    board.ledger.put("accepted", (now, number.id, *row))
    number.memory.note(wamid, now, reaction=send.type == "reaction")
    if number.limits.tier is not None and not number.window_open(send.to, now):
        note_opening(board, number, send.to, now)
    status = _set_out(board, number, send, template, wamid, now)
    wa_id = send.to if send.user_id is None else _shown(board, send.to)
    body = wire.accepted_body(send.input, wa_id, wamid, message_status=status, user_id=send.user_id)
    rule = _strike(board, number, send, board.faults.accepting) if board.faults.accepting else None
    if rule is None:
        return Answer(200, body, request_id)
    how: Literal["drop", "hang"] = "drop" if rule.fault == "accept_drop" else "hang"
    return Answer(200, body, request_id, how, rule.seconds or 0.0)


def _set_out(
    board: Switchboard, number: Number, send: Send, template: Template | None, wamid: str, now: float
) -> str | None:
    """Send a message on its journey; gives what the answer says of it."""
    terms = agree_terms(number, send.to, template, wamid, now, service_billed=board.settings.service_billed)
    person = board.people.introduced(send.to)
    user_id = send.user_id if person is None else person.user_id
    out = Outgoing(send, wamid, terms, template, user_id, send.to if user_id is None else _shown(board, send.to))
    rule = _strike(board, number, send, board.faults.outcomes) if board.faults.outcomes else None
    hold = _find_hold(board, number, template, rule) if template is not None else None
    if hold is not None:
        number.held[wamid] = partial(_judge, board, number, out)
        board.clock.at(now + hold.seconds, partial(settle_held, number, wamid, drop=hold.drop))
        return "held_for_quality_assessment"
    _travel(board, number, out, rule if rule is not None and rule.fault == "fail" else None)
    return "accepted" if template is not None else None


def _shown(board: Switchboard, phone: str) -> str:
    """The phone number of somebody with a user id, as far as a business may see it."""
    person = board.people.introduced(phone)
    return "" if person is None or person.phone_hidden else phone


def _find_hold(board: Switchboard, number: Number, template: Template, rule: Rule | None) -> Hold | None:
    pacing = board.settings.pacing
    if rule is not None and rule.fault == "hold":
        return Hold(pacing.seconds if rule.seconds is None else rule.seconds, rule.drop)
    if not pacing.hold or template.category != "MARKETING" or number.chance.random() >= pacing.hold:
        return None
    return Hold(pacing.seconds, number.chance.random() < pacing.drop)


def settle_held(number: Number, wamid: str, *, drop: bool) -> bool:
    """Release or drop a message that is held; False when it no longer is."""
    judge = number.held.pop(wamid, None)
    if judge is not None:
        judge(drop)
    return judge is not None


def _judge(board: Switchboard, number: Number, out: Outgoing, drop: bool) -> None:
    if not drop:
        _travel(board, number, out, None)
        return
    _report(board, number, out, "failed", error=errors.status_error(132015, _DROPPED))
    template = board.templates.get(out.template.id) if out.template is not None else None
    if template is not None and template.status == "APPROVED":
        board.templates.review.pause_for_pacing(template)


def _travel(board: Switchboard, number: Number, out: Outgoing, rule: Rule | None) -> None:
    now, send = board.clock.now(), out.send
    character = board.people.character(send.to)
    kind = "voice" if send.media and send.media[0].voice else send.type
    steps = plan_journey(number.delays, character, number.jitter, kind)
    failure = find_failure(board.people.introduced(send.to), character, number, send, out.template, now)
    if rule is not None:
        failure = errors.status_error(rule.code or 131000, rule.details or errors.title(rule.code or 131000))
    if failure is not None:
        board.clock.at(now + steps[0].after, partial(_report, board, number, out, "failed", error=failure))
        return
    for step in steps:
        board.clock.at(now + step.after, partial(_report, board, number, out, step.label, priced=step.priced))
    if steps[-1].label != "sent" and board.people.answers(send.to):
        plan_reply(board, number, send, out.wamid, out.template, now + steps[-1].after)


def _report(
    board: Switchboard,
    number: Number,
    out: Outgoing,
    label: str,
    *,
    priced: bool = False,
    error: dict[str, Any] | None = None,
) -> None:
    update = wire.status_update(
        label,
        out.wamid,
        out.send.to,
        board.clock.now(),
        callback_data=out.send.callback_data,
        user_id=out.user_id,
        wa_id=out.wa_id,
        conversation=conversation_of(out.terms, label) if priced else None,
        pricing=out.terms.pricing if priced else None,
        error=error,
    )
    board.emit(number, update)


def _strike(board: Switchboard, number: Number, send: Send, rules: Any) -> Rule | None:
    links = tuple(ref.link for ref in send.media if ref.link is not None)
    return first_strike(rules, number.id, send.to, Look(send.type, links))


def _break(board: Switchboard, number: Number, send: Send, rule: Rule, request_id: str) -> Answer:
    if rule.fault == "refuse":
        refusal = Refusal(rule.code or 131000, details=rule.details, status=rule.status)
        return board.refuse(number.id, refusal, request_id, send.to, rule.id)
    status = (rule.status or 500) if rule.fault == "http_error" else 0
    board.note_refusal(number.id, send.to, None, status, rule.details, rule.id, request_id)
    body = (rule.details or "Service temporarily unavailable").encode()
    return Answer(status, body, request_id, "answer" if status else "drop")
