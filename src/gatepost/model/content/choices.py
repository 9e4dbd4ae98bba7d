"""The content of interactive messages: reply buttons, a list, a link button."""

from typing import Any

from gatepost.model.content.parts import HEADER_FILES, read_header, read_parts, read_words
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, place, read_list, read_object, read_text, read_texts, read_url
from gatepost.model.limits import limit
from gatepost.model.problem_collector import ProblemCollector, read_each

_ROW = {"id": "list.row_id", "title": "list.row_title", "description": "list.row_description"}
_AROUND = {"body": "interactive.body", "footer": "interactive.footer"}


def read_buttons(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read the content of a text with up to three buttons."""
    return read_parts((read_words, given, _AROUND), (_buttons, given["buttons"]), (_header, given, found, HEADER_FILES))


def read_choice_list(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read the content of a list that a button opens."""
    words = {"body": "list.body", "button": "list.button", "footer": "interactive.footer"}
    return read_parts((read_words, given, words), (_sections, given["sections"]), (_header, given, found))


def _buttons(value: Any) -> dict[str, Any]:
    read = read_each("buttons", read_list("buttons", value, "buttons.count"), _button)
    for name in ("id", "title"):
        check_unlike([(f"buttons[{i}].{name}", button[name]) for i, button in enumerate(read)], name)
    return {"buttons": read}


def _sections(value: Any) -> dict[str, Any]:
    sections = read_list("sections", value, "list.sections")
    read = read_each("sections", sections, _section, several=len(sections) > 1)
    rows = [
        (f"sections[{i}].rows[{j}]", row) for i, section in enumerate(read) for j, row in enumerate(section["rows"])
    ]
    if not limit("list.rows").fits(len(rows)):
        allowed = limit("list.rows").words()
        raise invalid_field("sections", f"may have {allowed} in all sections in total, but has {len(rows)}")
    check_unlike([(f"{path}.id", row["id"]) for path, row in rows], "row id")
    for i, section in enumerate(read):
        check_unlike([(f"sections[{i}].rows[{j}].title", row["title"]) for j, row in enumerate(section["rows"])], "row")
    return {"sections": read}


def read_link_button(given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Read the content of a button that opens a page."""
    return read_parts((read_words, given, _AROUND), (_cta, given["cta"]), (_header, given, found, HEADER_FILES))


def _cta(value: Any) -> dict[str, Any]:
    given = read_object("cta", value, ("text", "url"))
    problems = ProblemCollector()
    text = problems.read(read_text, "cta.text", given["text"], "cta_url.text")
    url = problems.read(read_url, "cta.url", given["url"], "cta_url.url")
    problems.check()
    return {"cta": {"text": text, "url": url}}


def _header(given: dict[str, Any], found: MessageReferences, files: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"header": read_header(given["header"], found, ("text", *files))} if "header" in given else {}


def _button(path: str, value: Any) -> dict[str, str]:
    given = read_object(path, value, ("id", "title"))
    return read_texts(path, given, {name: f"buttons.{name}" for name in ("id", "title")})


def _section(path: str, value: Any, *, several: bool) -> dict[str, Any]:
    given = read_object(path, value, ("title", "rows") if several else ("rows",), ("title",))
    return read_parts((read_texts, path, given, {"title": "list.section_title"}), (_rows, path, given["rows"]))


def _rows(path: str, value: Any) -> dict[str, Any]:
    rows = place(path, "rows")
    return {"rows": read_each(rows, read_list(rows, value, "list.rows"), _row)}


def _row(path: str, value: Any) -> dict[str, str]:
    given = read_object(path, value, ("id", "title"), ("description",))
    return read_texts(path, given, _ROW)
