"""Phones of the QR network: scanning codes, incoming messages, and losing links."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from gatepost_sandbox.control.problems import ControlError, not_found
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.qr import QrNetwork
from gatepost_sandbox.qr.incoming import (
    ContactUpdate,
    Incoming,
    LabelUpdate,
    check,
    deliver,
    send_contact_update,
    send_label_update,
)
from gatepost_sandbox.qr.phone import FOREVER, PhoneSpec, QrPhone
from gatepost_sandbox.qr.sending import report
from gatepost_sandbox.qr.session import Session
from gatepost_sandbox.settings import Phone, Seconds
from gatepost_sandbox.world import World


class _Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Scan(_Asked, frozen=True):
    """What to scan: a code, or the code of a session; with `fail` the scan is aborted."""

    code: str | None = None
    session: str | None = None
    fail: bool = False


class Typed(_Asked, frozen=True):
    """A pairing code."""

    code: str


class Drop(_Asked, frozen=True):
    """Why the connection is lost, and after how many seconds it is restored, if at all."""

    reason: Literal["network_gone", "stream_error", "replaced", "outdated_client", "could_not_load"] = "network_gone"
    seconds: Seconds | None = None


class Term(_Asked, frozen=True):
    """A period in seconds; 0 ends it, null is unlimited."""

    seconds: Seconds | None = None


class Receipt(_Asked, frozen=True):
    """An unusual receipt: late, repeated, or for several messages."""

    ids: Annotated[list[str], Meta(min_length=1)]
    status: Literal["sent", "delivered", "read", "played"]
    person: Phone


def find_phone(qr: QrNetwork, phone: str) -> QrPhone:
    """Return the phone with this number, or a 404."""
    qr_phone = qr.phones.get(phone)
    if qr_phone is None:
        raise not_found("phone", phone)
    return qr_phone


def show_session(session: Session) -> dict[str, Any]:
    """Return the present state of a session."""
    return {
        "session": session.id,
        "phone": session.device.phone if session.device else None,
        "state": session.state,
        "reason": session.reason,
        "code": session.code,
        "pairing_code": session.pairing[1] if session.pairing else None,
        "last_seq": session.outbox.last,
        "waiting": session.outbox.waiting,
    }


def show(qr: QrNetwork, qr_phone: QrPhone) -> dict[str, Any]:
    """Return a phone, and the sessions linked to it."""
    now = qr.clock.now()
    return {
        **msgspec.structs.asdict(qr_phone.spec),
        "lid": qr.directory.lid_of(qr_phone.phone),
        "locked_until": qr_phone.locked_until if qr_phone.is_locked(now) else None,
        "banned": qr_phone.is_banned(now),
        "sessions": [session.id for session in qr.linked(qr_phone)],
    }


@post("/control/phones", status_code=200, sync_to_thread=False)
@changes
def put_phone(world: NamedDependency[World], data: JSONBody[PhoneSpec]) -> dict[str, Any]:
    """Create or change a phone: {"phone", "name"?, "auto_scan"?}."""
    return show(world.qr, world.qr.register(data))


@get("/control/phones", sync_to_thread=False)
def list_phones(world: NamedDependency[World]) -> list[dict[str, Any]]:
    """List the phones of the QR network."""
    return [show(world.qr, qr_phone) for qr_phone in world.qr.phones.values()]


@get("/control/phones/{phone:str}", sync_to_thread=False)
def get_phone(world: NamedDependency[World], phone: FromPath[str]) -> dict[str, Any]:
    """Show a phone."""
    return show(world.qr, find_phone(world.qr, phone))


@get("/control/sessions", sync_to_thread=False)
def list_sessions(world: NamedDependency[World]) -> list[dict[str, Any]]:
    """List the sessions of the QR network: state, code to scan, unacknowledged events."""
    return [show_session(session) for session in world.qr.sessions.values()]


@post("/control/phones/{phone:str}/scan", status_code=200)
@changes
async def scan(world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[Scan]) -> dict[str, Any]:
    """Scan a code with a phone: {"code"} or {"session"}."""
    qr = world.qr
    if (data.code is None) == (data.session is None):
        raise ControlError(400, "give either code or session")
    session = qr.waiting(data.code) if data.code is not None else qr.sessions.get(data.session or "")
    if session is None or session.code is None:
        raise ControlError(409, "no session shows this code: it has expired or was scanned, or it is wrong")
    qr.scan(session, qr.phone(phone), fail=data.fail)
    return show_session(session)


@post("/control/phones/{phone:str}/pair", status_code=200)
@changes
async def pair(world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[Typed]) -> dict[str, Any]:
    """Type a pairing code on a phone: {"code"}."""
    qr_phone = world.qr.phone(phone)
    session = world.qr.pairing(qr_phone, data.code)
    if session is None:
        raise ControlError(409, "no session waits for this pairing code from this phone")
    world.qr.scan(session, qr_phone)
    return show_session(session)


@post("/control/phones/{phone:str}/incoming", status_code=200)
@changes
async def send_incoming(
    world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[Incoming]
) -> dict[str, Any]:
    """Send a message of any type to a phone, or from it: {"from", "type", "content", …}."""
    problem = check(data)
    if problem is not None:
        raise ControlError(400, problem)
    qr_phone = world.qr.phone(phone)
    return {"id": deliver(world.qr, qr_phone, data), "sessions": len(world.qr.linked(qr_phone))}


@post("/control/phones/{phone:str}/contacts", status_code=200)
@changes
async def send_contact(
    world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[ContactUpdate]
) -> dict[str, bool]:
    """Send a phone's devices a person's name, number or private id."""
    send_contact_update(world.qr, world.qr.phone(phone), data)
    return {"success": True}


@post("/control/phones/{phone:str}/labels", status_code=200)
@changes
async def send_label(
    world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[LabelUpdate]
) -> dict[str, bool]:
    """Send a phone's devices a change of a label: changed, deleted, assigned or removed."""
    send_label_update(world.qr, world.qr.phone(phone), data)
    return {"success": True}


@post("/control/phones/{phone:str}/receipts", status_code=200)
@changes
async def send_receipt(
    world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[Receipt]
) -> dict[str, bool]:
    """Send an unusual receipt: {"ids", "status", "person"}."""
    for session in world.qr.linked(find_phone(world.qr, phone)):
        report(world.qr, session, data.ids, data.status, data.person)
    return {"success": True}


@post("/control/phones/{phone:str}/drop", status_code=200)
@changes
async def drop(world: NamedDependency[World], phone: FromPath[str], data: JSONBody[Drop]) -> dict[str, Any]:
    """Disconnect a phone's sessions: {"reason", "seconds"?}."""
    qr_phone = find_phone(world.qr, phone)
    for session in world.qr.linked(qr_phone):
        session.drop(data.reason, back_after=data.seconds)
    return show(world.qr, qr_phone)


@post("/control/phones/{phone:str}/cut", status_code=200)
@changes
async def cut(world: NamedDependency[World], phone: FromPath[str]) -> dict[str, Any]:
    """Close the WebSockets of a phone's sessions abruptly."""
    qr_phone = find_phone(world.qr, phone)
    for session in world.qr.linked(qr_phone):
        if session.wire is not None:
            session.wire.cut()
    return show(world.qr, qr_phone)


@post("/control/phones/{phone:str}/logout", status_code=200)
@changes
async def log_out(world: NamedDependency[World], phone: FromPath[str]) -> dict[str, Any]:
    """Log out all sessions of a phone."""
    qr_phone = find_phone(world.qr, phone)
    for session in world.qr.linked(qr_phone):
        session.log_out()
    return show(world.qr, qr_phone)


@post("/control/phones/{phone:str}/ban", status_code=200)
@changes
async def ban(world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[Term]) -> dict[str, Any]:
    """Ban a phone: {"seconds"?}, 0 lifts it."""
    qr_phone = world.qr.phone(phone)
    world.qr.ban(qr_phone, ends_at(world.qr, data))
    return show(world.qr, qr_phone)


@post("/control/phones/{phone:str}/lock", status_code=200)
@changes
async def lock(world: NamedDependency[World], phone: FromPath[Phone], data: JSONBody[Term]) -> dict[str, Any]:
    """Time-lock a phone, so that it cannot open conversations: {"seconds"?}, 0 lifts it."""
    qr_phone = world.qr.phone(phone)
    world.qr.lock(qr_phone, ends_at(world.qr, data))
    return show(world.qr, qr_phone)


@get("/control/phones/{phone:str}/messages", sync_to_thread=False)
def list_messages(
    world: NamedDependency[World],
    phone: FromPath[str],
    skip: Annotated[int, QueryParameter(ge=0)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=100_000)] = 1000,
) -> dict[str, Any]:
    """List what a phone's sessions sent, oldest first, and how often each id was received: ?skip=&limit=."""
    qr_phone = find_phone(world.qr, phone)
    return {"messages": list(qr_phone.messages.values())[skip : skip + limit], "refused": dict(qr_phone.refused)}


def ends_at(qr: QrNetwork, term: Term) -> float:
    """Return the end of a period."""
    return FOREVER if term.seconds is None else qr.clock.now() + term.seconds


ROUTES = (
    put_phone,
    list_phones,
    get_phone,
    list_sessions,
    scan,
    pair,
    send_incoming,
    send_contact,
    send_label,
    send_receipt,
    drop,
    cut,
    log_out,
    ban,
    lock,
    list_messages,
)
