"""The limits of fields, from `limits.toml`. docs/reference/limits.md is generated from them."""

import re
import tomllib
from importlib import resources
from typing import Any

import msgspec


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limit of one field; None is unlimited."""

    note: str
    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    unit: str = "characters"
    ours: bool = False  # a limit of the gateway, not of the network

    def fits(self, amount: float) -> bool:
        return (self.min is None or amount >= self.min) and (self.max is None or amount <= self.max)

    def matches(self, text: str) -> bool:
        return self.pattern is None or re.fullmatch(self.pattern, text, re.ASCII) is not None

    def words(self) -> str:
        """Return the range as text: '1 to 20 characters'."""
        if self.min is None or self.min == self.max:
            return f"at most {self.max:,} {self.unit}"
        return f"at least {self.min:,} {self.unit}" if self.max is None else f"{self.min:,} to {self.max:,} {self.unit}"


class FileLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files that one type of message accepts."""

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
    """Return a limit by its name."""
    return _LIMITS[name]


def maximum(name: str) -> int:
    """Return the maximum of a limit that has one."""
    value = _LIMITS[name].max
    if value is None:
        raise LookupError(f"{name} has no upper end")
    return value


def table() -> dict[str, Limit]:
    """Return all limits of fields, by name."""
    return dict(_LIMITS)


def format_size(size: int) -> str:
    """Return a number of bytes as text: '5 MB'."""
    mega = 1024 * 1024
    return f"{size // mega} MB" if size >= mega and size % mega == 0 else f"{size / 1024:,.0f} KB"
