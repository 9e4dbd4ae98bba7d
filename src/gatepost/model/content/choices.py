"""Messages that ask the person to choose: reply buttons, a list, a link's button."""

from typing import Any

from gatepost.model.content.found import Found
from gatepost.model.content.parts import HEADER_FILES, read_header, read_words
from gatepost.model.errors import invalid_field
from gatepost.model.limits import limit
from gatepost.model.reading import check_unlike, place, read_list, read_object, read_text, read_url

_ROW = {"id": "list.row_id", "title": "list.row_title", "description": "list.row_description"}
_AROUND = {"body": "interactive.body", "footer": "interactive.footer"}


def read_buttons(given: dict[str, Any], found: Found) -> dict[str, Any]:
    """Up to three buttons below a text."""
    buttons = read_list("buttons", given["buttons"], "buttons.count")
    read = [_button(f"buttons[{i}]", button) for i, button in enumerate(buttons)]
    for name in ("id", "title"):
        check_unlike([(f"buttons[{i}].{name}", button[name]) for i, button in enumerate(read)], name)
    return read_words(given, _AROUND) | {"buttons": read} | _header(given, found, HEADER_FILES)


def read_choice_list(given: dict[str, Any], found: Found) -> dict[str, Any]:
    """A list that opens at the press of a button."""
    words = read_words(given, {"body": "list.body", "button": "list.button", "footer": "interactive.footer"})
    sections = read_list("sections", given["sections"], "list.sections")
    read = [_section(f"sections[{i}]", section, several=len(sections) > 1) for i, section in enumerate(sections)]
    rows = [
        (f"sections[{i}].rows[{j}]", row) for i, section in enumerate(read) for j, row in enumerate(section["rows"])
    ]
    if not limit("list.rows").fits(len(rows)):
        allowed = limit("list.rows").words()
        raise invalid_field("sections", f"may have {allowed} in all sections together, but has {len(rows)}")
    check_unlike([(f"{path}.id", row["id"]) for path, row in rows], "row id")
    for i, section in enumerate(read):
        check_unlike([(f"sections[{i}].rows[{j}].title", row["title"]) for j, row in enumerate(section["rows"])], "row")
    return words | {"sections": read} | _header(given, found)


def read_link_button(given: dict[str, Any], found: Found) -> dict[str, Any]:
    """A button that opens a page."""
    cta = read_object("cta", given["cta"], ("text", "url"))
    button = {
        "text": read_text("cta.text", cta["text"], "cta_url.text"),
        "url": read_url("cta.url", cta["url"], "cta_url.url"),
    }
    return read_words(given, _AROUND) | {"cta": button} | _header(given, found, HEADER_FILES)


def _header(given: dict[str, Any], found: Found, files: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"header": read_header(given["header"], found, ("text", *files))} if "header" in given else {}


def _button(path: str, value: Any) -> dict[str, str]:
    given = read_object(path, value, ("id", "title"))
    return {name: read_text(place(path, name), given[name], f"buttons.{name}") for name in ("id", "title")}


def _section(path: str, value: Any, *, several: bool) -> dict[str, Any]:
    given = read_object(path, value, ("title", "rows") if several else ("rows",), ("title",))
    section: dict[str, Any] = {}
    if "title" in given:
        section["title"] = read_text(place(path, "title"), given["title"], "list.section_title")
    rows = read_list(place(path, "rows"), given["rows"], "list.rows")
    section["rows"] = [_row(f"{path}.rows[{i}]", row) for i, row in enumerate(rows)]
    return section


def _row(path: str, value: Any) -> dict[str, str]:
    given = read_object(path, value, ("id", "title"), ("description",))
    return {name: read_text(place(path, name), given[name], row) for name, row in _ROW.items() if name in given}
