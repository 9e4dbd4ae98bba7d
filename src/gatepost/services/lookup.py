"""Ids in requests, and the error if there is nothing with that id."""

from typing import TypeVar
from uuid import UUID

from gatepost.model import ids
from gatepost.model.errors import NotFound

T = TypeVar("T")
_NAMES = {
    "": "message on this channel",
    "ct": "contact on this channel",
    "cv": "conversation on this channel",
    "lb": "label on this channel",
    "nt": "note in this conversation",
    "drf": "draft on this channel",
    "med": "file on this channel",
    "ord": "order on this channel",
    "rec": "recovery of this webhook",
    "tpl": "template on this channel",
}
_MORE = {"tpl": " POST /api/v1/templates/sync reads them again."}


def missing(prefix: str) -> NotFound:
    """Return the error of a request for something that does not exist."""
    return NotFound(f"There is no such {_NAMES[prefix]}.{_MORE.get(prefix, '')}")


def read_id(prefix: str, text: str) -> UUID:
    """Parse an id, or raise NotFound."""
    found = ids.parse_id(prefix, text)
    if found is None:
        raise missing(prefix)
    return found


def existing(prefix: str, found: T | None) -> T:
    """Return what was found, or raise NotFound."""
    if found is None:
        raise missing(prefix)
    return found
