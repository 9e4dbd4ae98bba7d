"""People: their profiles and scripts, and writing as one of them."""

from typing import Any

import msgspec
from litestar import delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from gatepost_sandbox.control.chats import read_person
from gatepost_sandbox.control.incoming import read
from gatepost_sandbox.control.numbers import find_number
from gatepost_sandbox.control.person_state import show_offline
from gatepost_sandbox.control.problems import ControlError, not_found
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.people import Person, check_person, default_name
from gatepost_sandbox.settings import Phone
from gatepost_sandbox.world import World

_SHOWN_ONLY = ("offline", "offline_until")  # a profile can be sent back as it was shown


class Saying(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"person": "from"}):
    """A text that a person sends to a number."""

    phone_number_id: str
    person: Phone
    text: str
    name: str | None = None
    reply_to: str | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "person", network_form(self.person))


def show(world: World, person: Person) -> dict[str, Any]:
    """Return a person's profile, and whether the phone is offline."""
    return {**msgspec.structs.asdict(person), **show_offline(world, person.phone)}


@get("/control/people", sync_to_thread=False)
def list_people(world: NamedDependency[World]) -> list[dict[str, Any]]:
    """List the people with a profile."""
    return [show(world, person) for person in world.network.people.known()]


@get("/control/people/{phone:str}", sync_to_thread=False)
def get_person(world: NamedDependency[World], phone: FromPath[str]) -> dict[str, Any]:
    """Show a person."""
    return show(world, world.network.people.find(read_person(phone)))


@put("/control/people/{phone:str}", sync_to_thread=False)
@changes
def put_person(world: NamedDependency[World], phone: FromPath[str], data: JSONBody[dict[str, Any]]) -> dict[str, Any]:
    """Set a person's profile: name, character, reads, replies, user_id, username, phone_hidden, identity_hash."""
    given = {name: value for name, value in data.items() if name not in _SHOWN_ONLY}
    person = msgspec.convert({"name": default_name(phone), **given, "phone": phone}, Person)
    problem = check_person(person)
    if problem is not None:
        raise ControlError(400, problem)
    for line in person.replies:
        if line.send is not None:
            read({"from": phone, **line.send})
    world.network.people.put(person)
    return show(world, person)


@delete("/control/people/{phone:str}", status_code=200, sync_to_thread=False)
@changes
def remove_person(world: NamedDependency[World], phone: FromPath[str]) -> dict[str, bool]:
    """Delete a person's profile."""
    if not world.network.people.remove(phone):
        raise not_found("person", phone)
    return {"success": True}


@post("/control/say", status_code=200)
@changes
async def say(world: NamedDependency[World], data: JSONBody[Saying]) -> dict[str, str]:
    """Write to a number as a person: {"phone_number_id", "from", "text", "name"?, "reply_to"?}."""
    number = find_number(world.network, data.phone_number_id)
    return {"wamid": world.network.say(number, data.person, data.text, name=data.name, quote=data.reply_to)}


ROUTES = (put_person, list_people, get_person, remove_person, say)
