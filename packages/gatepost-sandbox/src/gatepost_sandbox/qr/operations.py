"""The operations of an open session, one function each."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from gatepost_sandbox.network_state import show_typing
from gatepost_sandbox.qr.files import Stored, Uploads, fetch
from gatepost_sandbox.qr.frames import (
    Check,
    Close,
    Delete,
    Edit,
    Get,
    Logout,
    Pair,
    Put,
    Read,
    Send,
    Typing,
    answer,
    error,
)
from gatepost_sandbox.qr.network import QrNetwork
from gatepost_sandbox.qr.phone import QrPhone
from gatepost_sandbox.qr.sending import take_delete, take_edit, take_send
from gatepost_sandbox.qr.session import Session, Wire


class Out(Wire, Protocol):
    """The part of a link that operations use."""

    uploads: Uploads


def close(qr: QrNetwork, out: Out, session: Session, asked: Close) -> None:
    """End the connection and keep the device."""
    out.put(answer(asked.ref))
    session.drop("closed")


def logout(qr: QrNetwork, out: Out, session: Session, asked: Logout) -> None:
    """Unlink the device."""
    out.put(answer(asked.ref))
    session.log_out()


def pair(qr: QrNetwork, out: Out, session: Session, asked: Pair) -> None:
    """Create a pairing code."""
    if session.state == "waiting_for_scan":
        out.put(answer(asked.ref, code=session.new_pairing_code(asked.phone)))
    else:
        out.put(error(asked.ref, 0, "Not waiting", f"the session is {session.state}, not waiting for a scan"))


def send(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Send) -> None:
    """Handle a message, and respond now, later or never."""
    verdict = take_send(qr, session, qr_phone, asked)
    if verdict.how == "cut":
        out.cut()
    elif verdict.how == "hang":
        qr.clock.at(qr.clock.now() + verdict.seconds, partial(out.put, verdict.frame))
    else:
        out.put(verdict.frame)


def edit(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Edit) -> None:
    """Change a message."""
    out.put(take_edit(qr, qr_phone, asked))


def delete(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Delete) -> None:
    """Delete a message."""
    out.put(take_delete(qr, qr_phone, asked))


def read(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Read) -> None:
    """Record that messages were read."""
    for message_id in asked.ids:
        qr.count(qr_phone, "reads")
        qr.note("read", qr_phone, qr.directory.find(asked.person), message_id=message_id, typing=False)
        qr.network.chats.mark_read(qr_phone.phone, message_id, qr.clock.now(), earlier=False)
    out.put(answer(asked.ref))


def typing(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Typing) -> None:
    """Start or stop the typing indicator."""
    qr.count(qr_phone, "typing")
    chat = qr.network.chats.find(qr.directory.find(asked.to) or "", qr_phone.phone)
    if chat is not None and asked.on:
        show_typing(qr.network, chat)
    elif chat is not None:
        qr.network.chats.set_typing(chat, 0.0)
    out.put(answer(asked.ref))


def check(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Check) -> None:
    """Report which numbers are on the network."""
    members = [phone for phone in asked.phones if qr.directory.is_member(phone)]
    known = [{"phone": phone, "lid": qr.directory.lid_of(phone)} for phone in members]
    out.put(answer(asked.ref, known=known))


def put(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Put) -> None:
    """Receive a chunk of a file."""
    done = out.uploads.take(asked)
    if isinstance(done, str):
        out.put(error(asked.ref, 0, "Bad upload", done))
    elif done is not None:
        out.put(answer(asked.ref, handle=qr.files.keep(Stored(qr_phone.phone, asked.mime, done, asked.filename))))


def get(qr: QrNetwork, out: Out, session: Session, qr_phone: QrPhone, asked: Get) -> None:
    """Send a file in chunks."""
    for frame in fetch(qr.files.find(qr_phone.phone, asked.handle), asked):
        out.put(frame)


def _online(do: Callable[[QrNetwork, Out, Session, QrPhone, Any], None]) -> Callable[..., None]:
    """Wrap an operation so that it is refused, and certainly not sent, while the session is offline."""

    def guarded(qr: QrNetwork, out: Out, session: Session, asked: Any) -> None:
        if session.online and session.device is not None:
            do(qr, out, session, session.device, asked)
        else:
            out.put(error(asked.ref, 0, "Not connected", f"the session is {session.state} ({session.reason})"))

    return guarded


OPERATIONS: dict[type, Callable[..., None]] = {
    Close: close,
    Logout: logout,
    Pair: pair,
    **{
        kind: _online(do)
        for kind, do in (
            (Send, send),
            (Edit, edit),
            (Delete, delete),
            (Read, read),
            (Typing, typing),
            (Check, check),
            (Put, put),
            (Get, get),
        )
    },
}
