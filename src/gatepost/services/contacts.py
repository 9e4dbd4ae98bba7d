"""Contacts: read, create, change, delete and merge them, and check whether numbers are on the network."""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.contact import CHECK_MAX, check_custom, read_name
from gatepost.model.errors import Invalid, invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.phone import check_phone
from gatepost.model.problem_collector import ProblemCollector
from gatepost.services.lookup import existing, missing, read_id
from gatepost.services.network_errors import network_call
from gatepost.services.read_receipts import Speak, connected
from gatepost.store.channels import ChannelConfig
from gatepost.store.contacts import changes as store
from gatepost.store.contacts.changes import ContactFields, ImportLine
from gatepost.store.contacts.read import ContactRow, find_people, get_contact
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.labels import CONTACT, LabelRow, read_labels_by_contact
from gatepost.store.pool import Database


class NewContact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new contact."""

    phone: str
    name: str | None = None
    custom: dict[str, str | None] = {}
    opted_out: bool = False


class ContactChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values to change; omitted fields keep their values. A null removes the name or a custom field."""

    name: str | msgspec.UnsetType | None = msgspec.UNSET
    custom: dict[str, str | None] = {}
    opted_out: bool | msgspec.UnsetType = msgspec.UNSET


class MergeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"other": "with"}):
    """The contact to merge."""

    other: str


class CheckRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The phone numbers to check."""

    phones: list[str]


class ContactService(msgspec.Struct, frozen=True):
    """The contacts of one channel."""

    db: Database
    channel: ChannelRef
    channel_id: UUID
    now: datetime

    async def labels(self, rows: list[ContactRow]) -> dict[UUID, list[LabelRow]]:
        """Return the labels of each of these contacts."""
        wanted = [row.id for row in rows]
        return await read_labels_by_contact(self.db, self.channel_id, wanted, CONTACT) if rows else {}

    async def access(self, text: str) -> ContactRow:
        """Return the contact of the channel with that id."""
        return existing("ct", await get_contact(self.db, self.channel_id, read_id("ct", text)))

    async def at(self, phone: str) -> ContactRow | None:
        """Return the contact with a phone number."""
        async with self.db.connection() as conn:
            return (await find_people(conn, self.channel_id, [phone])).get(phone)

    async def create(self, new: NewContact, once: IdempotentRequest[ContactRow] = NEVER) -> ContactRow:
        """Create a contact."""
        problems = ProblemCollector()
        phone = problems.read(check_phone, new.phone)
        fields = problems.read(_fields, new.name or msgspec.UNSET, new.custom, new.opted_out)
        problems.check()
        assert phone
        assert fields
        return await store.add_contact(
            self.db, self.channel, self.channel_id, ImportLine(phone, fields), self.now, once
        )

    async def change(self, text: str, change: ContactChange) -> ContactRow:
        """Change a contact's name, custom fields or opt-out."""
        if change == ContactChange():
            raise invalid_field("body", "names nothing to change; give name, custom or opted_out")
        fields = _fields(change.name, change.custom, None if change.opted_out is msgspec.UNSET else change.opted_out)
        contact_id = read_id("ct", text)
        changed = await store.change_contact(self.db, self.channel, self.channel_id, contact_id, fields, self.now)
        return existing("ct", changed)

    async def delete(self, text: str) -> None:
        """Delete a contact; its messages stay."""
        if not await store.delete_contact(self.db, self.channel, self.channel_id, read_id("ct", text), self.now):
            raise missing("ct")

    async def merge(self, text: str, other: str) -> ContactRow:
        """Merge the second contact into the first."""
        stays, goes = read_id("ct", text), ids.parse_id("ct", other)
        if stays == goes:
            raise invalid_field("with", "is the very same contact")
        merged = await store.merge_contacts(self.db, self.channel, self.channel_id, stays, goes or ids.ZERO, self.now)
        return existing("ct", merged)


class CheckedNumber(msgspec.Struct, frozen=True):
    """Whether a number is on the network, and the contact that has it."""

    phone: str
    exists: bool
    contact_id: UUID | None


async def check_numbers(db: Database, speak: Speak, channel: ChannelConfig, phones: list[str]) -> list[CheckedNumber]:
    """Return for each number, in the given order, whether it is on the network."""
    if not 1 <= len(phones) <= CHECK_MAX:
        raise invalid_field("phones", f"may have 1 to {CHECK_MAX} numbers, but has {len(phones):,}")
    for i, phone in enumerate(phones):
        check_phone(phone, f"phones[{i}]")
    check = (await connected(speak, channel)).number_check
    if check is None:
        raise Invalid("The network of this channel cannot check numbers: send a message.", "unsupported_on_channel")
    with network_call():
        known = {person.phone: person for person in await check.check(list(dict.fromkeys(phones)))}
    async with db.connection() as conn:
        contacts = await find_people(conn, channel.id, phones)
    return [CheckedNumber(phone, phone in known, contacts[phone].id if phone in contacts else None) for phone in phones]


def _fields(
    name: str | msgspec.UnsetType | None, custom: dict[str, str | None], opted_out: bool | None
) -> ContactFields:
    problems = ProblemCollector()
    problems.read(check_custom, custom)
    read = problems.read(read_name, name) if isinstance(name, str) else name
    problems.check()
    return ContactFields(read, custom, opted_out)
