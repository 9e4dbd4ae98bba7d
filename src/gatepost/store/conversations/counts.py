"""Counts of conversations for the side bar of an inbox: bounded, from the newest activity on."""

from uuid import UUID

import msgspec

from gatepost.store.conversations.inbox import WrittenBetween, oldest_activity
from gatepost.store.pool import Database

EXAMINED = 5_000  # conversations that are examined at most


class InboxCounts(msgspec.Struct, frozen=True):
    """How many conversations need work; the archived and those without messages are not counted."""

    open: int
    unassigned: int  # of the open ones
    closing: int
    unread: int
    mine: int  # open ones of one assignee
    complete: bool  # False: there are more than were examined


async def count_conversations(
    db: Database, channel_id: UUID, assignee: str | None, closing: WrittenBetween
) -> InboxCounts:
    """Return the counts of a channel. Each reads at most `EXAMINED` rows of an index, the newest first."""
    row = await db.fetchrow(
        f"""SELECT recent.*, active.closing, unread.unread, mine.mine FROM (
                SELECT count(*) FILTER (WHERE open) AS open,
                       count(*) FILTER (WHERE open AND assignee IS NULL) AS unassigned, count(*) AS examined
                FROM (SELECT status = 'open' AND NOT archived AS open, assignee FROM conversations
                      WHERE channel_id = :channel_id AND last_message_id IS NOT NULL
                      ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest) recent
            CROSS JOIN (
                SELECT count(*) FILTER (WHERE NOT archived AND last_in_at > :after AND last_in_at <= :until) AS closing,
                       count(*) AS active
                FROM (SELECT archived, last_in_at FROM conversations
                      WHERE channel_id = :channel_id AND last_message_id >= :since
                      ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest) active
            CROSS JOIN (
                SELECT count(*) AS unread FROM (
                    SELECT archived FROM conversations WHERE channel_id = :channel_id AND unread > 0
                    ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest WHERE NOT archived) unread
            CROSS JOIN (
                SELECT count(*) AS mine FROM (
                    SELECT status, archived FROM conversations WHERE channel_id = :channel_id AND assignee = :assignee
                    ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest
                WHERE status = 'open' AND NOT archived) mine""",
        channel_id=channel_id,
        assignee=assignee,
        after=closing.after,
        until=closing.until,
        since=oldest_activity(closing),
    )
    return InboxCounts(
        open=row["open"],
        unassigned=row["unassigned"],
        closing=row["closing"],
        unread=row["unread"],
        mine=row["mine"],
        complete=row["examined"] < EXAMINED,
    )
