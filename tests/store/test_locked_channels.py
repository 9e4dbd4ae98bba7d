"""Channels that are locked for long, more than there are workers, do not delay what only a channel alone can write."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

from gatepost.model.message import State
from gatepost.model.send_request import SendRequest
from gatepost.networks.base import Incoming
from gatepost.outbound.send_recorder import SendRecorder
from gatepost.store.channel_head import Lease
from gatepost.store.leases import claim_channel
from gatepost.store.messages.accept import AcceptResult
from gatepost.store.messages.intents import Intent
from gatepost.store.messages.send import SendResult
from tests.inbound.incoming_messages import ANA, message_from
from tests.outbound.conftest import common_url, db, stage
from tests.outbound.stage import Stage
from tests.patience import PATIENCE
from tests.store.test_quota import more_channels

__all__ = ["common_url", "db", "stage"]
LOCKED = 6  # the workers of a batch are four


@asynccontextmanager
async def locked(stage: Stage, channel_ids: Sequence[UUID]) -> AsyncIterator[None]:
    async with stage.db.transaction() as conn:
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await conn.execute(
            "SELECT 1 FROM channel_heads WHERE channel_id = ANY ($1::uuid[]) ORDER BY channel_id FOR NO KEY UPDATE",
            channel_ids,
        )
        yield


async def test_messages_of_people(stage: Stage) -> None:
    channels = [caller.channel_id for caller in await more_channels(stage, LOCKED + 2)]
    held, free = channels[:LOCKED], channels[LOCKED:]

    async def arrive(channel_id: UUID) -> Incoming:
        message = message_from(stage, ANA)
        await stage.receiver.receive(channel_id, stage.ref, [message])
        return message

    async with locked(stage, held):
        waiting = [asyncio.create_task(arrive(channel_id)) for channel_id in held]
        async with asyncio.timeout(PATIENCE):
            arrived = [await arrive(channel_id) for _ in range(3) for channel_id in free]
            arrived += await asyncio.gather(*(arrive(channel_id) for channel_id in free for _ in range(2)))
        assert not any(task.done() for task in waiting)
    arrived += await asyncio.gather(*waiting)
    rows = await stage.db.fetch("SELECT network_id FROM messages WHERE channel_id = ANY ($1::uuid[])", channels)
    assert sorted(row["network_id"] for row in rows) == sorted(message.network_id for message in arrived)


async def test_failed_sends(stage: Stage) -> None:
    recorder = SendRecorder(stage.db, stage.clock, 0.0)
    callers = await more_channels(stage, LOCKED + 1)
    leases: dict[UUID, Lease] = {}
    messages: dict[UUID, UUID] = {}
    for stage.caller in callers:
        lease = await claim_channel(stage.db, stage.caller.channel_id, uuid4(), 3600)
        assert lease
        leases[lease.channel_id], messages[lease.channel_id] = lease, await stage.accept(ANA.phone or "")
        await recorder.intend(lease, Intent(messages[lease.channel_id], 1, False))

    async def fail(channel_id: UUID) -> State:
        result = SendResult(messages[channel_id], 1, State.FAILED, error={"code": 1, "title": "No", "details": None})
        return await recorder.finish(leases[channel_id], stage.ref, result)

    *held, free = messages
    async with locked(stage, held):
        waiting = [asyncio.create_task(fail(channel_id)) for channel_id in held]
        async with asyncio.timeout(PATIENCE):
            assert await fail(free) is State.FAILED
        assert not any(task.done() for task in waiting)
    assert await asyncio.gather(*waiting) == [State.FAILED] * LOCKED


async def test_batches_of_messages(stage: Stage) -> None:
    busy, free = await more_channels(stage, 2)
    batch = [SendRequest(phone=ANA.phone or "", body="Hello")]
    async with locked(stage, [busy.channel_id]):
        waiting = [asyncio.create_task(stage.acceptor.accept_many(busy, batch)) for _ in range(stage.db.slots.total)]
        await asyncio.sleep(0)
        (accepted,) = await stage.acceptor.accept_many(free, batch)
        assert isinstance(accepted, AcceptResult)
        assert not any(task.done() for task in waiting)
    assert all(isinstance(one, AcceptResult) for (one,) in await asyncio.gather(*waiting))
