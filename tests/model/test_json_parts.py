"""Parts of JSON are counted as a decoder would find them, down to a depth."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.json_parts import parts_within

VALUES = st.recursive(
    st.none() | st.integers() | st.text('a[]{},"\\\u00e9', max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('a,[{"\\', max_size=3), inner, max_size=4),
    max_leaves=30,
)


def parts(value: Any, deep: int, depth: int = 0) -> int:
    if not isinstance(value, list | dict) or depth > deep:
        return 0
    inner = value.values() if isinstance(value, dict) else value
    commas = max(0, len(value) - 1) if depth + 1 <= deep else 0
    return 1 + commas + sum(parts(one, deep, depth + 1) for one in inner)


@given(VALUES, st.integers(0, 4), st.booleans())
def test_as_many_as_there_are(value: Any, deep: int, spaced: bool) -> None:
    body = json.dumps(value, ensure_ascii=False, indent=1 if spaced else None).encode()
    count = parts(value, deep)
    assert parts_within(body, count, deep)
    assert count == 0 or not parts_within(body, count - 1, deep)


def test_what_is_no_json_is_left_to_the_decoder() -> None:
    for body in (b'"' + b"," * 100, b"[" * 100 + b'"', b"]" * 100 + b",", b""):
        parts_within(body, 10, 3)
