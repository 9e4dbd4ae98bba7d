"""People on the network: one person may have a number, a private id of linked phones, and a business-scoped id.

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
    """A person on the network. At least one of phone, lid and user_id is set."""

    phone: str | None = None  # digits
    lid: str | None = None  # a linked phone's private id: digits
    user_id: str | None = None  # business-scoped user id
    name: str | None = None
    username: str | None = None


def addresses(person: Person) -> tuple[str, ...]:
    """Return all addresses of a person, the preferred one first; a number in each form that it is written in."""
    numbers = forms_of(person.phone) if person.phone else ()
    named = (person.lid and LID + person.lid, person.user_id and USER + person.user_id)
    return (*numbers, *(address for address in named if address))


class Identity(msgspec.Struct, frozen=True):
    """The data of one person in a batch: all addresses in order of appearance, and the newest names."""

    addresses: tuple[str, ...]
    name: str | None = None
    username: str | None = None

    @property
    def phone(self) -> str | None:
        """The preferred number, if one is known."""
        return next(filter(is_phone, self.addresses), None)


def identities(persons: Iterable[Person]) -> list[Identity]:
    """Group people by their addresses: those who share an address are one person."""
    found: dict[str, Identity] = {}
    for person in persons:
        mine = addresses(person)
        before = {id(circle): circle for address in mine if (circle := found.get(address))}
        circle = _drawn([*before.values(), Identity(mine, person.name, person.username)])
        found.update(dict.fromkeys(circle.addresses, circle))
    return list({id(circle): circle for circle in found.values()}.values())


def split_by_number(persons: Iterable[Person]) -> list[list[Person]]:
    """Split people, the oldest report first, where one of them has another number than before."""
    parts: list[list[Person]] = [[]]
    numbers: dict[str, str] = {}  # by the other addresses
    for person in persons:
        others = [address for address in addresses(person) if not is_phone(address)]
        if person.phone:
            if any(numbers.get(other, person.phone) not in forms_of(person.phone) for other in others):
                parts.append([])
                numbers = {}
            numbers.update(dict.fromkeys(others, person.phone))
        parts[-1].append(person)
    return parts


def _drawn(parts: list[Identity]) -> Identity:
    """Merge identities; the last name given is used."""
    if len(parts) == 1:
        return parts[0]
    names = [part.name for part in parts if part.name]
    usernames = [part.username for part in parts if part.username]
    together = dict.fromkeys(address for part in parts for address in part.addresses)
    return Identity(tuple(together), names[-1] if names else None, usernames[-1] if usernames else None)


def is_phone(address: str) -> bool:
    """Return whether an address is a phone number."""
    return not address.startswith((LID, USER))


def person_at(address: str) -> Person:
    """Return the person with an address."""
    if address.startswith(LID):
        return Person(lid=address.removeprefix(LID))
    if address.startswith(USER):
        return Person(user_id=address.removeprefix(USER))
    return Person(phone=address)


def shown_phone(address: str) -> str | None:
    """Return the phone number of an address, or None."""
    return address if is_phone(address) else None


def jid(address: str) -> str:
    """Return the chat's identifier on the network (`remoteJid`)."""
    if address.startswith(LID):
        return address[len(LID) :] + "@lid"
    if address.startswith(USER):
        return address[len(USER) :] + "@user"
    return address + SUFFIX
