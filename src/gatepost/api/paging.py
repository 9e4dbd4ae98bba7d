"""Cursors and limits of lists. A cursor is opaque: nobody should build one."""

import base64
import binascii
from typing import Any, TypeVar

import msgspec
from litestar.datastructures import MultiDict

from gatepost.model.errors import BadRequest, invalid_field
from gatepost.model.field_readers import plain

T = TypeVar("T")
MOST = 100
USUAL = 20
CURSOR_MAX = 1024  # characters; the longest of ours holds a name


def check_query(query: MultiDict[Any], *known: str) -> MultiDict[Any]:
    """The parameters of a request, each known and given once: a filter that is misspelt must not mean everything."""
    for name in query:
        if name not in known:
            raise invalid_field(plain(name), f"is not a parameter of this request; there are: {', '.join(known)}")
        if len(query.getall(name)) > 1:
            raise invalid_field(name, "is given twice")
    return query


def read_limit(text: str | None, most: int = MOST, usual: int = USUAL) -> int:
    if text is None:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= most):
        raise invalid_field("limit", f"must be a whole number from 1 to {most}")
    return int(text)


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
