"""The content of locations and contact cards."""

from typing import Any

from gatepost.model.content.parts import read_location
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import place, read_list, read_object, read_text, read_texts, read_url
from gatepost.model.problem_collector import ProblemCollector, read_each

_NAME = ("first_name", "last_name", "middle_name", "prefix", "suffix")
_ENTRIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # field → required and optional fields of entries
    "phones": (("phone",), ("type", "wa_id")),
    "emails": (("email",), ("type",)),
    "urls": (("url",), ("type",)),
    "addresses": ((), ("street", "city", "state", "zip", "country", "country_code", "type")),
}
_ORG = ("company", "department", "title")


def read_place(given: dict[str, Any], _: MessageReferences) -> dict[str, Any]:
    """Read the content of a location."""
    return {"location": read_location("location", given["location"])}


def read_contacts(given: dict[str, Any], _: MessageReferences) -> dict[str, Any]:
    """Read the content of contact cards."""
    cards = read_list("contacts", given["contacts"], "contacts.count")
    return {"contacts": read_each("contacts", cards, _card)}


def _card(path: str, value: Any) -> dict[str, Any]:
    given = read_object(path, value, ("name", "phones"), ("emails", "urls", "addresses", "org", "birthday"))
    problems = ProblemCollector()
    card: dict[str, Any] = {"name": problems.read(_name, place(path, "name"), given["name"])}
    for field in _ENTRIES:
        if field in given:
            card[field] = problems.read(_entries, place(path, field), given[field], field)
    if "org" in given:
        card["org"] = problems.read(_entry, place(path, "org"), given["org"], optional=_ORG)
    if "birthday" in given:
        card["birthday"] = problems.read(read_text, place(path, "birthday"), given["birthday"], "contacts.birthday")
    problems.check()
    return card


def _name(path: str, value: Any) -> dict[str, str]:
    given = read_object(path, value, ("formatted_name",), _NAME)
    name = read_texts(path, given, dict.fromkeys(given, "contacts.name"))
    # The network requires a second part of the name, although it shows the formatted one.
    return name if len(name) > 1 else name | {"first_name": name["formatted_name"]}


def _entries(path: str, value: Any, field: str) -> list[dict[str, str]]:
    required, optional = _ENTRIES[field]
    rows = read_list(path, value, "contacts.entries")
    return read_each(path, rows, _entry, required=required, optional=optional)


def _entry(path: str, value: Any, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> dict[str, str]:
    given = read_object(path, value, required, optional)
    if not given:
        raise invalid_field(path, "is empty; omit it or set a value")
    problems = ProblemCollector()
    if "url" in given:
        problems.read(read_url, place(path, "url"), given["url"], "contacts.text")
    texts = {name: text for name, text in given.items() if name != "url"}
    problems.read(read_texts, path, texts, dict.fromkeys(texts, "contacts.text"))
    problems.check()
    return given
