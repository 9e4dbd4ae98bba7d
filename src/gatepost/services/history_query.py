"""Parses and checks the filters of the history."""

import re
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import IdRange, read_span
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import read_choices
from gatepost.model.message import STATUS
from gatepost.model.phone import check_phone
from gatepost.model.search_words import SearchQuery, read_query
from gatepost.services.lookup import missing
from gatepost.store.messages.history import SCHEDULED, HistoryFilter, find_contact, has_conversation
from gatepost.store.pool import Database

_STATUSES = ("SCHEDULED", *dict.fromkeys(STATUS.values()))
TYPES_MAX = 50  # each is compared with every message that is checked
_TYPE = re.compile(r"[a-z_]{1,32}", re.ASCII)


class HistoryQuery(msgspec.Struct, frozen=True):
    """A parsed query of the history."""

    span: IdRange = IdRange()
    phone: str | None = None
    conversation: UUID | None = None
    incoming: bool | None = None
    states: tuple[int, ...] | None = None
    types: tuple[str, ...] | None = None
    sought: SearchQuery | None = None


def read_history_query(found: dict[str, str]) -> HistoryQuery:
    """Return the query for the given filters."""
    phone, conversation, query = found.get("phone"), found.get("conversation"), found.get("q")
    return HistoryQuery(
        read_span(found.get("from"), found.get("to"), found.get("tz")),
        None if phone is None else check_phone(phone),
        None if conversation is None else read_conversation(conversation),
        _incoming(found.get("direction")),
        _states(found.get("status")),
        _types(found.get("type")),
        None if query is None else read_query(query),
    )


async def resolve(db: Database, channel_id: UUID, asked: HistoryQuery) -> HistoryFilter | None:
    """Return the filter of a query; None if no message can match."""
    contact_id = asked.conversation
    if contact_id is not None and not await has_conversation(db, channel_id, contact_id):
        raise missing("cv")
    if asked.phone is not None:
        found = await find_contact(db, channel_id, asked.phone)
        if found is None or contact_id not in (None, found):
            return None
        contact_id = found
    return HistoryFilter(asked.span, contact_id, asked.incoming, asked.types, asked.states)


def read_conversation(text: str) -> UUID:
    """Return the contact of a conversation's id."""
    found = ids.parse_id("cv", text)
    if found is None:
        raise invalid_field("conversation", "is not the id of a conversation; these begin with cv_")
    return found


def _incoming(text: str | None) -> bool | None:
    if text not in (None, "in", "out"):
        raise invalid_field("direction", "must be 'in' or 'out'")
    return None if text is None else text == "in"


def _states(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    asked = read_choices("status", text.split(","), _STATUSES)
    states = [state.value for state, word in STATUS.items() if word in asked]
    return (*states, SCHEDULED) if "SCHEDULED" in asked else tuple(states)


def _types(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    asked = tuple(dict.fromkeys(text.split(",")))
    if len(asked) > TYPES_MAX:
        raise invalid_field("type", f"may name at most {TYPES_MAX} types, but names {len(asked):,}")
    if not all(_TYPE.fullmatch(word) for word in asked):
        raise invalid_field("type", "must be one type of message, or several with commas between: text,image")
    return asked
