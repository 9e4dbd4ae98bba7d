"""Many channels that begin: no sender waits behind the other tasks of channels that came before."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from gatepost.channel_turns import _OTHERS, _SENDERS, ChannelStarts
from tests.patience import PATIENCE


async def take_all_places(starts: ChannelStarts) -> None:
    """Take as many places as there are for senders, and fail if there is one more."""
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE):
        for _ in range(_SENDERS):
            await stack.enter_async_context(starts.place())
        one_more = asyncio.create_task(stack.enter_async_context(starts.place()))
        await asyncio.sleep(0)
        assert not one_more.done()
        one_more.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one_more


@pytest.mark.parametrize("interrupted", [False, True])
async def test_senders_have_their_places_whatever_the_other_tasks_do(interrupted: bool) -> None:
    starts, hold = ChannelStarts(), asyncio.Event()
    settled: list[int] = []

    async def begin(number: int) -> None:
        async with starts.place() as settle:
            await settle()
            settled.append(number)
            await hold.wait()

    starts.end()  # nobody waits for the end of a crowd
    channels = [asyncio.create_task(begin(number)) for number in range(3 * _SENDERS)]
    async with asyncio.timeout(PATIENCE):
        while len(settled) < _OTHERS:
            await asyncio.sleep(0)
    await take_all_places(starts)
    assert len(settled) == _OTHERS
    if interrupted:
        for channel in channels:
            channel.cancel()
    else:
        hold.set()
    await asyncio.gather(*channels, return_exceptions=True)
    assert len(settled) == (_OTHERS if interrupted else len(channels))
    await take_all_places(starts)
