"""Values on which the text of a statement depends, by the function that runs it: together they give all its forms."""

import itertools
from typing import Any

from gatepost.model import ids
from gatepost.model.dates import IdRange
from gatepost.model.search_words import SearchQuery
from gatepost.store import channel_head
from gatepost.store.account_log import LogFilter
from gatepost.store.contacts.read import ContactFilter
from gatepost.store.conversations import inbox
from gatepost.store.drafts import DraftFilter
from gatepost.store.mcp.calls import CallFilter
from gatepost.store.media import files
from gatepost.store.messages import history, status
from gatepost.store.orders import OrderFilter
from gatepost.store.search.query import _Look
from tests.store.sql.collect import Examples

_ID = ids.ZERO
_PLACES = [{"where": where} for where in (history._ALL, history._CONTACT)]
_WALKS = [inbox._RECENT, inbox._UNREAD, inbox._CLOSED, inbox._ARCHIVED, inbox._ASSIGNED]
_no_connection: Any = None
_LOOKS = [
    {"look": _Look(_no_connection, _ID, SearchQuery(frozenset(words), "word"), IdRange(), 1)} for words in ("", "ab")
]

EXAMPLES: Examples = {
    "account_log.list_entries": [
        {"account_id": _ID, "filter_": LogFilter(actor=actor, action=action)}
        for actor in (None, "operator", _ID)
        for action in (None, "action")
    ],
    "channel_head.write": [{"sql": sql} for sql in (channel_head.EVENTS_ONLY, files._ADD_EVENT, status._UPDATE)],
    "contacts.read._list_all": [{"filters": ContactFilter(opted_out=value)} for value in (None, False, True)],
    "conversations.inbox._last_step": [{"drive": walk} for walk in _WALKS],
    "conversations.inbox._pick": [
        {"drive": inbox._FOUND, "check": inbox._HAS_LABEL},
        {"drive": inbox._LABELLED, "check": ""},
        *({"drive": walk, "check": check} for walk in _WALKS for check in (inbox._HAS_LABEL, inbox._AMONG_LABELLED)),
    ],
    "drafts.list_drafts": [
        {"filter_": DraftFilter(state, contact_id)}
        for state in (None, "waiting", "sent", "refused", "expired")
        for contact_id in (None, _ID)
    ],
    "links._upsert": [{"values": {"qr": None, "wanted": True}}],
    "mcp.calls.list_calls": [
        {"filter_": CallFilter(**filters)}
        for filters in ({}, {"contact_id": _ID}, {"outcome": "sent"}, {"outcome": "done", "tool": "x"}, {"key_id": _ID})
    ],
    "messages.accept_alike.write_alike": [
        dict(zip(("keyed", "named", "window", "bulk"), chosen, strict=True))
        for chosen in itertools.product((False, True), repeat=4)
    ],
    "messages.accept_plain.write_plain": [
        {"keyed": keyed, "new_people": new} for keyed in (False, True) for new in (False, True)
    ],
    "messages.history.read_history_page": _PLACES,
    "messages.history.read_newer": _PLACES,
    "messages.history.read_texts": _PLACES,
    "orders.list_orders": [{"filters": OrderFilter(status=value, contact_id=_ID)} for value in (None, "pending")],
    "search.query._look_into": _LOOKS,
    "search.query._read_newest": _LOOKS,
}
