"""The errors of the Cloud API: how the gateway reacts, and its advice. The table is `errors.toml`."""

import tomllib
from collections.abc import Iterator
from importlib import resources

import msgspec

from gatepost.networks.base import ErrorReaction, NetworkError


class ErrorEntry(msgspec.Struct, frozen=True):
    """One entry of the table."""

    first: int
    last: int
    title: str
    reaction: ErrorReaction
    advice: str
    wait: int | None = None  # seconds before which a retry would fail again
    tries: int | None = None  # the number of attempts, if fewer than the settings allow
    failed: str | None = None  # the advice after the last attempt, if it differs
    files: bool = False  # the network may have lost the message's file
    token: bool = False  # the access token is not valid: only a new one helps

    @property
    def codes(self) -> str:
        """The code, or the range of codes, as text."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def _load() -> Iterator[ErrorEntry]:
    rows = tomllib.loads(resources.files(__package__).joinpath("errors.toml").read_text("utf-8"))
    for codes, row in rows.items():
        first, _, last = codes.partition("-")
        yield msgspec.convert({"first": int(first), "last": int(last or first)} | row, ErrorEntry)


_ENTRIES = tuple(sorted(_load(), key=lambda entry: (entry.first, entry.last)))
_SINGLE = {entry.first: entry for entry in _ENTRIES if entry.first == entry.last}
_RANGES = [entry for entry in _ENTRIES if entry.first != entry.last]


def entries() -> tuple[ErrorEntry, ...]:
    """Return every entry of the table, by code."""
    return _ENTRIES


def find_entry(code: int, subcode: int | None = None) -> ErrorEntry | None:
    """Return the entry of an error. A subcode in the table takes precedence: it is more specific."""
    return (_find(subcode) if subcode else None) or _find(code)


def _find(code: int) -> ErrorEntry | None:
    """Return the entry of a code. A single code takes precedence over a range."""
    return _SINGLE.get(code) or next((entry for entry in _RANGES if entry.first <= code <= entry.last), None)


def reaction_to(
    code: int, http_status: int | None = None, *, transient: bool = False, subcode: int | None = None
) -> tuple[ErrorReaction, str | None]:
    """Return the reaction to an error and the advice. A code that is not in the table is decided by its HTTP status."""
    if entry := find_entry(code, subcode):
        return entry.reaction, entry.advice
    return ErrorReaction.RETRY if transient else by_status(http_status), None


def by_status(http_status: int | None) -> ErrorReaction:
    """Return RETRY for 5xx and 429, and FINAL otherwise."""
    passing = http_status is not None and (http_status >= 500 or http_status == 429)
    return ErrorReaction.RETRY if passing else ErrorReaction.FINAL


def with_advice(code: int, title: str, details: str | None, subcode: int | None = None) -> NetworkError:
    """Return the network's error with our advice."""
    entry = find_entry(code, subcode)
    if entry is None:
        return NetworkError(code, title, details)
    return NetworkError(code, title, details, entry.advice, entry.failed, token_rejected=entry.token)
