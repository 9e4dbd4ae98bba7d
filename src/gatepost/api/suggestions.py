"""Suggests a similar route for requests to an unknown path."""

import difflib
import re
from collections.abc import Iterable

import msgspec

_LONGEST = 200  # characters; a longer path is not a typo
_NEAR = 0.8
_VERSION = re.compile(r"^(/api)?(/v\d+)?(?=/)")
_VARIABLE = re.compile(r"\{\w+\}")
# Paths of other APIs for `/message/send`.
_SENDING = ("/messages/send", "/message", "/messages", "/send", "/sendtext", "/send-message", "/message/sendtext")


class KnownRoutes(msgspec.Struct, frozen=True):
    """The methods and paths of all routes."""

    known: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "KnownRoutes":
        return cls(frozenset(pairs))

    def near(self, method: str, path: str) -> str | None:
        """Return the most similar route, such as `POST /api/v1/message/send`; None if none is similar."""
        if len(path) > _LONGEST:
            return None
        bare = _VERSION.sub("", path, 1).rstrip("/").lower() or "/"
        if method == "POST" and bare in _SENDING:
            return "POST /api/v1/message/send"
        paths = {_VERSION.sub("", known, 1): known for verb, known in self.known if verb == method}
        filled = {_fill(pattern, bare): known for pattern, known in paths.items()}
        best = difflib.get_close_matches(bare, list(filled), 1, _NEAR)
        return f"{method} {filled[best[0]]}" if best and filled[best[0]] != path else None


def _fill(pattern: str, path: str) -> str:
    """Replace the variables of a pattern by the parts of the path, so that ids do not count as differences."""
    words, given = pattern.split("/"), path.split("/")
    if len(words) != len(given):
        return pattern
    return "/".join(have if _VARIABLE.fullmatch(word) else word for word, have in zip(words, given, strict=True))
