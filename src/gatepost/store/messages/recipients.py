"""The recipients of messages that name a contact instead of a phone number: found under the lock of their channels.

A contact's address may change until then: its number, or the contact itself when two are merged.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.errors import GatepostError, invalid_field
from gatepost.model.person import is_phone
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.pool import Connection
from gatepost.store.statement import statement

ContactKey = tuple[UUID, UUID]  # channel and contact


class FoundRecipient(msgspec.Struct, frozen=True):
    """A contact, and when the person last wrote."""

    contact: KnownContact
    last_in_at: datetime | None


async def find_recipients(conn: "Connection[Any]", wanted: Collection[ContactKey]) -> dict[ContactKey, FoundRecipient]:
    """Return the contacts with these ids. The caller holds the heads of their channels."""
    ordered = sorted(set(wanted))
    rows = await conn.fetch(
        *statement(
            _FIND,
            channel_ids=[channel_id for channel_id, _ in ordered],
            contact_ids=[contact_id for _, contact_id in ordered],
        )
    )
    return {
        (row["channel_id"], row["id"]): FoundRecipient(
            KnownContact(row["id"], row["phone"], row["name"]), row["last_in_at"]
        )
        for row in rows
    }


# One contact at a time: for a list of unknown length the planner might read the whole channel.
_FIND = """SELECT wanted.channel_id, c.id, c.phone, c.name, v.last_in_at
           FROM unnest(:channel_ids::uuid[], :contact_ids::uuid[]) AS wanted (channel_id, contact_id)
           CROSS JOIN LATERAL (
               SELECT id, phone, COALESCE(given_name, name) AS name FROM contacts
               WHERE channel_id = wanted.channel_id AND id = wanted.contact_id LIMIT 1) c
           LEFT JOIN LATERAL (
               SELECT last_in_at FROM conversations
               WHERE channel_id = wanted.channel_id AND contact_id = wanted.contact_id LIMIT 1) v ON true"""


def recipient_problem(address: str, sendable: str | None) -> GatepostError | None:
    """Return the error of a contact that nothing can be sent to; None if there is none.

    `sendable` is the prefix of the addresses, besides numbers, that messages of the channel can be sent to.
    """
    if not address:
        return invalid_field("contact", "names no contact of this channel")
    if is_phone(address) or (sendable is not None and address.startswith(sendable)):
        return None
    return invalid_field("contact", "is a group, and messages cannot be sent to groups", "unsupported_on_channel")


def check_has_number(address: str) -> None:
    """Reject an authentication template to a person whose number is not known."""
    if not is_phone(address):
        raise invalid_field("contact", "has no known phone number, and authentication templates need one")
