"""A message on its way from a session to a person.

send ─► form ─► refusing faults ─► seen before? ─► on the network? time-lock? ─► accepted ─► accepting faults ─► answer
                                        │ yes: counted, not shown again             │
                                        └───────────────────────► answer            └► receipts, replies, on the clock
"""

from functools import partial
from typing import Literal

import msgspec

from gatepost_sandbox.chats.state import ARRIVED
from gatepost_sandbox.faults import Rule, SendTraits, first_strike
from gatepost_sandbox.people import Received, Reply
from gatepost_sandbox.qr import incoming
from gatepost_sandbox.qr.content import FILES, check_outgoing
from gatepost_sandbox.qr.frames import Delete, Edit, Frame, Send, answer, error
from gatepost_sandbox.qr.network import QrNetwork
from gatepost_sandbox.qr.phone import Message, QrPhone
from gatepost_sandbox.qr.session import Session
from gatepost_sandbox.status_plan import plan_statuses
from gatepost_sandbox.wire import Update

MALFORMED, NOT_MEMBER, TIME_LOCKED, TOO_FAST = 479, 404, 463, 429
_TITLES = {
    MALFORMED: "Malformed message",
    NOT_MEMBER: "Not on the network",
    TIME_LOCKED: "Reach-out time-lock",
    TOO_FAST: "Rate overlimit",
}


class SendOutcome(msgspec.Struct, frozen=True):
    """The response to a send, and whether a fault drops or delays it."""

    frame: Frame
    how: Literal["answer", "cut", "hang"] = "answer"
    seconds: float = 0.0


def take_send(qr: QrNetwork, session: Session, qr_phone: QrPhone, send: Send) -> SendOutcome:
    """Accept or refuse a message; a repeated id is the same message."""
    to = qr.directory.find(send.to)
    problem = _check(qr, qr_phone, send)
    if problem is not None:
        return _refuse(qr, qr_phone, send, MALFORMED, problem)
    rule = first_strike(qr.network.faults.refusing, qr_phone.phone, to or send.to.phone or "", SendTraits(send.type))
    if rule is not None:
        return _break(qr, qr_phone, send, rule)
    known = qr_phone.messages.get(send.id)
    if known is not None:
        known.offered += 1
        qr.count(qr_phone, "repeated")
    elif to is None:
        return _refuse(qr, qr_phone, send, NOT_MEMBER, "the recipient has no account here")
    elif qr_phone.is_locked(qr.clock.now()) and to not in qr_phone.conversations:
        return _refuse(qr, qr_phone, send, TIME_LOCKED, "this phone may not open conversations for a while")
    else:
        known = _accept(qr, session, qr_phone, send, to)
    return _answer(qr, qr_phone, known, send.ref)


def take_edit(qr: QrNetwork, qr_phone: QrPhone, edit: Edit) -> Frame:
    """Change a message that was sent."""
    message = _sent(qr, qr_phone, edit)
    if message is None:
        return error(edit.ref, NOT_MEMBER, "No such message", "this phone sent nobody such a message")
    problem = check_outgoing(edit.type, edit.content)
    if problem is None and edit.type != message.type:
        problem = f"the message is of type {message.type}, not {edit.type}"
    if problem is not None:
        return error(edit.ref, MALFORMED, _TITLES[MALFORMED], problem)
    message.content, message.edits = edit.content, message.edits + 1
    qr.network.chats.edit(qr_phone.phone, message.id, edit.content)
    qr.count(qr_phone, "edits")
    return answer(edit.ref, id=message.id, at=int(qr.clock.now()))


def take_delete(qr: QrNetwork, qr_phone: QrPhone, delete: Delete) -> Frame:
    """Delete a message; idempotent."""
    message = _sent(qr, qr_phone, delete)
    if message is None:
        return error(delete.ref, NOT_MEMBER, "No such message", "this phone sent nobody such a message")
    qr.count(qr_phone, "repeated" if message.deleted else "deletes")
    message.deleted = True
    qr.network.chats.delete(qr_phone.phone, message.id)
    return answer(delete.ref, id=message.id, at=int(qr.clock.now()))


def _sent(qr: QrNetwork, qr_phone: QrPhone, asked: Edit | Delete) -> Message | None:
    message = qr_phone.messages.get(asked.id)
    return message if message is not None and message.to == qr.directory.find(asked.to) else None


def _check(qr: QrNetwork, qr_phone: QrPhone, send: Send) -> str | None:
    if (send.to.phone is None) == (send.to.lid is None):
        return "to must have a phone or a lid"
    if (send.type == "reaction") != (send.target is not None):
        return "a reaction has a target, and nothing else has one"
    problem = check_outgoing(send.type, send.content)
    if problem is not None or send.type not in FILES:
        return problem
    stored = qr.files.find(qr_phone.phone, send.content["media"]["handle"])
    if stored is None:
        return "there is no file with this handle"
    fits = stored.mime.startswith(FILES[send.type])
    return None if fits else f"a file of type {stored.mime} cannot be sent as {send.type}"


def _refuse(
    qr: QrNetwork,
    qr_phone: QrPhone,
    send: Send,
    code: int,
    details: str,
    *,
    fault: str | None = None,
    sure: bool = True,
) -> SendOutcome:
    qr_phone.refused[send.id] += 1
    qr.count(qr_phone, "refused")
    qr.count(qr_phone, f"refused.{code or 'fault'}")
    to = qr.directory.find(send.to) or send.to.phone
    qr.note("refused", qr_phone, to, code=code, http_status=0, details=details, fault=fault)
    return SendOutcome(error(send.ref, code, _TITLES.get(code, "Refused"), details, sure=sure))


def _break(qr: QrNetwork, qr_phone: QrPhone, send: Send, rule: Rule) -> SendOutcome:
    if rule.fault == "refuse":
        details = rule.details or "refused by a rule of the sandbox"
        return _refuse(qr, qr_phone, send, rule.code or 0, details, fault=rule.id)
    code = rule.status or 500 if rule.fault == "http_error" else 0
    details = rule.details or "the network does not say what became of it"
    verdict = _refuse(qr, qr_phone, send, code, details, fault=rule.id, sure=False)
    return verdict if rule.fault == "http_error" else SendOutcome(verdict.frame, "cut")


def _accept(qr: QrNetwork, session: Session, qr_phone: QrPhone, send: Send, to: str) -> Message:
    message = Message(
        id=send.id,
        to=to,
        type=send.type,
        content=send.content,
        at=qr.clock.now(),
        session=session.id,
        quote=send.quote.id if send.quote else None,
        target=send.target.id if send.target else None,
    )
    qr_phone.messages[send.id] = message
    qr_phone.conversations.add(to)
    qr.count(qr_phone, "accepted")
    row = {"type": send.type, "content": send.content, "wamid": send.id, "context": message.quote}
    qr.note("accepted", qr_phone, to, **row)
    _show(qr, qr_phone, message)
    _plan(qr, session, qr_phone, message)
    return message


def _answer(qr: QrNetwork, qr_phone: QrPhone, message: Message, ref: int) -> SendOutcome:
    frame = answer(ref, id=message.id, at=int(message.at))
    rule = first_strike(qr.network.faults.accepting, qr_phone.phone, message.to, SendTraits(message.type))
    if rule is None:
        return SendOutcome(frame)
    return SendOutcome(frame, "cut") if rule.fault == "accept_drop" else SendOutcome(frame, "hang", rule.seconds or 0.0)


def _plan(qr: QrNetwork, session: Session, qr_phone: QrPhone, message: Message) -> None:
    """Schedule receipts and a reply, according to the person's character."""
    character = qr.network.character(message.to, qr_phone.phone)
    kind = "voice" if message.content.get("voice") else message.type
    steps = plan_statuses(qr.network.settings.delays, character, qr_phone.jitter, kind)
    if not character.reachable:  # the network does not report a block: the message is never delivered
        del steps[1:]
    for step in steps:
        qr.clock.at(message.at + step.after, partial(_reach, qr, session, qr_phone, message, step.label))
    if steps[-1].label != "sent":
        _plan_reply(qr, qr_phone, message, message.at + steps[-1].after)


def _plan_reply(qr: QrNetwork, qr_phone: QrPhone, message: Message, seen_at: float) -> None:
    words = message.content.get("body") or message.content.get("caption") or ""
    reply = qr.network.people.react_to(message.to, Received(message.type, words), _possible)
    if reply is not None:
        said = incoming.reply_of(message.to, message.id, text=reply.text, emoji=reply.react)
        qr.clock.at(seen_at + reply.delay, partial(_reply, qr, qr_phone, said, message.id))


def _reply(qr: QrNetwork, qr_phone: QrPhone, said: incoming.Incoming, message_id: str) -> None:
    """Send a reply of a script, as soon as the person is online."""
    again = partial(_reply, qr, qr_phone, said, message_id)
    if not qr.network.offline.hold(said.sender.phone, message_id, again):
        incoming.deliver(qr, qr_phone, said)


def _possible(reply: Reply, _: Received) -> bool:
    """Return whether a reply is possible: a text or a reaction; there are no buttons here."""
    return bool(reply.text) or reply.react is not None


def _show(qr: QrNetwork, qr_phone: QrPhone, message: Message) -> None:
    """Show a message in the person's chat; a reaction is shown when it is sent."""
    chats = qr.network.chats
    if message.type != "reaction":
        chat = chats.open(message.to, qr_phone.phone, official=False)
        content, quote = message.content, message.quote
        chats.add(
            chat, message.id, message.at, message.type, content, from_person=False, status="accepted", quote=quote
        )


def _show_reaction(qr: QrNetwork, qr_phone: QrPhone, message: Message) -> None:
    emoji = message.content["reaction"]["emoji"]
    show = partial(qr.network.chats.react, qr_phone.phone, message.target or "", "business", emoji)
    if not qr.network.offline.hold(message.to, message.id, show):
        show()


def _reach(qr: QrNetwork, session: Session, qr_phone: QrPhone, message: Message, status: str) -> None:
    """Report a planned status, unless the person's phone is offline or the person does not read unasked."""
    network = qr.network
    if status in ARRIVED:
        again = partial(_reach, qr, session, qr_phone, message, status)
        if network.offline.hold(message.to, message.id, again):
            return
    if status in ("read", "played") and not network.people.reads_unasked(message.to):
        return
    known = network.chats.message(qr_phone.phone, message.id)
    if status in ("read", "played") and known is not None and known.has_reached(status):
        return
    if message.type == "reaction":
        _show_reaction(qr, qr_phone, message)
    report(qr, session, [message.id], status, message.to)


def report_opened(qr: QrNetwork, qr_phone: QrPhone, message_id: str, status: str) -> None:
    """Report that the person has read or played a message, as soon as the person's phone is online."""
    message = qr_phone.messages.get(message_id)
    session = None if message is None else qr.sessions.get(message.session)
    known = qr.network.chats.message(qr_phone.phone, message_id)
    if message is None or session is None or session.device is not qr_phone:
        return
    if known is not None and known.has_reached(status):
        return
    again = partial(report_opened, qr, qr_phone, message_id, status)
    if not qr.network.offline.hold(message.to, message_id, again):
        report(qr, session, [message_id], status, message.to)


def report(qr: QrNetwork, session: Session, ids: list[str], status: str, person: str) -> None:
    """Send a receipt for messages of a session."""
    for message_id in ids:
        message = session.device.messages.get(message_id) if session.device else None
        if message is not None:
            message.statuses = [*message.statuses, status]
        if session.device is not None:
            qr.network.chats.advance(session.device.phone, message_id, status)
    shown, at = qr.directory.show(person), int(qr.clock.now())
    item = {"event": "receipt", "ids": ids, "status": status, "from": shown, "at": at}
    qr.publish(session, Update(label=status, wamid=ids[0], person=person, item=item))
