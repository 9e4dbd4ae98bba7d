"""The month's plan: exact however many ask at once."""

import asyncio
from calendar import monthrange
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from gatepost.admin import accounts
from gatepost.model import times
from gatepost.store.quota import used_in_month
from tests.gateway.checks import SEND, TEXT, check_refused, feed, written
from tests.movable_clock import MovableClock
from tests.running_gateway import Answer, Gateway, running_gateway

SMALL: dict[str, Any] = {"plans__small__title": "Small", "plans__small__messages_per_month": 5}


async def _tenant(gateway: Gateway, channels: int = 1) -> tuple[UUID, list[str]]:
    """An account on the small plan, with a key for each of its channels."""
    account_id = await gateway.new_account("small")
    made = [
        await gateway.new_channel(account_id, f"1555100000{number}", f"20000000000000{number}")
        for number in range(channels)
    ]
    return account_id, [await gateway.new_key(channel.id) for channel in made]


async def _used(gateway: Gateway, account_id: UUID) -> int:
    return await used_in_month(gateway.db, account_id, times.month_of(gateway.clock.now()))


def _check_over(answer: Answer, now: datetime) -> None:
    error = check_refused(answer, 429, "plan_quota_exceeded")
    assert error["retryable"] is False
    wait = int(answer.headers["retry-after"])
    assert abs(now + timedelta(seconds=wait) - times.month_end(now)) < timedelta(seconds=30)
    assert answer.headers["ratelimit-policy"] == f'"plan-month";q=5;w={monthrange(now.year, now.month)[1] * 86_400}'
    assert answer.headers["ratelimit"].startswith('"plan-month";r=0;t=')


async def test_one_unit_left_and_two_hundred_who_want_it(parted_database_url: str) -> None:
    clock = MovableClock(datetime.now(UTC))
    async with running_gateway(parted_database_url, clock=clock, **SMALL) as gateway:
        account_id, (key,) = await _tenant(gateway)
        for _ in range(4):
            assert (await gateway.call("POST", SEND, TEXT, key=key)).status == 200
        answers = await asyncio.gather(
            *(
                gateway.call("POST", SEND, {"phone": f"55119{number:08}", "body": "Me"}, key=key)
                for number in range(200)
            )
        )
        assert Counter(answer.status for answer in answers) == {200: 1, 429: 199}
        for answer in answers:
            if answer.status == 429:
                _check_over(answer, clock.now())
        counts = await written(gateway)
        assert (counts["messages"], counts["contacts"], counts["used"]) == (5, 2, 5)
        assert await _used(gateway, account_id) == 5
        gateway.key = key
        for event in [event for event in await feed(gateway) if event["type"] == "message_notification"]:
            await gateway.until_status(event["data"]["key"]["id"], "READ")
        assert (await gateway.sandbox("GET", "/control/ledger/summary"))["total"]["accepted"] == 5


async def test_two_channels_share_the_accounts_plan(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, **SMALL) as gateway:
        account_id, both = await _tenant(gateway, channels=2)
        assert (await gateway.call("POST", SEND, TEXT)).status == 200
        answers = await asyncio.gather(*(gateway.call("POST", SEND, TEXT, key=both[i % 2]) for i in range(100)))
        assert Counter(answer.status for answer in answers) == {200: 5, 429: 95}
        assert await _used(gateway, account_id) == 5
        assert (await written(gateway))["messages"] == 6
        assert (await gateway.call("POST", SEND, TEXT)).status == 200


async def test_a_refused_send_takes_nothing_of_the_plan(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, **SMALL) as gateway:
        account_id, (key,) = await _tenant(gateway)
        for bad in ({"phone": "x", "body": "Hello"}, TEXT | {"body": ""}, TEXT | {"reply_to": "0" * 32}):
            assert (await gateway.call("POST", SEND, bad, key=key)).status == 422
        assert await _used(gateway, account_id) == 0


async def test_a_new_month_starts_at_zero(database_url: str) -> None:
    clock = MovableClock(datetime(2030, 1, 31, 23, 59, 50, tzinfo=UTC))
    async with running_gateway(database_url, clock=clock, **SMALL) as gateway:
        account_id, (key,) = await _tenant(gateway)
        for _ in range(5):
            assert (await gateway.call("POST", SEND, TEXT, key=key)).status == 200
        over = await gateway.call("POST", SEND, TEXT, key=key)
        _check_over(over, clock.now())
        clock.advance(int(over.headers["retry-after"]))
        assert clock.now().month == 2
        assert await _used(gateway, account_id) == 0
        assert (await gateway.call("POST", SEND, TEXT, key=key)).status == 200
        assert await _used(gateway, account_id) == 1


async def test_a_larger_plan_helps_at_once(parted_database_url: str) -> None:
    clock = MovableClock(datetime.now(UTC))
    async with running_gateway(parted_database_url, clock=clock, security__key_cache_seconds=0, **SMALL) as gateway:
        account_id, (key,) = await _tenant(gateway)
        answers = [await gateway.call("POST", SEND, TEXT, key=key) for _ in range(6)]
        _check_over(answers[-1], clock.now())
        await accounts.change_plan(gateway.db, account_id, "starter", plans=gateway.settings.plans)
        assert (await gateway.call("POST", SEND, TEXT, key=key)).status == 200
        assert await _used(gateway, account_id) == 6


async def test_a_plan_that_is_not_in_the_settings_is_named(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, **SMALL) as gateway:
        account_id = await gateway.new_account("small")
        await gateway.db.execute("UPDATE accounts SET plan = 'gold' WHERE id = $1", account_id)
        channel = await gateway.new_channel(account_id, "15551000009", "200000000000009")
        key = await gateway.new_key(channel.id)
        for method, path, body in (("POST", SEND, TEXT), ("GET", "/api/v1/usage", None)):
            answer = await gateway.call(method, path, body, key=key)
            check_refused(answer, 500, "internal_error")
            assert 'The plan "gold" of this account is not in the settings' in answer.json()["message"]
        await accounts.change_plan(gateway.db, account_id, "small", plans=gateway.settings.plans)
        answer = await gateway.call("POST", SEND, TEXT, key=await gateway.new_key(channel.id))
        assert answer.status == 200, answer.body
