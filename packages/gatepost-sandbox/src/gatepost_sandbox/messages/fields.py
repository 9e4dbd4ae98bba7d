"""Checks of fields, shared by all types of messages: each returns the value or refuses the message.

131008  something is missing            100     wrong JSON type, unexpected key
131009  a value is out of range
"""

from collections.abc import Collection
from typing import Any, NoReturn
from urllib.parse import urlsplit

from gatepost_sandbox.errors import Refusal, invalid, missing, parameter
from gatepost_sandbox.messages.limits import LIMITS


class Refused(Exception):
    """Aborts the parsing of a message; the envelope turns it into a response."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.details or refusal.message)
        self.refusal = refusal


def refuse(name: str, why: str) -> NoReturn:
    """Return the refusal of a value."""
    raise Refused(invalid(name, why))


def as_object(value: Any, name: str) -> dict[str, Any]:
    """Return a value that must be a JSON object."""
    if not isinstance(value, dict):
        raise Refused(parameter(f"Param {name} must be a JSON object."))
    return value


def as_list(value: Any, name: str) -> list[Any]:
    """Return a value that must be a non-empty JSON array."""
    if not isinstance(value, list):
        raise Refused(parameter(f"Param {name} must be an array."))
    return value or refuse(name, "must not be empty")


def need(holder: dict[str, Any], name: str, path: str) -> Any:
    """Return a required field."""
    value = holder.get(name)
    if value is None:
        raise Refused(missing(f"{path}.{name}"))
    return value


def need_object(holder: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    """Return a required object."""
    return as_object(need(holder, name, path), f"{path}.{name}")


def need_list(holder: dict[str, Any], name: str, path: str, limit: str | None = None) -> list[Any]:
    """Return a required array of at least one and at most `limit` items."""
    values = as_list(need(holder, name, path), f"{path}.{name}")
    if limit is not None and len(values) > LIMITS[limit]:
        refuse(f"{path}.{name}", f"must have at most {LIMITS[limit]} items")
    return values


def need_text(holder: dict[str, Any], name: str, path: str, limit: str | None = None) -> str:
    """Return a required, non-empty string."""
    need(holder, name, path)
    return may_text(holder, name, path, limit) or refuse(f"{path}.{name}", "must not be empty")


def may_text(holder: dict[str, Any], name: str, path: str, limit: str | None = None) -> str | None:
    """Return an optional string."""
    value = holder.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Refused(parameter(f"Param {path}.{name} must be a string."))
    if limit is not None and len(value) > LIMITS[limit]:
        refuse(f"{path}.{name}", f"must be at most {LIMITS[limit]} characters long")
    return None if value and not value.strip() else value


def may_bool(holder: dict[str, Any], name: str, path: str) -> bool:
    """Return a boolean field; false when absent."""
    value = holder.get(name, False)
    return value if isinstance(value, bool) else refuse(f"{path}.{name}", "must be a boolean")


def need_one_of(holder: dict[str, Any], name: str, path: str, allowed: Collection[str]) -> str:
    """Return a required field with one of the allowed values."""
    value = need(holder, name, path)
    if not isinstance(value, str) or value not in allowed:
        refuse(f"{path}.{name}", f"must be one of {', '.join(sorted(allowed))}")
    return str(value)


def only_keys(holder: dict[str, Any], allowed: Collection[str], path: str) -> None:
    """Refuse unknown fields."""
    for name in holder:
        if name not in allowed:
            raise Refused(parameter(f'Unexpected key "{name}" on param "{path}".'))


def need_url(holder: dict[str, Any], name: str, path: str) -> str:
    """Return a public http or https address."""
    value = need_text(holder, name, path)
    return value if is_web_address(value) else refuse(f"{path}.{name}", "must be an http or https address")


def is_web_address(value: str) -> bool:
    """Return whether a text is an http or https address with a host."""
    try:
        parts = urlsplit(value)
        return parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and " " not in value
    except ValueError:
        return False


def no_repeats(values: list[str], name: str) -> None:
    """Refuse duplicate values."""
    if len(set(values)) != len(values):
        refuse(name, "must be unique")
