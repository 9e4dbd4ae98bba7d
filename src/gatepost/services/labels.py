"""Labels: create, change and delete them, and assign them to conversations and contacts."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.errors import Conflict
from gatepost.model.event import ChannelRef
from gatepost.model.label import LABELS_MAX, read_color, read_name, usual_color
from gatepost.model.problem_collector import ProblemCollector
from gatepost.services.lookup import existing, read_id
from gatepost.store import labels as store
from gatepost.store.channel_head import ChannelTransaction, channel_transaction
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.labels import CONTACT, CONVERSATION, ChannelLabels, LabelRow
from gatepost.store.pool import Database

_PREFIX = {CONVERSATION: "cv", CONTACT: "ct"}


class NewLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new label. If no color is given, one is chosen from the palette."""

    name: str
    color: str | None = None


class LabelChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values to change; omitted fields keep their values."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    color: str | msgspec.UnsetType = msgspec.UNSET


class LabelService(msgspec.Struct, frozen=True):
    """The labels of one channel."""

    db: Database
    channel: ChannelRef
    channel_id: UUID
    now: datetime

    def transaction(self) -> AbstractAsyncContextManager[ChannelTransaction]:
        return channel_transaction(self.db, self.channel, self.channel_id, self.now)


async def access_label(db: Database, channel_id: UUID, text: str) -> LabelRow:
    """Return the label with this id, if it belongs to the channel."""
    return existing("lb", await store.get_label(db, channel_id, read_id("lb", text)))


async def create_label(service: LabelService, new: NewLabel, once: IdempotentRequest[LabelRow] = NEVER) -> LabelRow:
    """Create a label, unless its name is taken or there are too many."""
    name, color = _checked(new.name, new.color)
    assert name
    async with service.transaction() as change:
        await once.check(change.conn, service.now)
        labels = ChannelLabels(change)
        await _check_free(labels, name, None)
        number = await labels.count()
        if number >= LABELS_MAX:
            raise Conflict(f"This channel has {number} labels, and {LABELS_MAX} is the most. Delete one first.")
        made = await labels.add(name, color or usual_color(number))
        await once.keep(change.conn, made, service.now)
        return made


def _checked(name: str | None, color: str | None) -> tuple[str | None, str | None]:
    """Return the name and the colour, or raise if one is invalid."""
    problems = ProblemCollector()
    read = (
        None if name is None else problems.read(read_name, name),
        None if color is None else problems.read(read_color, color),
    )
    problems.check()
    return read


async def change_label(service: LabelService, text: str, body: LabelChange) -> LabelRow:
    """Change the name or the colour of a label."""
    name, color = _checked(
        None if body.name is msgspec.UNSET else body.name, None if body.color is msgspec.UNSET else body.color
    )
    async with service.transaction() as change:
        labels = ChannelLabels(change)
        label = await _find(labels, text)
        if name is not None:
            await _check_free(labels, name, label.id)
        return await labels.change(label, name or label.name, color or label.color)


async def delete_label(service: LabelService, text: str) -> None:
    """Delete a label and all its assignments."""
    async with service.transaction() as change:
        labels = ChannelLabels(change)
        await labels.delete(await _find(labels, text))


async def put_label(service: LabelService, target: str, target_id: str, text: str) -> None:
    """Assign a label to a conversation or a contact. It may be assigned already."""
    async with service.transaction() as change:
        labels = ChannelLabels(change)
        await labels.assign(await _find(labels, text), await _person(labels, target, target_id), target)


async def take_label(service: LabelService, target: str, target_id: str, text: str) -> None:
    """Remove a label from a conversation or a contact. It may be removed already."""
    async with service.transaction() as change:
        labels = ChannelLabels(change)
        await labels.unassign(await _find(labels, text), await _person(labels, target, target_id), target)


async def _check_free(labels: ChannelLabels, name: str, label_id: UUID | None) -> None:
    found = await labels.find_by_name(name)
    if found is not None and found.id != label_id:
        raise Conflict(f"There is a label '{found.name}' on this channel already ({ids.format_id('lb', found.id)}).")


async def _find(labels: ChannelLabels, text: str) -> LabelRow:
    return existing("lb", await labels.find(read_id("lb", text)))


async def _person(labels: ChannelLabels, target: str, target_id: str) -> KnownContact:
    prefix = _PREFIX[target]
    return existing(prefix, await labels.find_person(read_id(prefix, target_id)))
