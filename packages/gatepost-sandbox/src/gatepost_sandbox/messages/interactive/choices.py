"""Reply buttons, lists and links."""

from typing import Any

from gatepost_sandbox.messages.fields import (
    as_object,
    may_text,
    need_list,
    need_object,
    need_one_of,
    need_text,
    need_url,
    no_repeats,
    refuse,
)
from gatepost_sandbox.messages.limits import LIMITS

_ACTION = "interactive.action"


def check_buttons(action: dict[str, Any]) -> tuple[()]:
    """Check one to three reply buttons."""
    buttons = need_list(action, "buttons", _ACTION, "interactive.buttons")
    ids, titles = [], []
    for index, button in enumerate(buttons):
        path = f"{_ACTION}.buttons[{index}]"
        holder = as_object(button, path)
        need_one_of(holder, "type", path, ("reply",))
        reply = need_object(holder, "reply", path)
        ids.append(need_text(reply, "id", f"{path}.reply", "interactive.button.id"))
        titles.append(need_text(reply, "title", f"{path}.reply", "interactive.button.title"))
    no_repeats(ids, f"{_ACTION}.buttons.reply.id")
    no_repeats(titles, f"{_ACTION}.buttons.reply.title")
    return ()


def check_list(action: dict[str, Any]) -> tuple[()]:
    """Check a list: sections of rows."""
    need_text(action, "button", _ACTION, "interactive.list.button")
    sections = need_list(action, "sections", _ACTION, "interactive.list.sections")
    ids: list[str] = []
    for index, section in enumerate(sections):
        path = f"{_ACTION}.sections[{index}]"
        holder = as_object(section, path)
        title = need_text if len(sections) > 1 else may_text
        title(holder, "title", path, "interactive.list.section.title")
        ids += [_check_row(row, f"{path}.rows[{place}]") for place, row in enumerate(need_list(holder, "rows", path))]
    if len(ids) > LIMITS["interactive.list.rows"]:
        refuse(f"{_ACTION}.sections", f"must have at most {LIMITS['interactive.list.rows']} rows in all")
    no_repeats(ids, f"{_ACTION}.sections.rows.id")
    return ()


def _check_row(row: Any, path: str) -> str:
    holder = as_object(row, path)
    need_text(holder, "title", path, "interactive.list.row.title")
    may_text(holder, "description", path, "interactive.list.row.description")
    return need_text(holder, "id", path, "interactive.list.row.id")


def check_cta_url(action: dict[str, Any]) -> tuple[()]:
    """Check one button that opens an address."""
    check_link_button(action, _ACTION, "interactive.cta_url.display_text")
    return ()


def check_link_button(action: dict[str, Any], path: str, limit: str) -> None:
    """Check a button that opens a URL."""
    need_one_of(action, "name", path, ("cta_url",))
    parameters = need_object(action, "parameters", path)
    need_text(parameters, "display_text", f"{path}.parameters", limit)
    need_url(parameters, "url", f"{path}.parameters")
