"""The rules of labels: names and colours."""

import re

from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable

NAME_MAX = 64
LABELS_MAX = 200  # per channel, created through the API; a linked phone may have more
# The default colours. A linked phone numbers its colours from 0, in this order and then again from the start.
PALETTE = (
    "#d64545",
    "#e07b39",
    "#d9a514",
    "#8fa832",
    "#3f9b57",
    "#2a9d8f",
    "#2e86c1",
    "#4a5fc1",
    "#7d53b5",
    "#b34a9c",
    "#d1537a",
    "#8a6547",
    "#5f7280",
    "#3d4852",
)
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


def read_name(name: str) -> str:
    """Return a label's name without surrounding spaces."""
    check_storable("name", name)
    trimmed = name.strip()
    if not trimmed:
        raise invalid_field("name", f"is empty; it must have 1 to {NAME_MAX} characters")
    if len(trimmed) > NAME_MAX:
        raise invalid_field("name", f"may have 1 to {NAME_MAX} characters, but has {len(trimmed):,}")
    return trimmed


def read_color(color: str) -> str:
    """Return a colour in lowercase."""
    if not _COLOR.fullmatch(color):
        raise invalid_field("color", "must be # and six hexadecimal digits, e.g. #2a9d8f")
    return color.lower()


def usual_color(number: int) -> str:
    """Return the default colour of the n-th label."""
    return PALETTE[number % len(PALETTE)]


def shown_color(stored: str) -> str:
    """Return a colour for the API. Linked phones store colours as numbers."""
    if stored.startswith("#"):
        return stored
    return usual_color(int(stored) if stored.isascii() and stored.isdigit() else 0)


def numbered(name: str, number: int) -> str:
    """Return the name of another label of the same name: 'VIP (2)'."""
    mark = f" ({number})" if number > 1 else ""
    return name[: NAME_MAX - len(mark)] + mark
