"""A place on the map, and contact cards."""

from typing import Any

from gatepost.model.content.found import Found
from gatepost.model.content.parts import read_location
from gatepost.model.errors import invalid_field
from gatepost.model.reading import place, read_list, read_object, read_text, read_url

_NAME = ("first_name", "last_name", "middle_name", "prefix", "suffix")
_ENTRIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # field → what its entries must and may have
    "phones": (("phone",), ("type", "wa_id")),
    "emails": (("email",), ("type",)),
    "urls": (("url",), ("type",)),
    "addresses": ((), ("street", "city", "state", "zip", "country", "country_code", "type")),
}
_ORG = ("company", "department", "title")


def read_place(given: dict[str, Any], _: Found) -> dict[str, Any]:
    """A place on the map."""
    return {"location": read_location("location", given["location"])}


def read_contacts(given: dict[str, Any], _: Found) -> dict[str, Any]:
    """Contact cards."""
    cards = read_list("contacts", given["contacts"], "contacts.count")
    return {"contacts": [_card(f"contacts[{i}]", card) for i, card in enumerate(cards)]}


def _card(path: str, value: Any) -> dict[str, Any]:
    given = read_object(path, value, ("name", "phones"), ("emails", "urls", "addresses", "org", "birthday"))
    card: dict[str, Any] = {"name": _name(place(path, "name"), given["name"])}
    for field in _ENTRIES:
        if field in given:
            card[field] = _entries(place(path, field), given[field], field)
    if "org" in given:
        card["org"] = _texts(place(path, "org"), read_object(place(path, "org"), given["org"], (), _ORG))
    if "birthday" in given:
        card["birthday"] = read_text(place(path, "birthday"), given["birthday"], "contacts.birthday")
    return card


def _name(path: str, value: Any) -> dict[str, str]:
    given = read_object(path, value, ("formatted_name",), _NAME)
    name = {part: read_text(place(path, part), text, "contacts.name") for part, text in given.items()}
    # The network wants a second part of the name, and shows the formatted one all the same.
    return name if len(name) > 1 else name | {"first_name": name["formatted_name"]}


def _entries(path: str, value: Any, field: str) -> list[dict[str, str]]:
    required, optional = _ENTRIES[field]
    return [
        _texts(f"{path}[{i}]", read_object(f"{path}[{i}]", entry, required, optional))
        for i, entry in enumerate(read_list(path, value, "contacts.entries"))
    ]


def _texts(path: str, given: dict[str, Any]) -> dict[str, str]:
    if not given:
        raise invalid_field(path, "is empty; leave it out or fill it in")
    return {name: _text(place(path, name), name, value) for name, value in given.items()}


def _text(path: str, name: str, value: Any) -> str:
    return read_url(path, value, "contacts.text") if name == "url" else read_text(path, value, "contacts.text")
