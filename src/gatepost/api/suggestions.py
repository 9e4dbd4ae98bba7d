"""What a caller who missed the address probably meant: another spelling of one of our routes."""

import difflib
import re
from collections.abc import Iterable

import msgspec

_LONGEST = 200  # a longer path is no slip of the pen
_NEAR = 0.8
_VERSION = re.compile(r"^(/api)?(/v\d+)?(?=/)")
_VARIABLE = re.compile(r"\{\w+\}")
# Where other APIs have what ours has at `/message/send`.
_SENDING = ("/messages/send", "/message", "/messages", "/send", "/sendtext", "/send-message", "/message/sendtext")


class KnownRoutes(msgspec.Struct, frozen=True):
    """All methods and paths that there are."""

    known: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "KnownRoutes":
        return cls(frozenset(pairs))

    def near(self, method: str, path: str) -> str | None:
        """The route that a request may have meant, as `POST /api/v1/message/send`; None where nothing is near."""
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
    """The pattern with the path's own words where it has variables, so that ids do not count as differences."""
    words, given = pattern.split("/"), path.split("/")
    if len(words) != len(given):
        return pattern
    return "/".join(have if _VARIABLE.fullmatch(word) else word for word, have in zip(words, given, strict=True))
