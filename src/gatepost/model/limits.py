"""The one table of limits, `limits.toml`: read once, used by every check, shown in docs/reference/limits.md."""

import re
import tomllib
from importlib import resources
from typing import Any

import msgspec


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one field may hold. No figure means no limit on that side."""

    note: str
    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    unit: str = "characters"
    ours: bool = False  # the network names no such limit

    def fits(self, amount: float) -> bool:
        return (self.min is None or amount >= self.min) and (self.max is None or amount <= self.max)

    def matches(self, text: str) -> bool:
        return self.pattern is None or re.fullmatch(self.pattern, text, re.ASCII) is not None

    def words(self) -> str:
        """The range as a phrase: '1 to 20 characters'."""
        if self.min is None or self.min == self.max:
            return f"at most {self.max:,} {self.unit}"
        return f"at least {self.min:,} {self.unit}" if self.max is None else f"{self.min:,} to {self.max:,} {self.unit}"


class FileLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files one type of message takes."""

    types: tuple[str, ...]
    max: int
    animated: int | None = None


def _load() -> tuple[dict[str, Limit], dict[str, FileLimit]]:
    table: dict[str, Any] = tomllib.loads(resources.files(__package__).joinpath("limits.toml").read_text())
    files = msgspec.convert(table.pop("file"), dict[str, FileLimit])
    groups = msgspec.convert(table, dict[str, dict[str, Limit]])
    return {f"{group}.{name}": limit for group, row in groups.items() for name, limit in row.items()}, files


_LIMITS, FILES = _load()


def limit(name: str) -> Limit:
    """The limit of that name."""
    return _LIMITS[name]


def maximum(name: str) -> int:
    """The upper end of a limit that has one."""
    value = _LIMITS[name].max
    if value is None:
        raise LookupError(f"{name} has no upper end")
    return value


def table() -> dict[str, Limit]:
    """All limits of fields, by name."""
    return dict(_LIMITS)


def docs_page() -> str:
    """The page docs/reference/limits.md, whole."""
    fields = [f"| `{name}` | {_shown(row)} | {row.note}{' *' if row.ours else ''} |" for name, row in _LIMITS.items()]
    files = [f"| `{name}` | {', '.join(row.types)} | {_size(row)} |" for name, row in FILES.items()]
    return "\n".join([_HEAD, *fields, "", _FILES, *files, "", _FOOT, ""])


def format_size(size: int) -> str:
    """A number of bytes as people say it."""
    mega = 1024 * 1024
    return f"{size // mega} MB" if size >= mega and size % mega == 0 else f"{size / 1024:,.0f} KB"


def _size(row: FileLimit) -> str:
    return format_size(row.max) + (f"; animated {format_size(row.animated)}" if row.animated else "")


def _shown(row: Limit) -> str:
    pattern = f"`{row.pattern}`".replace("|", "\\|") if row.pattern else ""
    return ", ".join(filter(None, (row.words() if row.min is not None or row.max is not None else "", pattern)))


_HEAD = """# Limits of fields

This page is made from `src/gatepost/model/limits.toml`, the table that every check reads. What breaks a limit is
refused before it is accepted, with an error that names the field. Lengths count characters (Unicode code points).

| limit | allowed | of what |
|---|---|---|"""
_FILES = """## Files

| type | MIME types | size |
|---|---|---|"""
_FOOT = """MB is 1,048,576 bytes, KB is 1,024. A document on a QR channel may be of any MIME type.

\\* A limit of this gateway; the network does not name one."""
