"""Cursors of lists. A cursor is opaque: callers must not build one."""

import base64
import binascii
from typing import Any, TypeVar

import msgspec

from gatepost.model.errors import BadRequest

T = TypeVar("T")
CURSOR_MAX = 1024  # characters; the longest cursors contain a name


def show_cursor(value: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


def read_cursor(text: str | None, type_: type[T], source: str = "'paging.next'") -> T | None:
    if text is None:
        return None
    try:
        if len(text) > CURSOR_MAX:
            raise ValueError("too long")
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        return msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=type_)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadRequest(f"This cursor is not one of ours. Take it from {source}.", "invalid_cursor") from None
