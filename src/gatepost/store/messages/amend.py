"""Messages that change earlier messages: reactions, edits and revokes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.event import ChannelRef
from gatepost.model.event.messages import GroupAuthor, MessageUpdated, Reaction
from gatepost.model.message import State
from gatepost.model.person import Person, addresses
from gatepost.store.channel_head import ChannelTransaction, channel_transaction
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text

EVENTS_MAX = 1_000  # that a message remembers: a person can react any number of times, and each time writes all of them
EMOJI_MAX = 64  # code points of a reaction that a message stores: the longest emoji have less than 16
MEMBERS_MAX = 256  # members of a group whose reactions to one message are stored: the last ones who reacted
CHANGES = {"reaction": "reaction", "edit": "edited", "revoke": "deleted"}


class AmendTarget(msgspec.Struct, frozen=True):
    """An earlier message that a new one changes."""

    id: UUID
    contact_id: UUID
    incoming: bool
    phone: str
    type: str
    content: str
    client_ref: str | None
    sent_by: str | None
    state: State
    reply_to: UUID | None
    context: str | None
    reactions: str | None  # JSON: person → emoji, time, ids of a group's member; an empty emoji is a removed reaction
    edited_at: datetime | None
    deleted_at: datetime | None
    sent_at: datetime | None


class Amendment(msgspec.Struct, frozen=True):
    """A change to an earlier message."""

    type: str  # reaction, edit or revoke
    content: dict[str, Any]
    contact: KnownContact
    from_me: bool
    at: datetime
    author: Mapping[str, Any] = {}  # the member of a group, whose messages belong to one contact


_KNOWN = ", ".join(AmendTarget.__struct_fields__)


async def find_targets(
    conn: "Connection[Any]", channel_id: UUID, network_ids: set[str], floor: UUID
) -> dict[str, AmendTarget]:
    """Return earlier messages by the network's ids, not older than `floor`."""
    if not network_ids:
        return {}
    rows = await conn.fetch(
        f"""SELECT m.* FROM unnest($2::text[]) AS wanted (network_id) CROSS JOIN LATERAL (
               SELECT network_id, {_KNOWN} FROM messages
               WHERE channel_id = $1 AND network_id = wanted.network_id AND id > $3 LIMIT 1) m""",
        channel_id,
        sorted(network_ids),
        floor,
    )
    return {row["network_id"]: _known(row) for row in rows}


async def get_target(conn: "Connection[Any]", channel_id: UUID, message_id: UUID) -> AmendTarget | None:
    """Return an earlier message by our id."""
    row = await conn.fetchrow(
        f"SELECT {_KNOWN} FROM messages WHERE channel_id = $1 AND id = $2", channel_id, message_id
    )
    return _known(row) if row else None


def _known(row: Any) -> AmendTarget:
    fields = {name: row[name] for name in AmendTarget.__struct_fields__}
    return AmendTarget(**{**fields, "state": State(fields["state"])})


def _first_reported_at(target: AmendTarget) -> datetime:
    """Return the time in a message's first event: the network's or, for ours, that of its acceptance."""
    made = ids.time_of(target.id)
    return min(made, target.sent_at or made)


def may_amend(amendment: Amendment, target: AmendTarget) -> bool:
    """Whether a change applies. Anyone may react; only the author edits or deletes; an older change never wins."""
    if amendment.type == "reaction":
        return amendment.at >= _reacted_at(amendment, target)
    own = target.contact_id == amendment.contact.id and target.incoming is not amendment.from_me
    if amendment.type == "edit" and not _same_member(amendment, target):  # deleted by others: they may manage the group
        return False
    return own and target.deleted_at is None and (target.edited_at is None or amendment.at >= target.edited_at)


def _same_member(amendment: Amendment, target: AmendTarget) -> bool:
    author = json_object(msgspec.json.decode(target.context), "author") if target.context else {}
    return amendment.from_me or not author or not _addresses(author).isdisjoint(_addresses(amendment.author))


async def apply_amendment(
    transaction: ChannelTransaction, amendment: Amendment, target: AmendTarget
) -> tuple[UUID, AmendTarget]:
    """Change the earlier message and emit an event. Return the event's id and the changed message."""
    changed = amended(amendment, target)
    event_id = transaction.event_buffer.add(_updated(amendment, changed), target.contact_id, target.id)
    await transaction.conn.execute(
        """UPDATE messages SET type = $3, content = $4, reactions = $5, edited_at = $6, deleted_at = $7,
               event_ids = CASE WHEN cardinality(event_ids) < $9 THEN event_ids || $8::uuid ELSE event_ids END
           WHERE channel_id = $1 AND id = $2""",
        transaction.channel_id,
        target.id,
        changed.type,
        changed.content,
        changed.reactions,
        changed.edited_at,
        changed.deleted_at,
        event_id,
        EVENTS_MAX,
    )
    return event_id, changed


def amended(amendment: Amendment, target: AmendTarget) -> AmendTarget:
    """Return the message after the change."""
    if amendment.type == "revoke":
        return msgspec.structs.replace(target, deleted_at=amendment.at)
    if amendment.type == "edit":
        type_, content = _edited(amendment, target)
        return msgspec.structs.replace(target, type=type_, content=content, edited_at=amendment.at)
    return msgspec.structs.replace(target, reactions=json_text(_with_reaction(amendment, target)))


def _with_reaction(amendment: Amendment, target: AmendTarget) -> dict[str, dict[str, str]]:
    """Return the reactions after one more: one per person, in a group one per member."""
    standing, who, member = _reactions(target), _author(amendment), _member(amendment)
    mark = {"emoji": _emoji(amendment)[:EMOJI_MAX], "at": times.format_time(amendment.at)}
    if not member:
        return {**standing, who: mark}
    for key in _keys_of(amendment, standing):
        member = {**member_ids(standing.pop(key)), **member}
    standing.pop(who, None)  # an older version kept one for the whole group
    others = [key for key in standing if "/" in key]
    for key in others[: max(0, len(others) + 1 - MEMBERS_MAX)]:
        del standing[key]
    return {**standing, f"{who}/{min(_addresses(member))}": {**mark, **member}}


def _edited(amendment: Amendment, target: AmendTarget) -> tuple[str, str]:
    """Return type and content after an edit. An edit brings text only: a file stays."""
    edit = json_object(amendment.content, "edit")
    type_, content = str(edit.get("type") or target.type), json_object(edit, "content")
    file = json_object(msgspec.json.decode(target.content), "media")
    return type_, json_text({**content, "media": file} if file and type_ == target.type else content)


def json_object(value: object, name: str) -> dict[str, Any]:
    """Return an object inside another; empty if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _reactions(target: AmendTarget) -> dict[str, dict[str, str]]:
    """Return the current reactions, one per person."""
    return msgspec.json.decode(target.reactions, type=dict[str, dict[str, str]]) if target.reactions else {}


def _reacted_at(amendment: Amendment, target: AmendTarget) -> datetime:
    reactions = _reactions(target)
    before = [datetime.fromisoformat(reactions[key]["at"]) for key in _keys_of(amendment, reactions)]
    return max(before, default=datetime.min.replace(tzinfo=UTC))


def _author(amendment: Amendment) -> str:
    return "me" if amendment.from_me else ids.format_id("ct", amendment.contact.id)


def _member(amendment: Amendment) -> dict[str, str]:
    """Return the ids of the member of a group; empty if the change is ours or not in a group."""
    return {} if amendment.from_me else member_ids(amendment.author)


def member_ids(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids of a group's member, from the author of a message or from a stored reaction."""
    return {name: values[name] for name in ("phone", "lid", "user_id") if values.get(name)}


def _addresses(values: Mapping[str, Any]) -> set[str]:
    return set(addresses(Person(**member_ids(values))))


def _keys_of(amendment: Amendment, reactions: dict[str, dict[str, str]]) -> list[str]:
    """Return the keys of the person's earlier reactions; several if ids of a member turn out to be of one person."""
    who, mine = _author(amendment), _addresses(_member(amendment))
    if not mine:
        return [who] if who in reactions else []
    return [key for key, mark in reactions.items() if not mine.isdisjoint(_addresses(mark))]


def _emoji(amendment: Amendment) -> str:
    return str(json_object(amendment.content, "reaction").get("emoji") or "")


def _updated(amendment: Amendment, target: AmendTarget) -> MessageUpdated:
    """Return the data of the event about the changed message."""
    contact, reacted = amendment.contact, amendment.type == "reaction"
    return MessageUpdated.of(
        id_=target.id,
        phone=target.phone,
        contact_id=target.contact_id,
        name=contact.display_name if contact.id == target.contact_id else None,
        incoming=target.incoming,
        type_=target.type,
        content=target.content,
        timestamp=_first_reported_at(target),
        reply_to=target.reply_to,
        client_ref=target.client_ref,
        sent_by=target.sent_by,
        status=target.state,
        context=msgspec.json.decode(target.context) if target.context else None,
        change=CHANGES[amendment.type],
        reaction=_reaction(amendment) if reacted else msgspec.UNSET,
    )


def _reaction(amendment: Amendment) -> Reaction:
    member = _member(amendment)
    author = GroupAuthor(**member) if member else msgspec.UNSET
    return Reaction(_emoji(amendment), _author(amendment), author)


async def amend_own(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    message_id: UUID,
    type_: str,
    content: dict[str, Any],
    now: datetime,
) -> bool:
    """Apply an edit or a revoke to an outgoing message, and emit an event. Return False if nothing changes."""
    async with channel_transaction(db, channel, channel_id, now) as transaction:
        target = await get_target(transaction.conn, channel_id, message_id)
        if target is None:
            return False
        row = await transaction.conn.fetchrow(
            "SELECT id, phone, name, given_name FROM contacts WHERE channel_id = $1 AND id = $2",
            channel_id,
            target.contact_id,
        )
        contact = KnownContact(**row) if row else KnownContact(target.contact_id, target.phone, None)
        amendment = Amendment(type_, content, contact, True, now)
        if not may_amend(amendment, target):
            return False
        await apply_amendment(transaction, amendment, target)
    return True


async def get_change(conn: "Connection[Any]", channel_id: UUID, message_id: UUID) -> Any:
    """Return the row of a message that changes another one, with its contact (`contact_of`)."""
    return await conn.fetchrow(
        """SELECT m.type, m.content, m.sent_at, m.incoming, m.context, m.target_id, m.contact_id AS id, m.phone, c.*
           FROM messages m LEFT JOIN LATERAL (
               SELECT name, username, given_name FROM contacts
               WHERE channel_id = $1 AND id = m.contact_id LIMIT 1) c ON true
           WHERE m.channel_id = $1 AND m.id = $2""",
        channel_id,
        message_id,
    )


def contact_of(row: Any) -> KnownContact:
    return KnownContact(*(row[name] for name in KnownContact.__struct_fields__))


async def show_own_reaction(transaction: ChannelTransaction, message_id: UUID, *, removed: bool) -> None:
    """Show a reaction of ours on its message; `removed`, if the network refused it after all."""
    conn, channel_id = transaction.conn, transaction.channel_id
    row = await get_change(conn, channel_id, message_id)
    target = await get_target(conn, channel_id, row["target_id"]) if row else None
    if row is None or target is None:  # older than the messages that are kept
        return
    amendment = Amendment("reaction", msgspec.json.decode(row["content"]), contact_of(row), True, transaction.now)
    if removed:
        emoji = _emoji(amendment)
        if not emoji or _reactions(target).get(_author(amendment), {}).get("emoji") != emoji:
            return
        amendment = msgspec.structs.replace(amendment, content={})
    if may_amend(amendment, target):
        await apply_amendment(transaction, amendment, target)
