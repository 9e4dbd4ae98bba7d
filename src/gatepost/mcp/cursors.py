"""Cursors of the tools' lists. A cursor is opaque, and valid for the tool that returned it."""

import base64
import binascii
from typing import Any, TypeVar

import msgspec

from gatepost.model.errors import BadRequest

T = TypeVar("T")
CURSOR_MAX = 1024  # characters


def show_cursor(tool: str, value: Any) -> str:
    """Return the cursor for the next page of a tool."""
    return base64.urlsafe_b64encode(msgspec.json.encode((tool, value))).decode().rstrip("=")


def read_cursor(tool: str, text: str | None, type_: type[T]) -> T | None:
    """Return the position of a cursor, if this tool returned it."""
    if text is None:
        return None
    try:
        if len(text) > CURSOR_MAX:
            raise ValueError("too long")
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        of, value = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=tuple[str, Any])
        if of != tool:
            raise ValueError("of another tool")
        position = msgspec.convert(value, type_)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        message = f"This cursor is not one of {tool}. Use the `next` of its last answer, or none."
        raise BadRequest(message, "invalid_cursor") from None
    return position
