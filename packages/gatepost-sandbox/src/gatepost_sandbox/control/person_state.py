"""The phone of a person: offline for a while, or with a new number."""

from math import isinf
from typing import Annotated, Any

import msgspec
from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from gatepost_sandbox.control.chats import SMALL, read_person
from gatepost_sandbox.control.problems import ControlError
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.incoming import Incoming, deliver_incoming
from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.qr.incoming import ContactUpdate, send_contact_update
from gatepost_sandbox.settings import Phone
from gatepost_sandbox.world import World

_YEAR = 366 * 86_400.0


class OfflineTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds until the phone is back; null until it is ended, 0 ends it."""

    seconds: Annotated[float, Meta(ge=0, le=_YEAR)] | None = None


class NewNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new number of a person."""

    phone: Phone


def show_offline(world: World, person: str) -> dict[str, Any]:
    """Return whether a person is offline, and until when; null if that is not planned."""
    until = world.network.offline.until(person)
    return {"offline": until is not None, "offline_until": None if until is None or isinf(until) else int(until)}


@post("/control/people/{phone:str}/offline", status_code=200, request_max_body_size=SMALL)
@changes
async def go_offline(
    world: NamedDependency[World], phone: FromPath[str], data: JSONBody[OfflineTime]
) -> dict[str, Any]:
    """Take a person's phone offline: {"seconds"}, null until it is ended, 0 ends it."""
    person, offline = read_person(phone), world.network.offline
    if data.seconds == 0:
        offline.end(person)
    else:
        offline.begin(person, data.seconds)
    return {"phone": person, **show_offline(world, person)}


@post("/control/people/{phone:str}/number", status_code=200, request_max_body_size=SMALL)
@changes
async def change_person_number(
    world: NamedDependency[World], phone: FromPath[str], data: JSONBody[NewNumber]
) -> dict[str, Any]:
    """Change a person's number: {"phone"}. Profile and chats move, and the businesses of the chats are told."""
    network, old, new = world.network, read_person(phone), network_form(data.phone)
    if old == new:
        raise ControlError(409, f"{new} is the number of this person already")
    if network.people.has_profile(new) or any(network.chats.latest(new)):
        raise ControlError(409, f"{new} is the number of another person")
    if network.offline.until(old) is not None:
        raise ControlError(409, f"{old} is offline")
    name = network.people.find(old).name
    network.people.move(old, new)
    for chat in network.chats.move(old, new):
        _report_business(world, chat.number, name, old, new)
    network.watch.changed("all")  # the chats of the old number are gone
    return {"phone": new, "old_phone": old, "chats": sum(1 for _ in network.chats.latest(new))}


def _report_business(world: World, number: str, name: str, old: str, new: str) -> None:
    """Report a new number as the network of a business does."""
    official = world.network.numbers.get(number)
    if official is not None:
        official.move_person(old, new)
        content = {"type": "user_changed_number", "wa_id": new}
        deliver_incoming(world.network, official, Incoming(person=old, name=name, type="system", content=content))
    elif number in world.qr.phones:
        qr_phone, hidden = world.qr.phones[number], world.qr.directory.hidden
        qr_phone.conversations.add(new)
        update = ContactUpdate(phone=new, old_phone=old, hidden=old in hidden or new in hidden)
        send_contact_update(world.qr, qr_phone, update)


ROUTES = (go_offline, change_person_number)
