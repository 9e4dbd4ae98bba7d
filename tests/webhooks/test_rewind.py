"""A rewind while POSTs are in flight: order is kept, and no conversation waits for a finished delivery."""

import asyncio
from collections.abc import Iterable
from uuid import UUID

from gatepost.model.endpoint import DeliveryOptions
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.webhooks.delivery_buffer import DeliveryBuffer
from gatepost.webhooks.delivery_request import DeliveryUnit
from tests.movable_clock import MovableClock
from tests.outbound import stage as outbound
from tests.outbound.stage import NOW
from tests.patience import PATIENCE
from tests.webhooks.stage import ANA, Stage, event_ids
from tests.webhooks.test_owned_endpoints import Owned, own

ORDERED = DeliveryOptions(ordered=True)


def due(number: int, key: int = 1) -> DueDelivery:
    return DueDelivery(UUID(int=number), b"{}", 0, key=UUID(int=key))


def under_way() -> DeliveryBuffer:
    """A buffer that was rewound while event 5 is in flight and a page with 6 and 7 is being read."""
    buffer = DeliveryBuffer(UUID(int=4), ORDERED)
    buffer.place(buffer.accept_page([due(5)], 1), 0.0)
    buffer.ready.popleft()
    buffer.begin_read()
    buffer.rewind(ORDERED, [DeliveryUnit((due(5),))])
    assert buffer.place(buffer.accept_page([due(6), due(7), due(8, key=2)], 10), 0.0) == []
    assert list(buffer.ready) == [(due(8, key=2),)]  # the others wait for what is in flight
    buffer.ready.clear()
    return buffer


def test_what_was_read_meanwhile_is_sent_after_what_is_in_flight() -> None:
    buffer, went = under_way(), []
    for _ in range(2):
        buffer.continue_with([UUID(int=1)], 0.0)
        went.append(buffer.ready.popleft())
        assert not buffer.ready
    assert went == [(due(6),), (due(7),)]


def test_what_was_read_meanwhile_is_deferred_if_what_is_in_flight_fails() -> None:
    buffer = under_way()
    assert buffer.drain([UUID(int=1)]) == [due(6), due(7)]
    buffer.continue_with([UUID(int=1)], 0.0)
    assert not buffer.ready
    assert buffer.place([due(9)], 0.0) == [due(9)]


async def test_a_conversation_does_not_wait_for_a_finished_delivery(stage: Stage) -> None:
    """The rewind happens between the last step of a delivery and the end of its task."""
    hook = await stage.add(ordered=True)
    await stage.take_over()
    (one,) = stage.deliverers.values()
    go_on, rewound = one._buffer.continue_with, asyncio.Event()

    def and_then_wind_back(keys: Iterable[UUID], now: float) -> None:
        go_on(keys, now)
        if not rewound.is_set():
            asyncio.get_running_loop().call_soon(one._rewind)
            rewound.set()

    one._buffer.continue_with = and_then_wind_back  # type: ignore[method-assign]
    emitted = event_ids(await stage.emit(1, ANA))
    await stage.settle()
    assert rewound.is_set()
    emitted += event_ids(await stage.emit(2, ANA))
    await stage.settle()
    assert stage.events_at() == emitted
    assert one.target.id == hook
    assert one._buffer.busy == []


# -- the owner's look at the endpoints ---------------------------------------------------------------------------------


class Slow(Owned):
    """An owner whose first read takes longer than the interval between two reads."""

    def __init__(self, stage: Stage, sender: ChannelSender, lease: Lease) -> None:
        super().__init__(stage, sender, lease)
        self.clock = MovableClock(NOW)
        self.owned = own(stage, self.clock, self.lease)
        self.go, self.looks, self.at_once, self.most = asyncio.Event(), 0, 0, 0

    async def tune(self) -> None:
        self.looks, self.at_once = self.looks + 1, self.at_once + 1
        self.most = max(self.most, self.at_once)
        await self.go.wait()
        self.at_once -= 1


async def test_endpoints_are_never_read_twice_at_once(stage: Stage) -> None:
    await stage.add()
    await stage.take_over()
    assert stage.lease is not None
    slow = Slow(stage, await (await outbound.make_stage(stage.db)).take_over(), stage.lease)
    beginning = asyncio.create_task(slow.owned.begin(slow))
    async with asyncio.timeout(PATIENCE):
        while not slow.looks:
            await asyncio.sleep(0.01)
        slow.clock.advance(5)
        slow.owned.wake()
        await asyncio.sleep(0.1)
        slow.go.set()
        await beginning
        while slow.looks < 2:
            await asyncio.sleep(0.01)
    await slow.owned.end()
    assert (slow.most, slow.made) == (1, 1)


async def test_a_read_that_runs_at_the_end_starts_no_deliverer(stage: Stage) -> None:
    await stage.take_over()
    assert stage.lease is not None
    slow = Slow(stage, await (await outbound.make_stage(stage.db)).take_over(), stage.lease)
    slow.go.set()
    await slow.owned.begin(slow)
    await stage.add()
    slow.go.clear()
    slow.clock.advance(5)
    slow.owned.refresh()
    async with asyncio.timeout(PATIENCE):
        while slow.looks < 2:
            await asyncio.sleep(0.01)
        await slow.owned.end()
    slow.go.set()
    slow.owned.wake()
    await asyncio.sleep(0.1)
    assert slow.made == 0
