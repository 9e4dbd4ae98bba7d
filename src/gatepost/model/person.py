"""People on the network: one person may go by a number, a private id of linked phones, and a business-scoped id.

phone  5511999998888      ─┐
lid    lid:1203…           ├─ addresses of one contact
user   user:US.1349…      ─┘
"""

from collections.abc import Iterable

import msgspec

from gatepost.model.number_forms import forms_of
from gatepost.model.phone import SUFFIX

LID, USER = "lid:", "user:"


class Person(msgspec.Struct, frozen=True):
    """Somebody on the network, by any of the names that it gives them. At least one of the first three is set."""

    phone: str | None = None  # digits
    lid: str | None = None  # a linked phone's private id: digits
    user_id: str | None = None  # business-scoped user id
    name: str | None = None
    username: str | None = None


def addresses(person: Person) -> tuple[str, ...]:
    """All addresses of a person, the one to go by first; a number in each form that it is written in."""
    numbers = forms_of(person.phone) if person.phone else ()
    named = (person.lid and LID + person.lid, person.user_id and USER + person.user_id)
    return (*numbers, *(address for address in named if address))


class Identity(msgspec.Struct, frozen=True):
    """All that a batch says of one person: every address, in the order that they came up, and the newest names."""

    addresses: tuple[str, ...]
    name: str | None = None
    username: str | None = None

    @property
    def phone(self) -> str | None:
        """The number to go by, where one is known."""
        return next(filter(is_phone, self.addresses), None)


def identities(persons: Iterable[Person]) -> list[Identity]:
    """Puts together what is said of the same people: whoever shares an address is one person."""
    found: dict[str, Identity] = {}
    for person in persons:
        mine = addresses(person)
        before = {id(circle): circle for address in mine if (circle := found.get(address))}
        circle = _drawn([*before.values(), Identity(mine, person.name, person.username)])
        found.update(dict.fromkeys(circle.addresses, circle))
    return list({id(circle): circle for circle in found.values()}.values())


def _drawn(parts: list[Identity]) -> Identity:
    """Several circles as one; of the names, the last one given counts."""
    if len(parts) == 1:
        return parts[0]
    names = [part.name for part in parts if part.name]
    usernames = [part.username for part in parts if part.username]
    together = dict.fromkeys(address for part in parts for address in part.addresses)
    return Identity(tuple(together), names[-1] if names else None, usernames[-1] if usernames else None)


def is_phone(address: str) -> bool:
    """Whether an address is a number rather than one of the other ids."""
    return not address.startswith((LID, USER))


def shown_phone(address: str) -> str | None:
    """The number behind an address, where there is one."""
    return address if is_phone(address) else None


def jid(address: str) -> str:
    """The chat's identifier on the network: the seed's `remoteJid`."""
    if address.startswith(LID):
        return address[len(LID) :] + "@lid"
    if address.startswith(USER):
        return address[len(USER) :] + "@user"
    return address + SUFFIX
