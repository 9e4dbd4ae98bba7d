"""The month's quota over many channels: exact under any concurrency, without a lock that channels wait for."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from gatepost.admin import channels
from gatepost.model.account import Caller, Plan
from gatepost.model.errors import GatepostError
from gatepost.model.quota import NO_LIMIT, SLICE_MAX, MonthUsage, QuotaStep, next_step
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import ROUTE, Acceptor
from gatepost.store.channels import delete_channel
from gatepost.store.idempotency import idempotency_key
from gatepost.store.pool import Connection
from gatepost.store.quota import Quota, reclaim_remainders, take_slice, used_in_month
from tests.for_each import for_each
from tests.outbound.stage import NOW, Stage, check_no_link
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("each_path")
MONTH = date(2026, 11, 1)
PHONE = "5511999998888"


async def more_channels(stage: Stage, count: int) -> list[Caller]:
    """The stage's own channel, and others of the same account."""
    callers = [stage.caller]
    for number in range(count - 1):
        phone = f"1777{number:07}"
        made = await channels.create_qr(
            stage.db, stage.caller.account_id, phone=phone, name="More", limits={}, now=stage.clock.now()
        )
        callers.append(msgspec.structs.replace(stage.caller, channel_id=made.id, phone=phone))
    return callers


def acceptor(stage: Stage, most: int | None) -> Acceptor:
    plans = {"unlimited": Plan("Test", messages_per_month=most)}
    return Acceptor(stage.db, stage.clock, plans, 10_000, check_no_link)


async def send(one: Acceptor, caller: Caller, key: str | None = None, **fields: Any) -> str:
    """`accepted`, `replayed`, or the code of a refusal. On a busy machine, a new connection may take too long."""
    request = SendRequest(**{"phone": PHONE, "body": "Hi"} | fields)
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                accepted = await one.accept(caller, request, idempotency_key(key, b"body", ROUTE))
            except GatepostError as error:
                if error.code != "database_unavailable":
                    return error.code
            else:
                return "replayed" if accepted.replayed else "accepted"


async def used(stage: Stage, month: date = MONTH) -> int:
    return await used_in_month(stage.db, stage.caller.account_id, month)


async def granted(stage: Stage, month: date = MONTH) -> int:
    async with stage.db.connection() as conn:
        found = await conn.fetchval(
            "SELECT used FROM account_usage WHERE account_id = $1 AND month = $2", stage.caller.account_id, month
        )
    return found or 0


async def held(stage: Stage, channel_id: UUID) -> int:
    async with stage.db.connection() as conn:
        left: int = await conn.fetchval("SELECT slice_left FROM channel_heads WHERE channel_id = $1", channel_id)
    return left


async def written(stage: Stage) -> int:
    """Messages that the account has, over all of its channels."""
    async with stage.db.connection() as conn:
        count: int = await conn.fetchval(
            "SELECT count(*) FROM messages WHERE channel_id IN (SELECT id FROM channels WHERE account_id = $1)",
            stage.caller.account_id,
        )
    return count


@asynccontextmanager
async def account_locked(stage: Stage) -> AsyncIterator["Connection[Any]"]:
    """Somebody holds the account's row."""
    async with stage.db.transaction() as conn:
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        account = stage.caller.account_id
        assert await conn.fetch("SELECT 1 FROM account_usage WHERE account_id = $1 FOR UPDATE", account)
        yield conn


async def until_waiting(conn: "Connection[Any]") -> None:
    """Somebody waits for a lock of this connection's."""
    async with asyncio.timeout(PATIENCE):
        while not await conn.fetchval(
            "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)) LIMIT 1"
        ):
            await asyncio.sleep(0.01)


# -- the rules --------------------------------------------------------------------------------------------------------


@for_each(
    ("usage", "wanted", "step"),
    [
        (MonthUsage(used=36), 1, QuotaStep.COUNT),
        (MonthUsage(used=35), 1, QuotaStep.TAKE_SLICE),
        (MonthUsage(used=35), 2, QuotaStep.COUNT),
        (MonthUsage(used=99), 1, QuotaStep.COUNT),
        (MonthUsage(used=100), 1, QuotaStep.REFUSE),
        (MonthUsage(used=99), 2, QuotaStep.COUNT),
        (MonthUsage(used=100, slices=3, reclaimed=2), 1, QuotaStep.RECLAIM),
        (MonthUsage(used=99, slices=3, reclaimed=2), 1, QuotaStep.COUNT),
        (MonthUsage(used=99, slices=3, reclaimed=2), 2, QuotaStep.RECLAIM),
        (MonthUsage(used=100, slices=3, reclaimed=3), 1, QuotaStep.REFUSE),
        (MonthUsage(used=130, slices=3, reclaimed=3), 1, QuotaStep.REFUSE),
        (MonthUsage(used=130, slices=3, reclaimed=2), 1, QuotaStep.RECLAIM),
    ],
)
def test_what_a_batch_does_that_lacks_quota(usage: MonthUsage, wanted: int, step: QuotaStep) -> None:
    assert next_step(usage, 100, wanted) is step


# -- slices -----------------------------------------------------------------------------------------------------------


async def test_a_channel_that_holds_a_slice_does_not_wait_for_the_accounts_row(stage: Stage) -> None:
    one, callers = acceptor(stage, None), await more_channels(stage, 3)
    for caller in callers:
        assert await send(one, caller) == "accepted"
    async with account_locked(stage), asyncio.timeout(PATIENCE):
        sent = await asyncio.gather(*(send(one, caller) for caller in callers * 10))
    assert sent == ["accepted"] * 30
    assert await used(stage) == 33


@pytest.mark.parametrize(
    ("limit", "size"), [(12_000, 188), (None, 1 + SLICE_MAX), (64_000, 1001), (65, 2), (64, 0), (1, 0)]
)
async def test_slices_shrink_as_the_end_comes_near(stage: Stage, limit: int | None, size: int) -> None:
    assert await send(acceptor(stage, limit), stage.caller) == "accepted"
    assert await granted(stage) == max(size, 1)
    assert await held(stage, stage.channel_id) == max(size - 1, 0)
    assert await used(stage) == 1


async def test_what_other_channels_hold_is_taken_back_before_anybody_is_refused(stage: Stage) -> None:
    one, (mine, other, third) = acceptor(stage, 200), await more_channels(stage, 3)
    for caller in (other, third):
        assert await send(one, caller) == "accepted"
        assert await held(stage, caller.channel_id) > 0
    outcomes = [await send(one, mine) for _ in range(199)]
    assert outcomes == ["accepted"] * 198 + ["plan_quota_exceeded"]
    assert await send(one, other) == "plan_quota_exceeded"
    assert (await used(stage), await written(stage), await granted(stage)) == (200, 200, 200)


async def test_a_slice_that_a_crash_left_unused_is_not_lost(stage: Stage) -> None:
    """Granted and committed, and then its process died."""
    one, (mine, other) = acceptor(stage, 100), await more_channels(stage, 2)
    await take_slice(stage.db, other.channel_id, Quota(mine.account_id, MONTH, 100), 30)
    assert (await held(stage, other.channel_id), await used(stage)) == (31, 0)
    outcomes = [await send(one, mine) for _ in range(101)]
    assert outcomes == ["accepted"] * 100 + ["plan_quota_exceeded"]
    assert await used(stage) == 100


async def test_a_slice_granted_while_others_are_taken_back_is_still_found(stage: Stage) -> None:
    """Whoever takes rests back may pass a channel just before it gets a slice."""
    one, (mine, other) = acceptor(stage, 100), await more_channels(stage, 2)
    quota = Quota(mine.account_id, MONTH, 100)
    await take_slice(stage.db, other.channel_id, quota, 1)
    await reclaim_remainders(stage.db, mine.account_id, MONTH)
    await take_slice(stage.db, other.channel_id, quota, 30)
    assert await held(stage, other.channel_id) == 31
    assert [await send(one, mine) for _ in range(101)] == ["accepted"] * 100 + ["plan_quota_exceeded"]


async def test_a_slice_granted_while_a_batch_is_about_to_be_counted_is_taken_back(stage: Stage) -> None:
    one, (mine, other) = acceptor(stage, 100), await more_channels(stage, 2)
    assert [await send(one, mine) for _ in range(95)] == ["accepted"] * 95
    await reclaim_remainders(stage.db, mine.account_id, MONTH)
    async with account_locked(stage) as conn:
        sending = asyncio.create_task(send(one, mine))
        await until_waiting(conn)
        await conn.execute("UPDATE account_usage SET used = 100, slices = slices + 1")
        await conn.execute(
            "UPDATE channel_heads SET slice_month = $2, slice_limit = 100, slice_left = 5 WHERE channel_id = $1",
            other.channel_id,
            MONTH,
        )
    assert await sending == "accepted"
    assert await used(stage) == 96


async def test_an_exhausted_account_is_refused_without_a_lock(stage: Stage) -> None:
    one = acceptor(stage, 2)
    assert [await send(one, stage.caller) for _ in range(3)][2] == "plan_quota_exceeded"
    async with account_locked(stage), asyncio.timeout(PATIENCE):
        assert await send(one, stage.caller) == "plan_quota_exceeded"


# -- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [400, 130, 65, 20, 1])
async def test_exactly_the_limit_is_accepted_over_many_channels(stage: Stage, limit: int) -> None:
    """Two processes' worth of acceptors, twenty channels, and more callers than there is room."""
    both, callers = (acceptor(stage, limit), acceptor(stage, limit)), await more_channels(stage, 20)
    each = limit // 20 + 8
    sends = [send(both[n % 2], caller) for n in range(each) for caller in callers]
    outcomes = Counter(await asyncio.gather(*sends))
    assert outcomes == {"accepted": limit, "plan_quota_exceeded": 20 * each - limit}
    assert (await used(stage), await written(stage)) == (limit, limit)


async def test_one_left_and_fifty_callers_on_twenty_channels(stage: Stage) -> None:
    one, callers = acceptor(stage, 300), await more_channels(stage, 20)
    for caller in callers:  # each is left with a rest, which has to be found
        await send(one, caller)
    outcomes = Counter([await send(one, callers[0]) for _ in range(279)])
    assert outcomes == {"accepted": 279}
    outcomes = Counter(await asyncio.gather(*(send(one, callers[n % 20]) for n in range(50))))
    assert outcomes == {"accepted": 1, "plan_quota_exceeded": 49}
    assert await used(stage) == 300


async def test_replays_refusals_and_lost_channels_count_nothing(stage: Stage) -> None:
    both, callers = (acceptor(stage, 150), acceptor(stage, 150)), await more_channels(stage, 8)
    account = stage.caller.account_id
    sends = []
    for n in range(30):
        for at, caller in enumerate(callers):
            sends.append(send(both[n % 2], caller, key=f"key-{n % 15}"))
            sends.append(send(both[at % 2], caller, reply_to="0" * 32))
    outcomes = Counter(await asyncio.gather(*sends))
    assert outcomes["invalid_field"] == 240
    assert outcomes["accepted"] == len({f"{n % 15}" for n in range(30)}) * 8 == 120
    assert (await used(stage), await written(stage)) == (120, 120)
    for caller in callers[1:]:
        assert await delete_channel(stage.db, account, caller.channel_id)
    assert await granted(stage) == 120 + await held(stage, stage.channel_id)
    assert Counter([await send(both[0], stage.caller) for _ in range(31)]) == {"accepted": 30, "plan_quota_exceeded": 1}


async def test_a_deleted_channel_gives_its_rest_back_while_others_send(stage: Stage) -> None:
    one, (mine, *rest) = acceptor(stage, 300), await more_channels(stage, 6)
    await asyncio.gather(*(send(one, caller) for caller in rest))
    deleting = [delete_channel(stage.db, mine.account_id, caller.channel_id) for caller in rest]
    outcomes = await asyncio.gather(*(send(one, mine) for _ in range(296)), *deleting)
    assert Counter(outcomes) == {"accepted": 295, "plan_quota_exceeded": 1, True: 5}
    assert await used(stage) == 300


async def test_a_node_of_before_counts_beside(stage: Stage) -> None:
    """It counts each message in the account's row, and knows nothing of slices."""
    one, callers, limit = acceptor(stage, 400), await more_channels(stage, 6), 400

    async def send_as_before() -> str:
        async with stage.db.connection() as conn:
            counted = await conn.fetchval(
                """INSERT INTO account_usage AS u (account_id, month, used) VALUES ($1, $2, 1)
                   ON CONFLICT (account_id, month) DO UPDATE SET used = u.used + 1 WHERE u.used + 1 <= $3
                   RETURNING used""",
                stage.caller.account_id,
                MONTH,
                limit,
            )
        return "old" if counted is not None else "old refused"

    sends = [call for n in range(50) for call in (*(send(one, caller) for caller in callers), send_as_before())]
    first = Counter(await asyncio.gather(*sends))
    assert first["accepted"] + first["old"] == await used(stage) <= limit
    last = Counter([await send(one, callers[n % 6]) for n in range(limit)])
    assert first["accepted"] + first["old"] + last["accepted"] == limit
    assert await written(stage) == limit - first["old"]


# -- months and plans -------------------------------------------------------------------------------------------------


async def test_a_slice_ends_with_its_month(stage: Stage) -> None:
    one, callers = acceptor(stage, 100), await more_channels(stage, 2)
    for caller in callers:
        assert await send(one, caller) == "accepted"
    stage.clock.advance((datetime(2026, 12, 1, tzinfo=UTC) - NOW).total_seconds())
    december = date(2026, 12, 1)
    outcomes = Counter(await asyncio.gather(*(send(one, callers[n % 2]) for n in range(110))))
    assert outcomes == {"accepted": 100, "plan_quota_exceeded": 10}
    assert (await used(stage), await used(stage, december)) == (2, 100)
    assert await granted(stage) == 2


async def test_two_clocks_at_the_turn_of_a_month_lose_nothing(stage: Stage) -> None:
    early, late = acceptor(stage, 100), acceptor(stage, 100)
    stage.clock.advance((datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC) - NOW).total_seconds())
    december = date(2026, 12, 1)
    for n in range(40):  # the node of `late` is two seconds ahead
        stage.clock.advance(2 if n % 2 else -2 if n else 0)
        assert await send((early, late)[n % 2], stage.caller) == "accepted"
    assert (await used(stage), await used(stage, december)) == (20, 20)
    stage.clock.advance(2)
    assert Counter([await send(late, stage.caller) for _ in range(81)]) == {"accepted": 80, "plan_quota_exceeded": 1}


async def test_a_smaller_plan_holds_at_once_and_a_larger_one_too(stage: Stage) -> None:
    callers = await more_channels(stage, 5)
    large, small, larger = acceptor(stage, 10_000), acceptor(stage, 100), acceptor(stage, 130)
    for _ in range(2):
        for caller in callers:
            assert await send(large, caller) == "accepted"
    assert await granted(stage) - await used(stage) > 500  # rests of the large plan
    outcomes = Counter(await asyncio.gather(*(send(small, callers[n % 5]) for n in range(120))))
    assert outcomes == {"accepted": 90, "plan_quota_exceeded": 30}
    assert await used(stage) == 100
    outcomes = Counter(await asyncio.gather(*(send(larger, callers[n % 5]) for n in range(50))))
    assert outcomes == {"accepted": 30, "plan_quota_exceeded": 20}


async def test_a_plan_without_limit_is_counted_and_may_be_left(stage: Stage) -> None:
    callers = await more_channels(stage, 4)
    free, small = acceptor(stage, None), acceptor(stage, 50)
    outcomes = Counter(await asyncio.gather(*(send(free, callers[n % 4]) for n in range(40))))
    assert outcomes == {"accepted": 40}
    assert await used(stage) == 40
    assert await held(stage, stage.channel_id) > 900
    outcomes = Counter(await asyncio.gather(*(send(small, callers[n % 4]) for n in range(20))))
    assert outcomes == {"accepted": 10, "plan_quota_exceeded": 10}
    outcomes = Counter(await asyncio.gather(*(send(free, callers[n % 4]) for n in range(20))))
    assert outcomes == {"accepted": 20}
    assert (await used(stage), await written(stage)) == (70, 70)


async def test_a_batch_larger_than_what_is_left_gets_what_is_left(stage: Stage) -> None:
    one, (mine, other) = acceptor(stage, 300), await more_channels(stage, 2)
    await take_slice(stage.db, other.channel_id, Quota(mine.account_id, MONTH, 300), 200)
    outcomes = await one.accept_many(mine, [SendRequest(PHONE, "Hi") for _ in range(500)])
    refused = [one for one in outcomes if isinstance(one, GatepostError)]
    assert [one.code for one in refused] == ["plan_quota_exceeded"] * 200
    assert outcomes[300:] == refused
    assert await used(stage) == 300


async def test_another_accounts_month_is_its_own(stage: Stage) -> None:
    theirs = msgspec.structs.replace(stage.caller, account_id=uuid4())
    one = acceptor(stage, 1)
    assert [await send(one, stage.caller) for _ in range(2)] == ["accepted", "plan_quota_exceeded"]
    assert await used_in_month(stage.db, theirs.account_id, MONTH) == 0


def test_no_limit_is_beyond_any_count() -> None:
    assert next_step(MonthUsage(used=10**15), NO_LIMIT, 1000) is QuotaStep.TAKE_SLICE
    assert timedelta(days=31).total_seconds() * 10**9 < NO_LIMIT
