"""Selecting the fields of a node and the page of a list."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from gatepost_sandbox.errors import Refusal, parameter
from gatepost_sandbox.graph.call import Call

PAGE, PAGE_MAX = 25, 1000
_DIGITS = 16


def requested_fields(text: str | None) -> list[str] | None:
    """Return the names in a `fields` parameter, without subfields in brackets or behind a dot."""
    if not text:
        return None
    names, depth, name = [], 0, ""
    for char in f"{text},":
        depth += (char in "{(") - (char in "})")
        if char == "," and depth == 0:
            names.append(name.split(".", maxsplit=1)[0].strip())
            name = ""
        elif depth == 0 and char not in "})":
            name += char
    return [name for name in names if name]


def select(node: dict[str, Any], call: Call, usual: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a node with the requested or the default fields, always with its id."""
    names = requested_fields(call.query.get("fields")) or usual
    return node if names is None else {name: value for name, value in node.items() if name in {*names, "id"}}


def page(call: Call, rows: Sequence[tuple[int, dict[str, Any]]]) -> dict[str, Any] | Refusal:
    """Return one page of numbered rows, in order."""
    try:
        limit = min(max(int(call.query.get("limit") or PAGE), 1), PAGE_MAX)
        after, before = (_number(call.query.get(name)) for name in ("after", "before"))
    except (ValueError, BadBase64):
        return parameter("The limit must be a number and a cursor must be one that was given out.")
    if before is not None:
        earlier = [row for row in rows if row[0] < before]
        chosen = earlier[-limit:]
    else:
        chosen = [row for row in rows if after is None or row[0] > after][:limit]
    return {"data": [node for _, node in chosen], "paging": _paging(call, rows, chosen)} if chosen else {"data": []}


def _paging(
    call: Call, rows: Sequence[tuple[int, dict[str, Any]]], chosen: Sequence[tuple[int, dict[str, Any]]]
) -> dict[str, Any]:
    first, last = _cursor(chosen[0][0]), _cursor(chosen[-1][0])
    paging: dict[str, Any] = {"cursors": {"before": first, "after": last}}
    if rows[-1][0] > chosen[-1][0]:
        paging["next"] = _link(call, "after", last)
    if rows[0][0] < chosen[0][0]:
        paging["previous"] = _link(call, "before", first)
    return paging


def _link(call: Call, name: str, cursor: str) -> str:
    query = {key: value for key, value in call.query.items() if key not in ("after", "before")} | {name: cursor}
    return f"{call.root}/{call.object_id}/{call.path}?{urlencode(query)}"


def _cursor(number: int) -> str:
    return urlsafe_b64encode(f"row {number}".encode()).decode()


def whole_number(text: str) -> int | None:
    """Return the number that a parameter has; None if it is none, or too large."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else None


def _number(cursor: str | None) -> int | None:
    return int(urlsafe_b64decode(cursor.encode()).removeprefix(b"row ")) if cursor else None
