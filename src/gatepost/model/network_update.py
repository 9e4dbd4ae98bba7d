"""Reports of a network on contacts, labels and templates. The store writes them as they are."""

from datetime import datetime
from typing import Literal

import msgspec

from gatepost.model.person import Person


class ContactUpdate(msgspec.Struct, frozen=True):
    """A person's names changed, or two contacts are the same person."""

    person: Person
    at: datetime
    old_phone: str | None = None  # the person's previous number
    opted_out: bool | None = None  # of marketing; None: not reported
    old_user_id: str | None = None  # the previous user id of a person whose number is not known

    @property
    def old_address(self) -> str | None:
        """What the person had before, if it changed."""
        return self.old_phone or self.old_user_id


class LabelUpdate(msgspec.Struct, frozen=True):
    """A label was created, changed or deleted on the network, or assigned to a person or removed."""

    network_id: str
    action: Literal["changed", "deleted", "assigned", "removed"]
    at: datetime
    name: str | None = None
    color: int | None = None
    person: Person | None = None


class TemplateUpdate(msgspec.Struct, frozen=True):
    """A template changed on the network. None: no change; a reason belongs to its status."""

    network_id: str
    name: str
    language: str
    status: str | None = None
    reason: str | None = None
    quality: str | None = None
    category: str | None = None
    changed: bool = False  # its components changed and must be read again
    at: datetime | None = None  # in whole seconds
