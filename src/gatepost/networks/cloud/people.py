"""Who wrote: the several names that the network gives to one person."""

from typing import Any

from gatepost.networks.base import Person
from gatepost.networks.cloud.values import items, name_of, phone, some, text

_NAME_MOST = 256


class CallbackContacts:
    """The people that a callback introduces, by their phone number and by their user id."""

    def __init__(self, found: Any) -> None:
        self._all = [contact for contact in items(found) if isinstance(contact, dict)]
        self._by_phone = {contact["wa_id"]: contact for contact in self._all if phone(contact.get("wa_id"))}
        self._by_user = {contact["user_id"]: contact for contact in self._all if text(contact.get("user_id"))}

    def person(self, wa_id: Any, user_id: Any) -> Person:
        """Somebody with all that is known of them. One without number and id can only be the sole one introduced."""
        number, user = phone(wa_id), name_of(user_id) if isinstance(user_id, str) else None
        contact = self._by_phone.get(number or "") or self._by_user.get(user or "") or {}
        if not (number or user or wa_id) and len(self._all) == 1:
            contact = self._all[0]
        return known(contact, number, user)


def known(contact: dict[str, Any], number: str | None, user: str | None) -> Person:
    """A person with at least one name to find them by."""
    told = contact.get("user_id")
    profile = some(contact.get("profile"))
    person = Person(
        phone=number or phone(contact.get("wa_id")),
        user_id=user or (name_of(told) if isinstance(told, str) else None),
        name=text(profile.get("name"), _NAME_MOST),
        username=text(profile.get("username"), _NAME_MOST),
    )
    if not (person.phone or person.user_id):
        raise ValueError("nobody that could be found again")
    return person
