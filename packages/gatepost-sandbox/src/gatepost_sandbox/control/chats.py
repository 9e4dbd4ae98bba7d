"""Chats as a person sees them, and acting as that person in one of them."""

from typing import Annotated, Any

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from gatepost_sandbox.chats import Chat, ChatMessage, sends
from gatepost_sandbox.chats.official_sends import write_official
from gatepost_sandbox.chats.qr_sends import write_qr
from gatepost_sandbox.chats.state import CHATS_MAX
from gatepost_sandbox.control.incoming import read
from gatepost_sandbox.control.problems import ControlError, not_found
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.incoming import deliver_incoming
from gatepost_sandbox.messages.envelope import PHONE_MAX, PHONE_MIN
from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.qr import incoming as qr_incoming
from gatepost_sandbox.qr.phone import QrPhone
from gatepost_sandbox.qr.sending import report_opened
from gatepost_sandbox.sending import report_status
from gatepost_sandbox.world import World

PAGE_MAX = 200
SMALL = 64 * 1024  # bytes of a request without a file


def read_person(person: str) -> str:
    """Return a person's number in the network's form, or fail with 400."""
    if not (person.isascii() and person.isdigit() and PHONE_MIN <= len(person) <= PHONE_MAX):
        raise ControlError(400, f"{person[:40]!r} is not a phone number of {PHONE_MIN} to {PHONE_MAX} digits")
    return network_form(person)


def find_chat(world: World, person: str, number: str) -> tuple[Chat, Number | QrPhone]:
    """Return a chat and its number, or fail with 400 or 404. A chat without messages is not stored."""
    phone, business = read_person(person), world.views.business(number)
    if business is None:
        raise not_found("number or phone", number[:40])
    chat = world.network.chats.find(phone, number)
    return chat or Chat(phone, number, official=isinstance(business, Number)), business


@get("/control/chats", sync_to_thread=False)
def list_chats(
    world: NamedDependency[World],
    person: FromQuery[str | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=CHATS_MAX)] = 500,
) -> dict[str, Any]:
    """List the chats of a person, or all, latest first: ?person=&limit=."""
    phone = None if person is None else read_person(person)
    chats = world.network.chats.latest(phone)
    return {"person": phone, "chats": [world.views.chat(chat) for chat, _ in zip(chats, range(limit), strict=False)]}


@get("/control/chats/{person:str}/{number:str}", sync_to_thread=False)
def get_chat(
    world: NamedDependency[World],
    person: FromPath[str],
    number: FromPath[str],
    before: Annotated[int | None, QueryParameter(ge=1)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=PAGE_MAX)] = 50,
) -> dict[str, Any]:
    """Show a chat and its messages, oldest first: ?before=&limit=."""
    chat, _ = find_chat(world, person, number)
    page, more = chat.page(before, limit)
    views = world.views
    return {"chat": views.chat(chat), "messages": [views.message(message) for message in page], "more": more}


@post("/control/chats/{person:str}/{number:str}/read", status_code=200)
@changes
async def read_chat(world: NamedDependency[World], person: FromPath[str], number: FromPath[str]) -> dict[str, Any]:
    """Open a chat as the person: what is unread becomes read, unless the person's "reads" is "never"."""
    chat, business = find_chat(world, person, number)
    network = world.network
    unread = network.chats.see(chat)
    if network.people.sends_receipts(chat.person):
        for message in unread:
            report_person(world, business, message, "read")
    return world.views.chat(chat)


def report_person(world: World, business: Number | QrPhone, message: ChatMessage, status: str) -> None:
    """Report that the person has read or played a message."""
    if isinstance(business, QrPhone):
        report_opened(world.qr, business, message.id, status)
    elif message.outgoing is not None:
        report_status(world.network, business, message.outgoing, status, opened=True)


@post("/control/chats/{person:str}/{number:str}/send", status_code=200, request_max_body_size=sends.BODY_MAX)
@changes
async def send_in_chat(
    world: NamedDependency[World], person: FromPath[str], number: FromPath[str], data: JSONBody[sends.AnySend]
) -> dict[str, Any]:
    """Send anything as the person: {"type": text, media, location, contact, reaction, button, row, order …}."""
    chat, business = find_chat(world, person, number)
    _check_able(world, chat)
    if isinstance(data, sends.Media):
        problem = sends.check_media(data)
        if problem is not None:
            raise ControlError(400, problem)
    target = _find_target(world, chat, data)
    view = {} if target is None else world.views.message(target)["view"]
    try:
        if isinstance(business, Number):
            sent = _send_official(world, chat, business, data, view)
        else:
            sent = _send_qr(world, chat, business, data, view)
    except sends.Impossible as error:
        raise ControlError(409, str(error)) from error
    changed = isinstance(data, sends.Reaction | sends.Vote | sends.Edit | sends.Delete)
    message = target if changed else world.network.chats.message(number, sent)
    assert message is not None
    return world.views.message(message)


def _check_able(world: World, chat: Chat) -> None:
    if (chat.person, chat.number) in world.network.chats.blocked:
        raise ControlError(409, f"{chat.person} has blocked this number: unblock it first")
    if world.network.offline.until(chat.person) is not None:
        raise ControlError(409, f"{chat.person} is offline")


def _find_target(world: World, chat: Chat, send: sends.AnySend) -> ChatMessage | None:
    """Return the message that something is about, or fail with 409."""
    target_id = getattr(send, "target", None)
    if send.quote is not None:
        find_message(world, chat, send.quote)
    if target_id is None:
        return None
    target = find_message(world, chat, target_id)
    if isinstance(send, sends.Edit | sends.Delete) and not target.from_person:
        raise ControlError(409, "a person can change only their own messages")
    if isinstance(send, sends.Edit) and target.type != "text":
        raise ControlError(409, "only a text can be edited")
    return target


def find_message(world: World, chat: Chat, message_id: str) -> ChatMessage:
    """Return a message that the person has in a chat, or fail with 409."""
    message = world.network.chats.message(chat.number, message_id)
    if message is None or message.person != chat.person or message.deleted or not message.arrived:
        raise ControlError(409, f"the chat has no message {message_id[:100]!r}")
    return message


def _send_official(world: World, chat: Chat, number: Number, send: sends.AnySend, view: dict[str, Any]) -> str:
    body = {"from": chat.person, **write_official(send, view)}
    if send.quote is not None:
        own = find_message(world, chat, send.quote).from_person
        body |= {"reply_to": send.quote} | ({"context": {"from": chat.person}} if own else {})
    return deliver_incoming(world.network, number, read(body))


def _send_qr(world: World, chat: Chat, qr_phone: QrPhone, send: sends.AnySend, view: dict[str, Any]) -> str:
    body = {"from": {"phone": chat.person}, **write_qr(send, view)}
    if send.quote is not None:
        body["quote"] = {"id": send.quote, "from_me": not find_message(world, chat, send.quote).from_person}
    try:
        said = msgspec.convert(body, qr_incoming.Incoming)
    except msgspec.ValidationError as error:
        raise ControlError(400, str(error)) from error
    problem = qr_incoming.check(said)
    if problem is not None:
        raise ControlError(400, problem)
    return qr_incoming.deliver(world.qr, qr_phone, said)


ROUTES = (list_chats, get_chat, read_chat, send_in_chat)
