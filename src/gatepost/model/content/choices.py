"""Interactive messages: reply buttons, a list, a link button."""

from typing import Annotated, Any

from gatepost.model.content.fields import MessageType, Part, items, text
from gatepost.model.content.parts import Body, Fallback, Footer, Header, TextHeader
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_unlike, read_url
from gatepost.model.limits import limit

ListBody = Annotated[str, text("list.body")]
ListButton = Annotated[str, text("list.button")]


class ReplyButton(Part, frozen=True):
    """A button that sends a reply."""

    id: Annotated[str, text("buttons.id")]
    title: Annotated[str, text("buttons.title")]


class ListRow(Part, frozen=True):
    """A row of a list."""

    id: Annotated[str, text("list.row_id")]
    title: Annotated[str, text("list.row_title")]
    description: Annotated[str, text("list.row_description")] | None = None


class ListSection(Part, frozen=True):
    """A section of a list."""

    rows: Annotated[list[ListRow], items("list.rows")]
    title: Annotated[str, text("list.section_title")] | None = None


class LinkButton(Part, frozen=True):
    """A button that opens a page."""

    text: Annotated[str, text("cta_url.text")]
    url: Annotated[str, text("cta_url.url", read=read_url)]


def _check_buttons(path: str, buttons: list[Any]) -> None:
    for name in ("id", "title"):
        check_unlike([(f"{path}[{i}].{name}", button[name]) for i, button in enumerate(buttons)], name)


def _check_sections(path: str, sections: list[Any]) -> None:
    for i, section in enumerate(sections):
        if len(sections) > 1 and "title" not in section:
            raise invalid_field(f"{path}[{i}].title", "is required")
    rows = [
        (f"{path}[{i}].rows[{j}]", row) for i, section in enumerate(sections) for j, row in enumerate(section["rows"])
    ]
    if not limit("list.rows").fits(len(rows)):
        allowed = limit("list.rows").words()
        raise invalid_field(path, f"may have {allowed} in all sections in total, but has {len(rows)}")
    check_unlike([(f"{where}.id", row["id"]) for where, row in rows], "row id")
    for i, section in enumerate(sections):
        check_unlike([(f"{path}[{i}].rows[{j}].title", row["title"]) for j, row in enumerate(section["rows"])], "row")


Buttons = Annotated[list[ReplyButton], items("buttons.count", _check_buttons)]
ListSections = Annotated[list[ListSection], items("list.sections", _check_sections)]

TYPES = {
    "buttons": MessageType(
        "Up to three buttons",
        required={"body": Body, "buttons": Buttons},
        optional={"header": Header, "footer": Footer, "fallback": Fallback},
        example={
            "body": "Shall we deliver it, or will you pick it up?",
            "buttons": [{"id": "deliver", "title": "Deliver it"}, {"id": "pick_up", "title": "I will pick it up"}],
            "footer": "Open until six",
            "fallback": "text",
        },
    ),
    "list": MessageType(
        "A list to choose from",
        required={"body": ListBody, "button": ListButton, "sections": ListSections},
        optional={"header": TextHeader, "footer": Footer, "fallback": Fallback},
        example={
            "body": "When should we come?",
            "button": "Choose a time",
            "sections": [
                {
                    "title": "Tomorrow",
                    "rows": [
                        {"id": "am", "title": "Morning", "description": "8 to 12"},
                        {"id": "pm", "title": "Afternoon", "description": "14 to 18"},
                    ],
                }
            ],
            "fallback": "text",
        },
    ),
    "cta_url": MessageType(
        "A button that opens a page",
        required={"body": Body, "cta": LinkButton},
        optional={"header": Header, "footer": Footer, "fallback": Fallback},
        example={
            "body": "Your parcel is on its way.",
            "cta": {"text": "Track it", "url": "https://shop.example.com/parcels/1001"},
            "fallback": "text",
        },
    ),
}
