"""The contacts of a callback: the numbers, ids and names of people."""

from typing import Any

from gatepost.networks.base import Person
from gatepost.networks.cloud.json_values import as_dict, as_id, as_list, as_phone, as_str

_NAME_MAX = 256


class CallbackContacts:
    """The contacts of a callback, by phone number and by user id."""

    def __init__(self, found: Any) -> None:
        self._all = [contact for contact in as_list(found) if isinstance(contact, dict)]
        self._by_phone = {contact["wa_id"]: contact for contact in self._all if as_phone(contact.get("wa_id"))}
        self._by_user = {contact["user_id"]: contact for contact in self._all if as_str(contact.get("user_id"))}

    def person(self, wa_id: Any, user_id: Any) -> Person:
        """Return a person with all known names. Without number and id, it is the only contact of the callback."""
        number, user = as_phone(wa_id), as_id(user_id) if isinstance(user_id, str) else None
        contact = self._by_phone.get(number or "") or self._by_user.get(user or "") or {}
        if not (number or user or wa_id) and len(self._all) == 1:
            contact = self._all[0]
        return known(contact, number, user)


def known(contact: dict[str, Any], number: str | None, user: str | None) -> Person:
    """Return a person with a phone number or user id."""
    given = contact.get("user_id")
    profile = as_dict(contact.get("profile"))
    person = Person(
        phone=number or as_phone(contact.get("wa_id")),
        user_id=user or (as_id(given) if isinstance(given, str) else None),
        name=as_str(profile.get("name"), _NAME_MAX),
        username=as_str(profile.get("username"), _NAME_MAX),
    )
    if not (person.phone or person.user_id):
        raise ValueError("a person must have a phone number or a user id")
    return person
