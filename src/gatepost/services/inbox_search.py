"""The search of an inbox: whom a text names by name or number, and whose messages contain its words."""

import re
from uuid import UUID

from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.model.search_words import QUERY_MAX, read_query, split
from gatepost.services.history import find_contacts_by_words
from gatepost.store.contacts.read import ContactFilter, search_contacts
from gatepost.store.pool import Database

CONTACTS = 200  # contacts that a search by name or number returns at most
_NAME_MAX = 64  # characters of a name that are searched
_NUMBER = re.compile(r"\+?[\d .()/-]+", re.ASCII)


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
