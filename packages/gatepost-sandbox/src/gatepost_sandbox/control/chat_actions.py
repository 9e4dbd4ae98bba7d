"""What a person does with a number besides writing: play, type, block, report, stop marketing messages."""

from typing import Any

import msgspec
from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from gatepost_sandbox.chats import Chat, sends
from gatepost_sandbox.control.chats import SMALL, find_chat, find_message, report_person
from gatepost_sandbox.control.problems import ControlError
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.incoming import Incoming, deliver_incoming
from gatepost_sandbox.number_status import lower_quality
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.world import World


class Played(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The id of the message that is played."""

    message: sends.Id


class Typing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the person is typing."""

    on: bool


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the number is blocked."""

    blocked: bool


class Marketing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether marketing messages are stopped."""

    stopped: bool


@post("/control/chats/{person:str}/{number:str}/played", status_code=200, request_max_body_size=SMALL)
@changes
async def play_message(
    world: NamedDependency[World], person: FromPath[str], number: FromPath[str], data: JSONBody[Played]
) -> dict[str, Any]:
    """Play a voice message of the business as the person: {"message"}."""
    chat, business = find_chat(world, person, number)
    message = find_message(world, chat, data.message)
    if message.from_person or message.type != "audio" or not message.content.get("voice"):
        raise ControlError(409, "only a voice message of the business is reported as played")
    if world.network.people.sends_receipts(chat.person):
        report_person(world, business, message, "read")
    report_person(world, business, message, "played")
    return world.views.chat(chat)


@post("/control/chats/{person:str}/{number:str}/typing", status_code=200, request_max_body_size=SMALL)
async def type_in_chat(
    world: NamedDependency[World], person: FromPath[str], number: FromPath[str], data: JSONBody[Typing]
) -> dict[str, Any]:
    """Type as the person: {"on"}. Neither network reports it to the business, so nothing changes."""
    chat, _ = find_chat(world, person, number)
    return world.views.chat(chat)


@post("/control/chats/{person:str}/{number:str}/block", status_code=200, request_max_body_size=SMALL)
@changes
async def block_number(
    world: NamedDependency[World], person: FromPath[str], number: FromPath[str], data: JSONBody[Block]
) -> dict[str, Any]:
    """Block or unblock a number as the person: {"blocked"}."""
    chat = _open(world, person, number)
    world.network.chats.block(chat, blocked=data.blocked)
    return world.views.chat(chat)


@post("/control/chats/{person:str}/{number:str}/report", status_code=200)
@changes
async def report_number(world: NamedDependency[World], person: FromPath[str], number: FromPath[str]) -> dict[str, Any]:
    """Report and block a number as the person; the quality of an official number falls by one step."""
    chat, network = _open(world, person, number), world.network
    network.ledger.count(number, "reports")
    network.chats.block(chat, blocked=True)
    if number in network.numbers:
        lower_quality(network, network.numbers[number])
        network.watch.changed("numbers")
    return world.views.chat(chat)


@post("/control/chats/{person:str}/{number:str}/marketing", status_code=200, request_max_body_size=SMALL)
@changes
async def stop_marketing(
    world: NamedDependency[World], person: FromPath[str], number: FromPath[str], data: JSONBody[Marketing]
) -> dict[str, Any]:
    """Stop or resume marketing messages of an official number as the person: {"stopped"}."""
    _, business = find_chat(world, person, number)
    if not isinstance(business, Number):
        raise ControlError(409, "only official numbers send marketing messages")
    chat = _open(world, person, number)
    content = {"value": "stop" if data.stopped else "resume"}
    deliver_incoming(world.network, business, Incoming(person=chat.person, type="user_preferences", content=content))
    world.network.chats.report_chat(chat)
    return world.views.chat(chat)


def _open(world: World, person: str, number: str) -> Chat:
    """Return a chat that is stored, also without messages."""
    chat, business = find_chat(world, person, number)
    return world.network.chats.open(chat.person, number, official=isinstance(business, Number))


ROUTES = (play_message, type_in_chat, block_number, report_number, stop_marketing)
