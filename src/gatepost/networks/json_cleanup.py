"""Cleaning JSON from the network: text that PostgreSQL cannot store is replaced, once, in the bytes."""

import re

_HEX = rb"[0-9a-fA-F]{2}"
_PAIR = rb"\\u[dD][89abAB]" + _HEX + rb"\\u[dD][c-fC-F]" + _HEX
_ESCAPE = re.compile(_PAIR + rb"|(?P<bad>\\u0000|\\u[dD][89a-fA-F]" + _HEX + rb")|\\.", re.S)


def clean_json(body: bytes) -> bytes:
    """Return the JSON with invalid text (NUL, lone surrogates, broken UTF-8) replaced by U+FFFD."""
    if not body.isascii():
        body = body.decode("utf-8", "replace").encode()
    if b"\\" in body and (b"\\u0000" in body or b"\\ud" in body or b"\\uD" in body):
        body = _ESCAPE.sub(_replace_escape, body)
    return body


def _replace_escape(found: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if found["bad"] else found[0]
