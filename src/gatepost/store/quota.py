"""The monthly quota of an account: slices granted to its channels, returned by them, and the count.

channel_heads.slice_left   what a channel may still accept, counted down in the commit that accepts
account_usage.used         all that was granted: accepted messages, and what remains of the channels' slices

Each statement that locks the account's row locks the channel's head before it and is a transaction of its own, except
`_count_exact`, which runs only near the quota's end. None of them waits for its own flush to disk: a message that uses
a grant is committed after it, and a crash keeps both or neither.
"""

from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.quota import SLICE_MAX, SLICE_SHARE, MonthUsage, QuotaStep, next_step
from gatepost.store.pool import Connection, Database

_UNFLUSHED = "set_config('synchronous_commit', 'off', true)"


class Quota(msgspec.Struct, frozen=True):
    """The account, the month and the limit."""

    account_id: UUID
    month: date
    limit: int


class QuotaSlice(msgspec.Struct, frozen=True):
    """The slice of a channel, as read under the lock of its head."""

    month: date | None
    limit: int | None
    left: int


class QuotaShort(Exception):
    """A channel's slice is too small; the transaction is rolled back, and repeated after `provide`."""

    def __init__(self, step: QuotaStep, lacking: int = 0) -> None:
        super().__init__(step.value)
        self.step = step
        self.lacking = lacking


def covers(quota: Quota, held: QuotaSlice, count: int) -> bool:
    """Whether a channel's slice is large enough for so many messages."""
    return not count or (held.left >= count and (held.month, held.limit) == (quota.month, quota.limit))


async def spend(conn: "Connection[Any]", quota: Quota, held: QuotaSlice, count: int) -> tuple[int, int]:
    """Count messages of this transaction. Return how many fit, and what remains of the slice."""
    if held.left and (held.month, held.limit) != (quota.month, quota.limit):
        raise QuotaShort(QuotaStep.RETURN)
    lacking = count - held.left
    if lacking <= 0:
        return count, -lacking
    step = next_step(await _read_usage(conn, quota), quota.limit, lacking)
    if step is QuotaStep.REFUSE:
        return held.left, 0
    if step is not QuotaStep.COUNT:
        raise QuotaShort(step, lacking)
    counted, usage = await _count_exact(conn, quota, lacking)
    if counted < lacking and usage.rests:
        raise QuotaShort(QuotaStep.RECLAIM)
    return held.left + counted, 0


async def provide(db: Database, channel_id: UUID, quota: Quota, short: QuotaShort) -> None:
    """Get what a batch lacks before it is repeated."""
    if short.step is QuotaStep.RETURN:
        await return_remainder(db, channel_id, quota.account_id)
    elif short.step is QuotaStep.RECLAIM:
        await reclaim_remainders(db, quota.account_id, quota.month)
    else:
        await take_slice(db, channel_id, quota, short.lacking)


async def refill(db: Database, channel_id: UUID, quota: Quota, held: QuotaSlice, count: int) -> bool:
    """Get a channel a slice for so many messages. Return False if the quota has no room for slices."""
    left = held.left
    if left and not covers(quota, held, left):
        await return_remainder(db, channel_id, quota.account_id)
        left = 0
    async with db.connection() as conn:
        usage = await _read_usage(conn, quota)
    if next_step(usage, quota.limit, count - left) is not QuotaStep.TAKE_SLICE:
        return False
    await take_slice(db, channel_id, quota, count - left)
    return True


async def _read_usage(conn: "Connection[Any]", quota: Quota) -> MonthUsage:
    """Return the usage of the month, without a lock."""
    row = await conn.fetchrow(
        "SELECT used, slices, reclaimed FROM account_usage WHERE account_id = $1 AND month = $2",
        quota.account_id,
        quota.month,
    )
    return MonthUsage(**row) if row else MonthUsage()


async def take_slice(db: Database, channel_id: UUID, quota: Quota, wanted: int) -> None:
    """Grant a channel a slice with a reserve, if the quota has room for both; otherwise nothing.

    What remains of another month, or of another limit, is returned first by `return_remainder`.
    """
    values = (channel_id, quota.account_id, quota.month, quota.limit, wanted)
    async with db.transaction() as conn:
        await conn.execute(_LOCK, channel_id)
        if await conn.fetchval(_TAKE, *values) is None:
            await _begin_month(conn, quota)
            await conn.fetchval(_TAKE, *values)


# A statement of its own: one that waits for a head and then updates it can deadlock (`messages/accept_plain_sql.py`).
_LOCK = "SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR NO KEY UPDATE"
_TAKE = f"""WITH head AS (
       SELECT 1 FROM channel_heads
       WHERE channel_id = $1 AND (slice_left = 0 OR slice_month = $3 AND slice_limit = $4) FOR NO KEY UPDATE
   ), usage AS (
       UPDATE account_usage u SET
           used = used + $5 + least({SLICE_MAX}, ($4 - used) / {SLICE_SHARE}),
           granted = $5 + least({SLICE_MAX}, ($4 - used) / {SLICE_SHARE}),
           slices = slices + 1
       FROM head WHERE account_id = $2 AND month = $3 AND $4::bigint - used >= $5::bigint + {SLICE_SHARE}
       RETURNING granted
   )
   UPDATE channel_heads SET slice_month = $3, slice_limit = $4, slice_left = slice_left + usage.granted
   FROM usage WHERE channel_id = $1 RETURNING {_UNFLUSHED}"""


async def return_remainder(db: Database, channel_id: UUID, account_id: UUID) -> None:
    """Return what a channel has not used of its slice to the month of the slice."""
    async with db.transaction() as conn:
        await conn.execute(_LOCK, channel_id)
        await conn.fetchval(_RETURN, channel_id, account_id)


_RETURN = f"""WITH head AS (
       SELECT slice_month, slice_left FROM channel_heads WHERE channel_id = $1 AND slice_left > 0 FOR NO KEY UPDATE
   ), usage AS (
       UPDATE account_usage u SET used = used - head.slice_left
       FROM head WHERE u.account_id = $2 AND u.month = head.slice_month
   )
   UPDATE channel_heads h SET slice_left = 0 FROM head WHERE h.channel_id = $1 RETURNING {_UNFLUSHED}"""


async def reclaim_remainders(db: Database, account_id: UUID, month: date) -> None:
    """Take back what remains of a month's slices from the channels of an account, one head at a time.

    Slices that are granted meanwhile may be missed; they have numbers after the one that is saved at the end.
    """
    async with db.connection() as conn:
        slices = await conn.fetchval(
            "SELECT slices FROM account_usage WHERE account_id = $1 AND month = $2", account_id, month
        )
        rows = await conn.fetch(
            """SELECT h.channel_id FROM channels c JOIN channel_heads h ON h.channel_id = c.id
               WHERE c.account_id = $1 AND h.slice_month = $2 AND h.slice_left > 0""",
            account_id,
            month,
        )
    for row in rows:
        await return_remainder(db, row["channel_id"], account_id)
    await db.fetchval(
        f"""UPDATE account_usage SET reclaimed = greatest(reclaimed, $3)
            WHERE account_id = $1 AND month = $2 RETURNING {_UNFLUSHED}""",
        account_id,
        month,
        slices,
    )


async def _count_exact(conn: "Connection[Any]", quota: Quota, wanted: int) -> tuple[int, MonthUsage]:
    """Count up to `wanted` messages of this transaction. Return how many, and the usage after it.

    The account's row stays locked until the transaction ends.
    """
    values = (quota.account_id, quota.month, quota.limit, wanted)
    row = await conn.fetchrow(_COUNT, *values)
    if row is None:
        await _begin_month(conn, quota)
        row = await conn.fetchrow(_COUNT, *values)
    assert row is not None
    return row["granted"], MonthUsage(row["used"], row["slices"], row["reclaimed"])


_COUNT = """UPDATE account_usage SET granted = greatest(0, least($4::bigint, $3::bigint - used)),
                   used = used + greatest(0, least($4, $3 - used))
            WHERE account_id = $1 AND month = $2 RETURNING granted, used, slices, reclaimed"""


async def _begin_month(conn: "Connection[Any]", quota: Quota) -> None:
    await conn.execute(
        "INSERT INTO account_usage (account_id, month, used) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING",
        quota.account_id,
        quota.month,
    )


async def used_in_month(db: Database, account_id: UUID, month: date) -> int:
    """Return how many messages an account has sent in the month that begins on that day."""
    used = await db.fetchval(
        """SELECT used - coalesce((
               SELECT sum(h.slice_left) FROM channels c JOIN channel_heads h ON h.channel_id = c.id
               WHERE c.account_id = $1 AND h.slice_month = $2), 0)::bigint
           FROM account_usage WHERE account_id = $1 AND month = $2""",
        account_id,
        month,
    )
    return used or 0
