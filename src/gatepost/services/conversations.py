"""Conversations: find some, read one and its history, change its fields, mark it as read."""

import re
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
import structlog

from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.dates import IdRange
from gatepost.model.errors import GatepostError, invalid_field
from gatepost.model.field_readers import check_storable, read_choice
from gatepost.model.person import person_at
from gatepost.model.search_words import QUERY_MAX, read_query, split
from gatepost.services.history import find_contacts_by_words
from gatepost.services.lookup import existing, missing, read_id
from gatepost.services.network_errors import network_call
from gatepost.services.read_receipts import MEMORY, Speak
from gatepost.store.channel_head import channel_transaction
from gatepost.store.channels import ChannelConfig
from gatepost.store.contacts.read import ContactFilter, search_contacts
from gatepost.store.conversations import changes as store
from gatepost.store.conversations.changes import ConversationDetails, LastIncoming
from gatepost.store.messages.history import HistoryFilter, HistoryPage, has_conversation, read_history_page
from gatepost.store.pool import Database
from gatepost.store.users import get_user

log = structlog.get_logger("gatepost.conversations")
LENGTHS = {"assignee": 256, "note": 4096}
CONTACTS = 200  # contacts that a search by name or number returns at most
_NAME_MAX = 64  # characters of a name that are searched
_NUMBER = re.compile(r"\+?[\d .()/-]+", re.ASCII)


class ConversationChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values to change; omitted fields keep their values. A null removes the assignee or the note."""

    status: str | msgspec.UnsetType = msgspec.UNSET
    archived: bool | msgspec.UnsetType = msgspec.UNSET
    muted: bool | msgspec.UnsetType = msgspec.UNSET
    assignee: str | msgspec.UnsetType | None = msgspec.UNSET
    note: str | msgspec.UnsetType | None = msgspec.UNSET


async def access_conversation(db: Database, channel_id: UUID, text: str) -> ConversationDetails:
    """Return the conversation with this id, if it belongs to the channel."""
    return existing("cv", await store.get_conversation(db, channel_id, read_id("cv", text)))


async def list_history(
    db: Database, channel_id: UUID, text: str, before: UUID | None, limit: int, now: datetime
) -> HistoryPage:
    """Return a page of a conversation's messages, the newest first."""
    contact_id = read_id("cv", text)
    if not await has_conversation(db, channel_id, contact_id):
        raise missing("cv")
    filter_ = HistoryFilter(IdRange(end=before) if before else IdRange(), contact_id)
    return await read_history_page(db, channel_id, filter_, now, scan=limit, limit=limit)


async def change_conversation(db: Database, caller: Caller, text: str, body: ConversationChange, now: datetime) -> None:
    """Set the given fields. One event reports the changes."""
    given = check_change(body)
    if isinstance(assignee := given.get("assignee"), str):
        given["assignee"] = await check_assignee(db, caller.account_id, assignee)
    async with channel_transaction(db, caller.ref, caller.channel_id, now) as change:
        if not await store.change_conversation(change, read_id("cv", text), given):
            raise missing("cv")


async def check_assignee(db: Database, account_id: UUID, text: str) -> str:
    """Return an assignee. The id of a user must be of the same account; any other text is free."""
    if (user_id := read_user(text)) is None:
        return text
    user = await get_user(db, user_id)
    if user is None or user.account_id != account_id:
        raise invalid_field("assignee", "is not a user of this account")
    return ids.format_id("usr", user_id)


def read_user(text: str) -> UUID | None:
    """Return the user that an assignee names; None if it is free text."""
    if not text.startswith("usr_"):
        return None
    user_id = ids.parse_id("usr", text)
    if user_id is None:
        raise invalid_field("assignee", "is not the id of a user; these are usr_ and 32 hexadecimal digits")
    return user_id


def check_change(body: ConversationChange) -> dict[str, Any]:
    """Return the given fields, or raise if one is invalid."""
    given = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET}
    if "status" in given:
        read_choice("status", given["status"], store.STATUSES)
    for name, limit in LENGTHS.items():
        if given.get(name) is not None:
            _check_words(name, given[name], limit)
    return given


def _check_words(field: str, text: str, limit: int) -> None:
    check_storable(field, text)
    if not text.strip():
        raise invalid_field(field, "is empty; null takes it away")
    if len(text) > limit:
        raise invalid_field(field, f"may have 1 to {limit:,} characters, but has {len(text):,}")


async def read_conversation(db: Database, speak: Speak, channel: ChannelConfig, text: str, now: datetime) -> bool:
    """Mark all messages of a conversation as read; return whether the person was shown that."""
    async with channel_transaction(db, channel.ref, channel.id, now) as change:
        incoming = existing("cv", await store.mark_read(change, read_id("cv", text), now - MEMORY))
    return await show_read_mark(speak, channel, incoming)


async def show_read_mark(speak: Speak, channel: ChannelConfig, incoming: LastIncoming) -> bool:
    """Send a read receipt to the network. Errors are only logged: the conversation is already marked as read here."""
    if incoming.network_id is None or incoming.address is None:
        return False
    network = await speak(channel)
    if network is None:
        return False
    try:
        with network_call():
            await network.mark_read(incoming.network_id, person_at(incoming.address), earlier=incoming.earlier)
    except GatepostError as error:
        log.info("read mark refused", channel=ids.format_id("ch", channel.id), reason=str(error))
        return False
    return True


async def find_contacts(db: Database, channel_id: UUID, text: str) -> tuple[UUID, ...]:
    """Return the contacts whose name or number begins with a text, and those with messages that contain its words."""
    text = text.strip()
    check_storable("q", text)
    if not 1 <= len(text) <= QUERY_MAX:
        raise invalid_field("q", f"takes 1 to {QUERY_MAX} characters")
    words = read_query(text) if split(text) else None
    found: set[UUID] = set()
    if len(name := _without_separators(text)) <= _NAME_MAX:
        named = await search_contacts(db, channel_id, name, ContactFilter(), None, CONTACTS)
        found |= {one.contact.id for one in named.found}
    if words is not None:
        found |= set(await find_contacts_by_words(db, channel_id, words))
    return tuple(sorted(found))


def _without_separators(text: str) -> str:
    """Return a number as it is stored, and any other text as it is."""
    digits = re.sub(r"\D", "", text) if _NUMBER.fullmatch(text) else ""
    return digits or text
