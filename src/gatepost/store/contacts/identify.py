"""Who a message is from: one contact per person, whatever address the network uses for them.

addresses of a person ─► contacts by number, aliases ─► none: a new contact
                                                      one: this one; new names and addresses are saved, and a new
                                                           number in the place of the old one, which others may get
                                                      more: they are one person and are merged
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event.contacts import ContactUpdated, contact_fields
from gatepost.model.message import LONGEST_WAIT
from gatepost.model.number_forms import forms_of
from gatepost.model.person import USER, Identity, Person, addresses, identities, is_phone, split_by_number
from gatepost.store.channel_head import ChannelTransaction, renew_reads
from gatepost.store.contacts.rows import (
    KnownContact,
    MissingContacts,
    add_missing,
    find_contacts,
    merge_contact_rows,
    save_preference_times,
)
from gatepost.store.conversations.changes import emit_created

_SAME_OWNER = timedelta(days=1)  # a number is not assigned again so soon


class ChangedContact(msgspec.Struct, frozen=True):
    """A contact before and after a batch."""

    before: KnownContact
    contact: KnownContact
    joined: tuple[UUID, ...] = ()  # contacts of the same person
    opted_out: bool | None = None  # if that changed

    @property
    def changes(self) -> list[str]:
        """The fields that differ after the batch. One that was changed back is none of them."""
        fields = {
            "history": bool(self.joined),
            "phone": self.contact.phone != self.before.phone,
            "name": self.contact.display_name != self.before.display_name,
            "username": self.contact.username != self.before.username,
            "opted_out": self.opted_out is not None,
        }
        return [field for field, differs in fields.items() if differs]


class ContactResolver:
    """The contacts of one batch by all their addresses."""

    def __init__(self, transaction: ChannelTransaction, *, whole: bool = False) -> None:
        self._whole = whole  # merge contacts however many messages they have
        self._conn = transaction.conn
        self._channel_id = transaction.channel_id
        self._now = transaction.now
        self._event_buffer = transaction.event_buffer
        self._by_address: dict[str, KnownContact] = {}
        self._released: dict[str, str] = {}  # numbers that contacts had before, and their new ones
        self._renewed: dict[UUID, ChangedContact] = {}
        self._new: list[KnownContact] = []  # inserted, with no event yet
        self._made: set[UUID] = set()  # they have no event yet, so that nothing about them is a change

    async def resolve(self, reported: Sequence[tuple[datetime, Person]]) -> None:
        """Ensure that each person has exactly one contact. Of several numbers, a person has the one reported last."""
        in_order = sorted(reported, key=itemgetter(0))
        times = {person.phone: at for at, person in in_order if person.phone}
        for part in split_by_number(person for _, person in in_order):
            await self._meet(identities(part), times)

    async def same(self, *forms: tuple[str, str]) -> None:
        """Treat two forms of a number as one person, under the first, which the network uses."""
        await self._meet([Identity(both) for both in forms], {})

    def of(self, person: Person) -> KnownContact:
        """Return the contact of a person of the batch."""
        for address in sorted(addresses(person), key=is_phone):  # numbers last: they may belong to others by now
            if contact := self._by_address.get(address):
                return contact
        return self._by_address[self._released[addresses(person)[0]]]

    def emit_changes(self) -> None:
        """Emit the events of new and changed contacts, each once."""
        now_known = {contact.id: contact for contact in self._by_address.values()}
        emit_created([now_known[c.id] for c in self._new if c.id in now_known], self._event_buffer, self._now)
        self._new = []
        for renewed in self._renewed.values():
            if renewed.changes:
                self._event_buffer.add(_updated(renewed), renewed.contact.id)
        self._renewed, self._made = {}, set()

    async def renumber(self, old_phone: str, person: Person, at: datetime) -> None:
        """Move a contact to the person's new number; nothing stays under the old one.

        An old report may be repeated when the number has another owner, who is left alone.
        """
        await self._look_up({old_phone})
        contact = self._by_address.get(old_phone)
        if contact is None or person.phone in (None, old_phone, contact.phone):
            return
        if ids.time_of(contact.id) > at + _SAME_OWNER:
            return
        await self._move(contact, person.phone or "")
        await self._release_number(old_phone, person.phone or "")

    async def change_user_id(self, old: str, new: str) -> None:
        """Move a contact without a known number to the person's new user id; messages are sent to it from now on."""
        await self._look_up({USER + old})
        contact = self._by_address.get(USER + old)
        if contact is not None and contact.phone == USER + old:
            await self._move(contact, USER + new)
            await self._readdress_queued([USER + old], USER + new)

    async def opt_out(self, person: Person, at: datetime, *, out: bool) -> None:
        """Save that a person opted out of marketing, or in again, unless that was changed after `at`."""
        contact = self.of(person)
        if not await save_preference_times(self._conn, self._channel_id, [contact.id], at):
            return
        changed = await self._conn.fetchval(
            """UPDATE contacts SET opted_out = CASE WHEN $3 THEN $4::timestamptz END, updated_at = $4
               WHERE channel_id = $1 AND id = $2 AND (opted_out IS NOT NULL) <> $3 RETURNING 1""",
            self._channel_id,
            contact.id,
            out,
            self._now,
        )
        if changed:
            self._note(contact, contact, opted_out=out)

    # -- who they are --------------------------------------------------------------------------------------------------

    async def _meet(self, met: Sequence[Identity], times: Mapping[str, datetime]) -> None:
        """Meet people; `times` says when their numbers were reported."""
        await self._look_up({address for identity in met for address in identity.addresses})
        met = [await self._without_former_number(identity, times) for identity in met]
        await self._add([identity for identity in met if not self._known(identity)])
        for identity in sorted(met, key=self._knows_number):  # first those who may have left a number to others
            await self._learn(identity)

    async def _without_former_number(self, identity: Identity, times: Mapping[str, datetime]) -> Identity:
        """Leave out a number that was reported late: since then, the person has written from another one."""
        numbers = [address for address in identity.addresses if is_phone(address)]
        others = [address for address in identity.addresses if not is_phone(address)]
        contact = next((found for address in others if (found := self._by_address.get(address))), None)
        if not numbers or contact is None or not is_phone(contact.phone):
            return identity
        if any((found := self._by_address.get(number)) and found.id == contact.id for number in numbers):
            return identity
        written: datetime | None = await self._conn.fetchval(
            "SELECT last_in_at FROM conversations WHERE channel_id = $1 AND contact_id = $2",
            self._channel_id,
            contact.id,
        )
        late = written is not None and max(times[number] for number in numbers if number in times) < written
        return msgspec.structs.replace(identity, addresses=tuple(others)) if late else identity

    async def _look_up(self, wanted: set[str]) -> None:
        unseen = wanted - self._by_address.keys()
        if unseen:
            self._by_address.update(await find_contacts(self._conn, self._channel_id, unseen))

    def _known(self, identity: Identity) -> list[KnownContact]:
        found = {c.id: c for address in identity.addresses if (c := self._by_address.get(address))}
        return list(found.values())

    def _knows_number(self, identity: Identity) -> bool:
        """Whether one of the person's numbers belongs to a contact."""
        return any(is_phone(address) and address in self._by_address for address in identity.addresses)

    async def _add(self, strangers: Sequence[Identity]) -> None:
        """Insert contacts, each under its number, else under the first of its addresses."""
        firsts = {identity.phone or identity.addresses[0]: identity.name for identity in strangers}
        names = {address: name for address, name in firsts.items() if name}
        missing = MissingContacts(self._by_address, list(firsts), names)
        made = await add_missing(self._conn, {self._channel_id: missing}, self._now)
        self._new += made[self._channel_id]
        self._made |= {self._by_address[address].id for address in firsts}

    async def _learn(self, identity: Identity) -> None:
        """Merge, rename and add addresses, where the batch shows more than the contact has."""
        known = self._known(identity)
        if not known:  # until now, their number belonged to another person of the batch
            await self._add([identity])
            known = self._known(identity)
        contact = await self._merge(identity, known) if len(known) > 1 else known[0]
        if identity.phone and not is_phone(contact.phone):
            contact = await self._set_phone(contact, identity.phone)
        elif identity.phone and not self._knows_number(identity):
            old, contact = contact.phone, await self._set_phone(contact, identity.phone)
            await self._release_number(old, contact.phone)
        await self._add_aliases(contact, [a for a in identity.addresses if a not in self._by_address])
        await self._rename(contact, identity)

    # -- what changes --------------------------------------------------------------------------------------------------

    async def _merge(self, identity: Identity, known: Sequence[KnownContact]) -> KnownContact:
        """Merge contacts. The one that has one of these addresses stays, a number first; else the oldest."""

        def rank(contact: KnownContact) -> tuple[bool, bool, int, UUID]:
            named = contact.phone in identity.addresses
            place = identity.addresses.index(contact.phone) if named else 0
            return not is_phone(contact.phone), not named, place, contact.id

        stays, *goes = sorted(known, key=rank)
        mine = identity.addresses
        for contact in goes:
            stays = await self._take_in(stays, contact)
            if stays.phone in mine and contact.phone not in mine and is_phone(contact.phone):
                await self._release_number(contact.phone, stays.phone)
        return stays

    async def _take_in(self, stays: KnownContact, goes: KnownContact) -> KnownContact:
        await merge_contact_rows(self._conn, self._channel_id, stays.id, goes.id, goes.phone, whole=self._whole)
        names = {field: getattr(stays, field) or getattr(goes, field) for field in ("name", "username", "given_name")}
        whole = msgspec.structs.replace(stays, **names)
        for address, contact in self._by_address.items():
            if contact.id in (stays.id, goes.id):
                self._by_address[address] = whole
        self._by_address[goes.phone] = whole
        before = self._renewed.pop(goes.id, None)
        self._note(stays, whole, joined=(goes.id, *(before.joined if before else ())))
        return whole

    async def _move(self, contact: KnownContact, phone: str) -> None:
        """Change a contact's number; a contact that has it already is the same person."""
        await self._look_up({phone})
        other = self._by_address.get(phone)
        if other is None:
            await self._set_phone(contact, phone)
        elif other.id != contact.id:
            await self._take_in(other, contact)

    async def _release_number(self, phone: str, new_phone: str) -> None:
        """Forget a number that is not the one of its contact any more: others may get it."""
        forms = forms_of(phone)
        await self._conn.execute(
            "DELETE FROM contact_aliases WHERE channel_id = $1 AND alias = ANY ($2)", self._channel_id, list(forms)
        )
        for form in forms:
            self._by_address.pop(form, None)
            self._released[form] = new_phone
        await self._readdress_queued(forms, new_phone)

    async def _readdress_queued(self, old: Sequence[str], new: str) -> None:
        """Send what waits for a person to the new address: the old one may be somebody else's soon."""
        await self._conn.execute(
            """UPDATE messages SET phone = $4 WHERE channel_id = $1 AND contact_id = $2 AND phone = ANY ($3) AND id > $5
               AND NOT incoming AND state = 0""",
            self._channel_id,
            self._by_address[new].id,
            list(old),
            new,
            ids.floor_id(self._now - LONGEST_WAIT),
        )
        await renew_reads(self._conn, self._channel_id)

    async def _set_phone(self, contact: KnownContact, phone: str) -> KnownContact:
        await self._conn.execute(
            "UPDATE contacts SET phone = $3, updated_at = $4 WHERE channel_id = $1 AND id = $2",
            self._channel_id,
            contact.id,
            phone,
            self._now,
        )
        changed = msgspec.structs.replace(contact, phone=phone)
        if not is_phone(contact.phone):
            await self._add_aliases(changed, [contact.phone])
        self._by_address[phone] = changed
        self._replace(changed)
        self._note(contact, changed)
        return changed

    async def _add_aliases(self, contact: KnownContact, aliases: Iterable[str]) -> None:
        new = sorted(aliases)
        if not new:
            return
        await self._conn.executemany(
            """INSERT INTO contact_aliases (channel_id, alias, contact_id) VALUES ($1, $2, $3)
               ON CONFLICT (channel_id, alias) DO UPDATE SET contact_id = excluded.contact_id""",
            [(self._channel_id, alias, contact.id) for alias in new],
        )
        await renew_reads(self._conn, self._channel_id)
        self._by_address.update((alias, contact) for alias in new)

    async def _rename(self, contact: KnownContact, identity: Identity) -> None:
        name, username = identity.name or contact.name, identity.username or contact.username
        if (name, username) == (contact.name, contact.username):
            return
        await self._conn.execute(
            "UPDATE contacts SET name = $3, username = $4, updated_at = $5 WHERE channel_id = $1 AND id = $2",
            self._channel_id,
            contact.id,
            name,
            username,
            self._now,
        )
        changed = msgspec.structs.replace(contact, name=name, username=username)
        self._replace(changed)
        self._note(contact, changed)

    def _replace(self, changed: KnownContact) -> None:
        for address, contact in self._by_address.items():
            if contact.id == changed.id:
                self._by_address[address] = changed

    def _note(
        self,
        before: KnownContact,
        after: KnownContact,
        *,
        joined: tuple[UUID, ...] = (),
        opted_out: bool | None = None,
    ) -> None:
        if after.id in self._made and not joined:
            return
        noted = self._renewed.get(after.id, ChangedContact(before, after))
        if noted.opted_out is not None and opted_out is not None:  # changed, and changed back
            opted_out = None
        elif opted_out is None:
            opted_out = noted.opted_out
        self._renewed[after.id] = ChangedContact(noted.before, after, (*noted.joined, *joined), opted_out)


def _updated(renewed: ChangedContact) -> ContactUpdated:
    contact = renewed.contact
    return ContactUpdated(
        *contact_fields(contact.id, contact.phone, contact.display_name),
        username=contact.username,
        opted_out=msgspec.UNSET if renewed.opted_out is None else renewed.opted_out,
        changed=renewed.changes,
        joined=[ids.format_id("ct", other) for other in renewed.joined],
    )
