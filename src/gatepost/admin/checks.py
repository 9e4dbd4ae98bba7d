"""Checks of names, tokens and URLs, and that a record exists."""

from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from gatepost.model import ids
from gatepost.model.errors import NotFound, invalid_field

Record = TypeVar("Record")

NAME_MAX = 100
URL_MAX = 2048
THINGS = {"acc": "account", "usr": "user", "ch": "channel", "key": "key", "we": "webhook endpoint"}


def check_found(record: Record | None, prefix: str, id_: UUID) -> Record:
    """Return the record with an id, or raise NotFound if there is none."""
    if not record:
        raise NotFound(f"There is no {THINGS[prefix]} {ids.format_id(prefix, id_)}.")
    return record


def read_id(prefix: str, text: str) -> UUID:
    """Parse an id in a path, or raise NotFound."""
    found = ids.parse_id(prefix, text)
    if found is None:
        raise NotFound(f"There is no such {THINGS[prefix]}.")
    return found


def check_name(name: str, field: str = "name") -> str:
    """Check a name: 1 to 100 printable characters, not only spaces."""
    if not 1 <= len(name) <= NAME_MAX:
        raise invalid_field(field, f"must have 1 to {NAME_MAX} characters, but has {len(name)}")
    if not name.strip() or not name.isprintable():
        raise invalid_field(field, "must be printable text on one line, not only spaces")
    return name


def check_token(text: str, field: str, limit: int = 1024) -> str:
    """Check a token: visible ASCII without spaces."""
    if not 1 <= len(text) <= limit:
        raise invalid_field(field, f"must have 1 to {limit} characters, but has {len(text)}")
    if not all("!" <= character <= "~" for character in text):
        raise invalid_field(field, "must be visible ASCII characters without spaces")
    return text


def check_url(url: str, field: str = "url") -> str:
    """Check the form of a URL: http or https, a host, no user name or password. The name is not resolved."""
    if len(url) > URL_MAX:
        raise invalid_field(field, f"may have at most {URL_MAX} characters, but has {len(url)}")
    if not url.isprintable() or any(character.isspace() for character in url):
        raise invalid_field(field, "must not contain spaces or control characters")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise invalid_field(field, "is not a URL; write it like https://example.com/hooks") from None
    if parts.scheme not in ("http", "https"):
        raise invalid_field(field, "must begin with http:// or https://")
    if not host:
        raise invalid_field(field, "has no host; write it like https://example.com/hooks")
    if "@" in parts.netloc:
        raise invalid_field(field, "must not contain a user name or password; use a header instead")
    return url
