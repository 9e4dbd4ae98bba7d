"""A campaign through the whole gateway: the network counts the conversations for itself, and never has to say no.

    60 people, 20 a day ─► 20 ─► half a day later the network reports 40 ─► 20 more ─► the next day, the rest

Both clocks are moved: the network's by its control API, ours by the test.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from gatepost.clock import SystemClock
from gatepost_sandbox import SandboxSettings
from tests.outbound.test_campaign import most_in_a_day, people
from tests.patience import PATIENCE
from tests.running_gateway import FAST_NETWORK, Gateway, running_gateway

WABA, NUMBER = "200000000000001", "100000000000007"
HALF_DAY = 12 * 3600
LIMITS = {"throughput": None, "pair_interval": None, "window": "sync", "tier": 20, "ladder": [20, 40]}
NETWORK = msgspec.convert(
    {
        "delays": {"sent": 0.01, "delivered": 0.02, "read": 0.03},
        "limits": {**LIMITS, "rise_after": HALF_DAY},
        "callbacks": {"batch_max": 100},
    },
    SandboxSettings,
)
TEMPLATE = {"name": "hello_world", "language": "en_US"}


class ShiftedClock(SystemClock):
    """Time runs, and can be moved on by whole days; what is measured in seconds does not notice."""

    def __init__(self) -> None:
        self.shift = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.shift


@pytest.fixture
async def gateway(database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway whose number may open twenty conversations a day, at a network that holds it to that."""
    async with running_gateway(database_url, clock=ShiftedClock(), sandbox=NETWORK) as one:
        limits = FAST_NETWORK | {"tier": 20, "window": 1}
        channel = await one.new_channel(one.account_id, "15550007777", NUMBER, limits=limits, waba_id=WABA)
        one.key = await one.new_key(channel.id)
        read = await one.call("POST", "/api/v1/templates/sync")
        assert read.status == 200, read.body
        yield one


async def half_a_day_later(gateway: Gateway) -> None:
    """Time moves on, at the network first: all that it tells meanwhile has come in."""
    await gateway.sandbox("POST", "/control/clock", {"advance": HALF_DAY + 5, "ordered": False})
    assert isinstance(gateway.clock, ShiftedClock)
    gateway.clock.shift += timedelta(seconds=HALF_DAY + 5)


async def accepted(gateway: Gateway) -> list[Any]:
    """What the network took from the number."""
    found = await gateway.sandbox("GET", f"/control/ledger?kind=accepted&phone_number_id={NUMBER}")
    entries: list[Any] = found["entries"]
    return entries


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await check():
            await asyncio.sleep(0.05)


async def until_sent(gateway: Gateway, count: int) -> None:
    """Waits for so many messages at the network, and a moment longer: there are to be no more."""

    async def there() -> bool:
        return len(await accepted(gateway)) >= count

    await until(there)
    await asyncio.sleep(0.7)  # a whole round of those who wait
    assert len(await accepted(gateway)) == count


async def shown(gateway: Gateway) -> Any:
    return (await gateway.call("GET", "/api/v1/channel")).json()["data"]


async def test_the_network_counts_as_we_do_and_its_word_on_the_tier_is_taken(gateway: Gateway) -> None:
    phones = people(60)
    campaign = {"type": "template", "template": TEMPLATE, "priority": "bulk", "ttl": 7 * 86_400}
    ids = await asyncio.gather(*(gateway.send(phone=phone, **campaign) for phone in phones))
    await until_sent(gateway, 20)
    assert (await shown(gateway))["waiting"]["because"] == "The number may open no more conversations within 24 hours"

    await gateway.sandbox("POST", "/control/say", {"phone_number_id": NUMBER, "from": "447700900123", "text": "Hello?"})
    await until_open(gateway, "447700900123")
    reply = await gateway.send(phone="447700900123", body="Good morning")
    await gateway.until_status(reply, "READ")

    await half_a_day_later(gateway)
    await until_sent(gateway, 20 + 1 + 20)
    seen = await shown(gateway)
    assert (seen["limits"]["tier"], seen["tier"]["used"], seen["tier"]["free"]) == (40, 40, 0)

    await half_a_day_later(gateway)
    await until_sent(gateway, 60 + 1)
    taken = [entry for entry in await accepted(gateway) if entry["type"] == "template"]
    assert sorted(entry["to"] for entry in taken) == phones, "each of them once"
    assert most_in_a_day([entry["at"] for entry in taken]) == 40
    refused = await gateway.sandbox("GET", f"/control/ledger?kind=refused&phone_number_id={NUMBER}")
    assert refused["entries"] == [], "we never asked for more than the network allows"
    for id_ in (ids[0], ids[-1]):
        await gateway.until_status(id_, "READ")


async def until_open(gateway: Gateway, phone: str) -> None:
    """Waits until what a person wrote has come in."""

    async def there() -> bool:
        async with gateway.db.connection() as conn:
            return bool(await conn.fetchval("SELECT 1 FROM contacts WHERE phone = $1", phone))

    await until(there)
