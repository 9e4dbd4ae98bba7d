"""Reading contacts: one by its id, pages of them, and a search by prefix.

no search       newest first, by id                               ┐
a label         newest first, along the label's assignments       ├ each page reads about as many rows as it returns
a search        by what begins with it: number, name, last name   ┘

Other filters are checked row by row, for a bounded number of rows; the next page continues there.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import IdRange
from gatepost.store.pool import Connection, Database, Queryable

STEPS = 5_000  # contacts that one page examines at most
_LAST = UUID(int=2**128 - 1)
_ANY_SIZE = 2**62


class ContactRow(msgspec.Struct, frozen=True):
    """A contact with all its fields."""

    id: UUID
    phone: str  # a number, or another address if none is known
    network_name: str | None
    given_name: str | None
    username: str | None
    opted_out: datetime | None
    custom: dict[str, str]
    created_at: datetime
    updated_at: datetime

    @property
    def name(self) -> str | None:
        """The name given by people, else the network's."""
        return self.given_name or self.network_name


class ContactFilter(msgspec.Struct, frozen=True):
    """Which contacts; None matches all."""

    label_id: UUID | None = None
    opted_out: bool | None = None


class ContactPage(msgspec.Struct, frozen=True):
    """A page of contacts, and where the next one continues; None: it is the last."""

    contacts: list[ContactRow]
    following: UUID | None


class SearchPosition(msgspec.Struct, frozen=True, array_like=True):
    """A position in the order of a search: the matched text and the contact."""

    key: str
    id: UUID


class FoundContact(msgspec.Struct, frozen=True):
    """One result of a search, with its position."""

    contact: ContactRow
    match: SearchPosition


class FoundPage(msgspec.Struct, frozen=True):
    """A page of a search, and where the next one continues; None: it is the last."""

    found: list[FoundContact]
    following: SearchPosition | None


COLUMNS = "id, phone, name, given_name, username, opted_out, custom, created_at, updated_at"
# The newest contacts, up to a number of bytes and at least one.
_LIGHT = f"""SELECT {COLUMNS} FROM (
    SELECT {COLUMNS}, sum(octet_length(custom::text)) OVER (ORDER BY id DESC) - octet_length(custom::text) AS before"""
_NAME = """left(lower(coalesce(given_name, name)), 64) COLLATE "C\""""
_LAST_NAME = """left(substring(lower(coalesce(given_name, name)) FROM '[^ ]+$'), 64) COLLATE "C\""""
_FILTERS = """AND (:opted_out::boolean IS NULL OR (opted_out IS NOT NULL) = :opted_out)
              AND (:label_id::uuid IS NULL OR (
                       SELECT true FROM label_uses WHERE channel_id = :channel_id AND label_id = :label_id
                         AND target = 'contact' AND contact_id = contacts.id LIMIT 1))"""
# What begins with the text, after the position of the last page. One lower and one upper bound: of two lower bounds
# the index might take the lesser one, and read all names before.
_FROM = """({key}, id) > (greatest(:after_key COLLATE "C", lower(:text) COLLATE "C"),
                        CASE WHEN :after_key COLLATE "C" < lower(:text) COLLATE "C" THEN '{zero}'
                             ELSE :after_id::uuid END)"""
_WHILE_IT_FITS = """{key} < (lower(:text) || chr(1114111)) COLLATE "C\""""
_TO_END = """({key}, id) <= (:end_key COLLATE "C", :end_id::uuid)"""
# Each way to match as (key, condition): a contact that matches in two ways is returned once, for its name.
_WAYS = (
    (_NAME, "coalesce(given_name, name) IS NOT NULL"),
    (
        _LAST_NAME,
        """strpos(coalesce(given_name, name), ' ') > 0
           AND NOT starts_with(lower(coalesce(given_name, name)), lower(:text))""",
    ),
    (
        "phone",
        """coalesce(NOT starts_with(lower(coalesce(given_name, name)), lower(:text)), true)
           AND coalesce(NOT starts_with(substring(lower(coalesce(given_name, name)) FROM '[^ ]+$'), lower(:text)),
                        true)""",
    ),
)


def _search_sql(select: str, until: str, rest: str) -> str:
    """Return a statement with a part for each way to match."""
    return " UNION ALL ".join(
        f"""(SELECT {select}{key} AS key FROM contacts
             WHERE channel_id = :channel_id AND {_FROM.format(key=key, zero=ids.ZERO)} AND {until.format(key=key)}
               AND {condition} {rest.format(key=key)})"""
        for key, condition in _WAYS
    )


_FOUND = _FILTERS + " ORDER BY {key}, id LIMIT :limit"
_SEARCH = _search_sql(f"{COLUMNS}, ", _WHILE_IT_FITS, _FOUND)
_SEARCH_TO_END = _search_sql(f"{COLUMNS}, ", _TO_END, _FOUND)
_LAST_STEPS = _search_sql("id, ", _WHILE_IT_FITS, f"ORDER BY {{key}}, id OFFSET {STEPS - 1} LIMIT 1")


async def get_contact(conn: Queryable, channel_id: UUID, contact_id: UUID) -> ContactRow | None:
    """Return a contact of a channel."""
    row = await conn.fetchrow(
        f"SELECT {COLUMNS} FROM contacts WHERE channel_id = $1 AND id = $2", channel_id, contact_id
    )
    return contact_row(row) if row else None


async def find_people(conn: "Connection[Any]", channel_id: UUID, addresses: Sequence[str]) -> dict[str, ContactRow]:
    """Return whole contacts by their addresses, each looked up separately."""
    rows = await conn.fetch(
        f"""SELECT wanted.address AS asked, c.* FROM unnest($2::text[]) AS wanted (address) CROSS JOIN LATERAL (
               SELECT {COLUMNS} FROM contacts WHERE channel_id = $1 AND phone = wanted.address
               UNION ALL
               SELECT p.* FROM contact_aliases a CROSS JOIN LATERAL (
                   SELECT {COLUMNS} FROM contacts WHERE channel_id = $1 AND id = a.contact_id LIMIT 1) p
               WHERE a.channel_id = $1 AND a.alias = wanted.address
               LIMIT 1) c""",
        channel_id,
        sorted(set(addresses)),
    )
    return {row["asked"]: contact_row(row) for row in rows}


async def list_contacts(
    db: Database, channel_id: UUID, filters: ContactFilter, before: UUID | None, limit: int, *, size: int = _ANY_SIZE
) -> ContactPage:
    """Return a page of contacts, the newest first; fewer if their fields exceed `size` bytes, but at least one."""
    before = before or _LAST
    if filters.label_id is not None:
        end = None if filters.opted_out is None else await _last_labelled(db, channel_id, filters.label_id, before)
        found = await _list_labelled(db, channel_id, filters, IdRange(end or ids.ZERO, before), limit, size)
    else:
        end = await _last_listed(db, channel_id, before) if filters.opted_out is False else None
        found = await _list_all(db, channel_id, filters, IdRange(end or ids.ZERO, before), limit, size)
    full = len(found) == limit or (bool(found) and size < _ANY_SIZE)
    return ContactPage(found, found[-1].id if full else end)


async def _list_all(
    db: Database, channel_id: UUID, filters: ContactFilter, span: IdRange, limit: int, size: int
) -> list[ContactRow]:
    condition = {None: "", True: "AND opted_out IS NOT NULL", False: "AND opted_out IS NULL"}[filters.opted_out]
    rows = await db.fetch(
        f"""{_LIGHT} FROM (
                SELECT {COLUMNS} FROM contacts WHERE channel_id = $1 AND id >= $2 AND id < $3 {condition}
                ORDER BY id DESC LIMIT $4) f) s WHERE before < $5 ORDER BY id DESC""",
        channel_id,
        span.start,
        span.end,
        limit,
        size,
    )
    return [contact_row(row) for row in rows]


async def _last_listed(db: Database, channel_id: UUID, before: UUID) -> UUID | None:
    """Return the last contact that a page examines; None if it reaches the end."""
    place: UUID | None = await db.fetchval(
        f"""SELECT id FROM contacts WHERE channel_id = $1 AND id < $2
            ORDER BY id DESC OFFSET {STEPS - 1} LIMIT 1""",
        channel_id,
        before,
    )
    return place


async def _list_labelled(
    db: Database, channel_id: UUID, filters: ContactFilter, span: IdRange, limit: int, size: int
) -> list[ContactRow]:
    rows = await db.fetch(
        f"""{_LIGHT} FROM (SELECT c.* FROM label_uses u CROSS JOIN LATERAL (
                SELECT {COLUMNS} FROM contacts WHERE channel_id = $1 AND id = u.contact_id
                   AND ($6::boolean IS NULL OR (opted_out IS NOT NULL) = $6) LIMIT 1) c
            WHERE u.channel_id = $1 AND u.label_id = $2 AND u.contact_id >= $3 AND u.contact_id < $4
              AND u.target = 'contact'
            ORDER BY u.contact_id DESC LIMIT $5) f) s WHERE before < $7 ORDER BY id DESC""",
        channel_id,
        filters.label_id,
        span.start,
        span.end,
        limit,
        filters.opted_out,
        size,
    )
    return [contact_row(row) for row in rows]


async def _last_labelled(db: Database, channel_id: UUID, label_id: UUID, before: UUID) -> UUID | None:
    """Do the same along the assignments of a label."""
    place: UUID | None = await db.fetchval(
        f"""SELECT contact_id FROM label_uses
            WHERE channel_id = $1 AND label_id = $2 AND contact_id < $3 AND target = 'contact'
            ORDER BY contact_id DESC OFFSET {STEPS - 1} LIMIT 1""",
        channel_id,
        label_id,
        before,
    )
    return place


async def search_contacts(
    db: Database, channel_id: UUID, words: str, filters: ContactFilter, after: SearchPosition | None, limit: int
) -> FoundPage:
    """Return a page of contacts whose number, name or last name begins with the text, in the order of the match."""
    place = after or SearchPosition("", ids.ZERO)
    given = {"channel_id": channel_id, "text": words, "after_key": place.key, "after_id": place.id}
    end = None if filters == ContactFilter() else await _last_searched(db, given)
    rows = await db.fetch(
        f'SELECT * FROM ({_SEARCH if end is None else _SEARCH_TO_END}) found ORDER BY key COLLATE "C", id LIMIT :limit',
        **given,
        **({} if end is None else {"end_key": end.key, "end_id": end.id}),
        opted_out=filters.opted_out,
        label_id=filters.label_id,
        limit=limit,
    )
    found = [FoundContact(contact_row(row), SearchPosition(row["key"], row["id"])) for row in rows]
    return FoundPage(found, found[-1].match if len(found) == limit else end)


async def _last_searched(db: Database, given: dict[str, Any]) -> SearchPosition | None:
    """Return up to where a page with filters examines all ways to match; None if it reaches the end."""
    row = await db.fetchrow(f'SELECT * FROM ({_LAST_STEPS}) last ORDER BY key COLLATE "C", id LIMIT 1', **given)
    return SearchPosition(row["key"], row["id"]) if row else None


async def custom_names(db: Database, channel_id: UUID, limit: int) -> list[str]:
    """Return the names of all custom fields in use: one pass over the channel, for an export."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT DISTINCT field FROM contacts CROSS JOIN LATERAL jsonb_object_keys(custom) AS field
               WHERE channel_id = $1 AND custom <> '{}' ORDER BY field LIMIT $2""",
            channel_id,
            limit,
            timeout=300,
        )
    return [row["field"] for row in rows]


def contact_row(row: Any) -> ContactRow:
    """Return a contact from a row."""
    return ContactRow(
        row["id"],
        row["phone"],
        row["name"],
        row["given_name"],
        row["username"],
        row["opted_out"],
        msgspec.json.decode(row["custom"]),
        row["created_at"],
        row["updated_at"],
    )
