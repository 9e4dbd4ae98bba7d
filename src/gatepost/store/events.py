"""The feed: a channel's events in the order of their commits, which is the order of their ids."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import msgspec

from gatepost.store.channel_head import no_head
from gatepost.store.pool import Database

LAST_ID = UUID(int=(1 << 128) - 1)
_LOOK = 2_000  # events that are read in search of some types
PAGE_SIZE = 4 * 1024 * 1024  # bytes of events after which a page ends
# The first events, up to that many bytes and at least one; `found` is how many there are.
_LIGHT = """SELECT id, seq, type, body, found FROM (
    SELECT id, seq, type, body, count(*) OVER () AS found,
           sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before"""


class FeedEvent(msgspec.Struct, frozen=True):
    id: UUID
    seq: int
    type: str
    body: str


class FeedPage(msgspec.Struct, frozen=True):
    """A page of the feed, and up to which event was read. There is `more` if the page ended early."""

    events: list[FeedEvent]
    reached: UUID
    more: bool


async def read_feed_page(
    db: Database, channel_id: UUID, after: UUID, types: Sequence[str] | None, limit: int
) -> FeedPage:
    """Return events after the cursor. None is ever inserted before one that was read: ids follow the commits."""
    if types is None:
        return await _read_all(db, channel_id, after, limit)
    rows = await db.fetch(
        f"""WITH page AS MATERIALIZED (
               SELECT id, seq, type, body FROM events WHERE channel_id = $1 AND id > $2 ORDER BY id LIMIT $5
           ), chosen AS (
               {_LIGHT} FROM (
                   SELECT id, seq, type, body FROM page WHERE type = ANY ($3::text[]) ORDER BY id LIMIT $4) f) s
               WHERE before < $6 ORDER BY id
           ), looked AS (
               SELECT count(*) AS number FROM page
           ), last AS (
               SELECT id FROM page ORDER BY id DESC LIMIT 1
           )
           SELECT id, seq, type, body, found FROM chosen
           UNION ALL SELECT last.id, looked.number, NULL, NULL, NULL FROM last, looked""",
        channel_id,
        after,
        list(types),
        limit,
        _LOOK,
        PAGE_SIZE,
    )
    if not rows:
        return FeedPage([], after, more=False)
    *chosen, end = rows
    events = [FeedEvent(row["id"], row["seq"], row["type"], row["body"]) for row in chosen]
    if len(events) == limit or (chosen and chosen[0]["found"] > len(chosen)):
        return FeedPage(events, events[-1].id, more=True)
    return FeedPage(events, end["id"], more=end["seq"] >= _LOOK)


async def _read_all(db: Database, channel_id: UUID, after: UUID, limit: int) -> FeedPage:
    rows = await db.fetch(
        f"""{_LIGHT} FROM (
                SELECT id, seq, type, body FROM events WHERE channel_id = $1 AND id > $2 ORDER BY id LIMIT $3) f) s
            WHERE before < $4 ORDER BY id""",
        channel_id,
        after,
        limit,
        PAGE_SIZE,
    )
    events = [FeedEvent(row["id"], row["seq"], row["type"], row["body"]) for row in rows]
    cut = bool(rows) and rows[0]["found"] > len(rows)
    return FeedPage(events, events[-1].id if events else after, more=cut or len(events) == limit)


class ChannelEvent(msgspec.Struct, frozen=True, gc=False):
    """An event among those of several channels."""

    channel_id: UUID
    id: UUID
    type: str
    body: str


class EventRange(msgspec.Struct, frozen=True):
    """The events of a channel after one id, up to another."""

    channel_id: UUID
    after: UUID
    upto: UUID = LAST_ID


async def read_ranges(
    db: Database, ranges: Sequence[EventRange], limit: int
) -> tuple[list[ChannelEvent], list[EventRange]]:
    """Return events of several channels, at most `limit` of each, and the ranges that are left."""
    rows = await db.fetch(
        """SELECT channel_id, id, type, body, found FROM (
               SELECT r.place, r.channel_id, e.id, e.type, e.body, count(*) OVER () AS found,
                      sum(octet_length(e.body)) OVER (ORDER BY r.place, e.id) - octet_length(e.body) AS before
               FROM unnest($1::uuid[], $2::uuid[], $3::uuid[])
                    WITH ORDINALITY AS r (channel_id, after, upto, place)
               CROSS JOIN LATERAL (
                   SELECT id, type, body FROM events
                   WHERE channel_id = r.channel_id AND id > r.after AND id <= r.upto ORDER BY id LIMIT $4) e) s
           WHERE before < $5 ORDER BY place, id""",
        [one.channel_id for one in ranges],
        [one.after for one in ranges],
        [one.upto for one in ranges],
        limit,
        PAGE_SIZE,
    )
    events = [ChannelEvent(row["channel_id"], row["id"], row["type"], row["body"]) for row in rows]
    cut = bool(rows) and rows[0]["found"] > len(rows)
    last = {event.channel_id: event.id for event in events}
    count = Counter(event.channel_id for event in events)
    left = [
        EventRange(one.channel_id, last.get(one.channel_id, one.after), one.upto)
        for one in ranges
        if (cut or count[one.channel_id] == limit) and last.get(one.channel_id, one.after) < one.upto
    ]
    return events, left


async def newest_event(db: Database, channel_id: UUID) -> UUID:
    """Return the id of a channel's last event."""
    async with db.connection() as conn:
        found: UUID | None = await conn.fetchval(
            "SELECT last_event_id FROM channel_heads WHERE channel_id = $1", channel_id
        )
        if found is None:
            raise await no_head(conn, channel_id)
    return found
