"""Reading what a stranger wrote: each value is taken only if it is what it should be, and can be kept by PostgreSQL.

    bytes ─► mended (no NUL, no half surrogate pairs, no broken UTF-8) ─► values
    nested too deep to be read ─► flattened (what lies too deep becomes null)

Mending happens once, on the bytes, so that nothing behind it has to think of it.
"""

import base64
import binascii
import json
import math
import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

DEEP = 64  # how far what is kept may nest
_ID_MOST = 256
_WHOLE = 2**63
_NESTING = (dict, list)
# From anywhere outside of text on to the next brackets that follow one another.
_BRACKETS = re.compile(rb'(?:[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+")?+)*?(?:([\[{]++)|([\]}]++))', re.S)


def flatten(body: bytes) -> bytes:
    """The same JSON, with null for every list or object that lies deeper than anything sensible."""
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
    """Any JSON as plain values. A number too large to be one is kept as the text that it came as."""
    return json.loads(raw, parse_float=_float, parse_int=_int)


def parse_exactly(raw: bytes | str) -> Any:
    """Any JSON, with numbers as the text that they came as: prices stay what they are."""
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
    """A value as it came, as far as it nests sensibly."""
    if isinstance(value, dict):
        return (
            {key: limit_depth(v, deep - 1) if type(v) in _NESTING else v for key, v in value.items()} if deep else None
        )
    if isinstance(value, list):
        return [limit_depth(v, deep - 1) if type(v) in _NESTING else v for v in value] if deep else None
    return value


# -- single values: None where it is not what it should be -------------------------------------------------------------


def as_dict(value: Any) -> dict[str, Any]:
    """An object; an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A list; an empty one where there is none."""
    return value if isinstance(value, list) else []


def as_str(value: Any, most: int = 65_536) -> str | None:
    """Text that says something, cut where it is too long."""
    return value[:most] if isinstance(value, str) and value else None


def as_id(value: Any, most: int = _ID_MOST) -> str | None:
    """An id of the network: text, or a number where it writes one. Never cut, since half an id is another one."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and 0 < len(value) <= most else None


def as_phone(value: Any) -> str | None:
    """Digits only."""
    fits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20
    return value if fits else None


def digits(value: Any) -> str:
    """The digits of a number that was written to be read."""
    return "".join(c for c in value if c.isascii() and c.isdigit()) if isinstance(value, str) else ""


def as_number(value: Any) -> float | int | None:
    """A number, also where it was written as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if fits else None


def as_decimal(value: Any) -> str | None:
    """A decimal of sensible size as the text that it came as; written out where it came with an exponent."""
    try:
        found = Decimal(value) if isinstance(value, str) and len(value) <= 32 else None
    except InvalidOperation:
        return None
    if found is None or not found.is_finite() or not -12 <= found.adjusted() < 15:
        return None
    return value if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value) else format(found, "f")


def hex_digest(value: Any) -> str | None:
    """A SHA-256 in hex, which some callbacks write in base64."""
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
    """An id that must be there."""
    if not isinstance(value, str) or not 0 < len(value) <= _ID_MOST:
        raise ValueError("an id is missing")
    return value


def as_time(value: Any) -> datetime:
    """Seconds since 1970, as text or number."""
    seconds = int(str(value)[:20])
    if not 0 <= seconds < 2**35:
        raise ValueError("not a time")
    return datetime.fromtimestamp(seconds, UTC)


def without_none(**values: Any) -> dict[str, Any]:
    """What is there, without what is not."""
    return {name: value for name, value in values.items() if value is not None}
