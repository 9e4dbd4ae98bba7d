"""Values of JSON from the network: each is used only if it has the right type and PostgreSQL can store it.

    bytes ─► cleaned (no NUL, no half surrogate pairs, no broken UTF-8) ─► values
    nested too deep to be read ─► flattened (values nested too deep become null)

Cleaning happens once, on the bytes.
"""

import base64
import binascii
import json
import math
import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

DEEP = 64  # the depth to which values are kept
_ID_MAX = 256
_WHOLE = 2**63
_NESTING = (dict, list)
# From anywhere outside of text on to the next brackets that follow one another.
_BRACKETS = re.compile(rb'(?:[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+")?+)*?(?:([\[{]++)|([\]}]++))', re.S)


def flatten(body: bytes) -> bytes:
    """Return the JSON with null for every list or object below the maximum depth."""
    kept_, start, depth, at = bytearray(), 0, 0, 0
    while mark := _BRACKETS.match(body, at):
        at, opened, closed = mark.end(), mark.end(1) - mark.start(1), mark.end(2) - mark.start(2)
        if depth <= DEEP < depth + opened:
            kept_ += body[start : mark.start(1) + DEEP - depth] + b"null"
        elif depth - closed <= DEEP < depth:
            start = mark.start(2) + depth - DEEP
        depth += opened - closed
    return bytes(kept_ + body[start:]) if depth <= DEEP else bytes(kept_)


def parse(raw: bytes | str) -> Any:
    """Parse JSON. A number out of range is kept as text."""
    return json.loads(raw, parse_float=_float, parse_int=_int)


def parse_exactly(raw: bytes | str) -> Any:
    """Parse JSON with numbers as text, so that prices stay exact."""
    return json.loads(raw, parse_float=str, parse_int=str)


def _float(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _int(text: str) -> int | str:
    if len(text) > 19:
        return text
    value = int(text)
    return value if -_WHOLE <= value < _WHOLE else text


def limit_depth(value: Any, deep: int = DEEP) -> Any:
    """Return a value down to the maximum depth."""
    if isinstance(value, dict):
        return (
            {key: limit_depth(v, deep - 1) if type(v) in _NESTING else v for key, v in value.items()} if deep else None
        )
    if isinstance(value, list):
        return [limit_depth(v, deep - 1) if type(v) in _NESTING else v for v in value] if deep else None
    return value


# -- single values: None where it is not what it should be -------------------------------------------------------------


def as_dict(value: Any) -> dict[str, Any]:
    """Return an object; an empty one if the value is not one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list; an empty one if the value is not one."""
    return value if isinstance(value, list) else []


def as_str(value: Any, most: int = 65_536) -> str | None:
    """Return a string that is not empty, cut to the maximum length."""
    return value[:most] if isinstance(value, str) and value else None


def as_id(value: Any, most: int = _ID_MAX) -> str | None:
    """Return an id of the network, which may be a number. It is never cut: half an id is another id."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and 0 < len(value) <= most else None


def as_phone(value: Any) -> str | None:
    """Digits only."""
    fits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20
    return value if fits else None


def digits(value: Any) -> str:
    """Return the digits of a formatted number."""
    return "".join(c for c in value if c.isascii() and c.isdigit()) if isinstance(value, str) else ""


def as_number(value: Any) -> float | int | None:
    """Return a number, also if it is written as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if fits else None


def as_decimal(value: Any) -> str | None:
    """Return a decimal of limited size as text, without an exponent."""
    try:
        found = Decimal(value) if isinstance(value, str) and len(value) <= 32 else None
    except InvalidOperation:
        return None
    if found is None or not found.is_finite() or not -12 <= found.adjusted() < 15:
        return None
    return value if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value) else format(found, "f")


def hex_digest(value: Any) -> str | None:
    """Return a SHA-256 in hex; some callbacks have it in base64."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    if re.fullmatch("[0-9a-fA-F]{64}", value):
        return value.lower()
    try:
        digest = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest.hex() if len(digest) == 32 else None


# -- what an update cannot do without ----------------------------------------------------------------------------------


def require_id(value: Any) -> str:
    """Return a required id."""
    if not isinstance(value, str) or not 0 < len(value) <= _ID_MAX:
        raise ValueError("an id is missing")
    return value


def as_time(value: Any) -> datetime:
    """Return a time from seconds since 1970, given as text or number."""
    seconds = int(str(value)[:20])
    if not 0 <= seconds < 2**35:
        raise ValueError("not a time")
    return datetime.fromtimestamp(seconds, UTC)


def without_none(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
