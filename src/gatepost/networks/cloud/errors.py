"""The Cloud API's refusals: what each asks for, and our advice about it. The table itself is `errors.toml`.

python -m gatepost.networks.cloud.errors > docs/reference/network-errors.md
"""

import sys
import tomllib
from collections.abc import Iterator
from importlib import resources

import msgspec

from gatepost.networks.base import ErrorReaction, NetworkError


class ErrorEntry(msgspec.Struct, frozen=True):
    """One line of the table."""

    first: int
    last: int
    title: str
    reaction: ErrorReaction
    advice: str
    wait: int | None = None  # seconds: trying again any sooner is in vain
    tries: int | None = None  # how many tries are worth it
    failed: str | None = None  # our advice once nothing more is tried, where that is another one
    files: bool = False  # perhaps a file that the message names is forgotten

    @property
    def codes(self) -> str:
        """The code, or the range of them, as written."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def _load() -> Iterator[ErrorEntry]:
    rows = tomllib.loads(resources.files(__package__).joinpath("errors.toml").read_text("utf-8"))
    for codes, row in rows.items():
        first, _, last = codes.partition("-")
        yield msgspec.convert({"first": int(first), "last": int(last or first)} | row, ErrorEntry)


_ENTRIES = tuple(sorted(_load(), key=lambda entry: (entry.first, entry.last)))
_SINGLE = {entry.first: entry for entry in _ENTRIES if entry.first == entry.last}
_RANGES = [entry for entry in _ENTRIES if entry.first != entry.last]


def table() -> tuple[ErrorEntry, ...]:
    """Every line of the table, by code."""
    return _ENTRIES


def find(code: int) -> ErrorEntry | None:
    """The line of a code; one of its own goes before a range."""
    return _SINGLE.get(code) or next((entry for entry in _RANGES if entry.first <= code <= entry.last), None)


def look_up(code: int, http_status: int | None = None, *, transient: bool = False) -> tuple[ErrorReaction, str | None]:
    """What a refusal asks for, and our advice. What is not in the table follows the HTTP status, and the network's
    own word that it will pass."""
    if entry := find(code):
        return entry.reaction, entry.advice
    return ErrorReaction.RETRY if transient else by_status(http_status), None


def by_status(http_status: int | None) -> ErrorReaction:
    """The safe guess: the network's own troubles pass, ours do not."""
    passing = http_status is not None and (http_status >= 500 or http_status == 429)
    return ErrorReaction.RETRY if passing else ErrorReaction.FINAL


def explained(code: int, title: str, details: str | None, subcode: int | None = None) -> NetworkError:
    """The network's words with our advice. A subcode that the table knows is closer to the matter."""
    entry = (find(subcode) if subcode else None) or find(code)
    advice = (entry.advice, entry.failed) if entry else ()
    return NetworkError(code, title, details, *advice)


# -- the page in the docs ----------------------------------------------------------------------------------------------

_HEAD = """# What the official network may refuse

When the network says no, `error.code` is its own code, `error.title` and `error.details` are its own words, and
`error.advice` is ours. What the gateway does by itself is in the column "reaction":

| reaction | what happens |
|---|---|
| `final` | the message fails; nothing is tried again |
| `retry` | the message is tried again after a back-off |
| `hold_recipient` | the conversation waits and goes on; the others are not affected |
| `hold_channel` | the whole number waits and goes on |
| `hold_new` | no new conversations are opened for a while; answers still go |
| `break` | nothing more leaves the number until it is mended; messages wait in the queue within their `ttl` |

A message that was taken and failed later is not tried again, whatever its code: its advice then says what to do. Where
the code is a `break`, the number rests for 15 minutes; then one message finds out whether things are better.

A code that is not listed is final when the network answers 4xx, and tried again when it answers 5xx or 429, or says
itself that the trouble will pass (`is_transient`).

| code | meaning | reaction | advice |
|---|---|---|---|
"""


def page() -> str:
    """docs/reference/network-errors.md, whole."""
    return _HEAD + "".join(_line(entry) for entry in _ENTRIES)


def _line(entry: ErrorEntry) -> str:
    return f"| {entry.codes} | {entry.title} | `{entry.reaction.value}` | {entry.advice} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
