"""Results and statuses of many channels in one statement: each channel gets its own, and the work grows with them."""

from uuid import UUID

import msgspec
import pytest

from gatepost.model.event import NewEvent, render
from gatepost.model.event.acknowledgements import AckMessage
from gatepost.model.message import State
from gatepost.store.messages.intents import Intent, mark_sending
from gatepost.store.messages.progress import ChannelProgress, write_progress
from gatepost.store.messages.receive import ReportBatch, receive_updates
from gatepost.store.messages.send import SendResult, mark_results
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage
from tests.store.messages.test_progress import PHONE, PRICING, check_log, make_stages, sending, sent, status
from tests.store.query_plans import explained_database

CHANNELS = 24


async def test_each_channel_gets_its_own_values(db: Database) -> None:
    """Some have details, an alias or several reports of a message; the lists of the others are empty there."""
    plain, detailed, result, repeated = await make_stages(db, 4)
    first, second, third = [await sending(stage) for stage in (plain, detailed, repeated)]
    others = [await result.accept(PHONE), await result.accept("551199998888")]  # two forms of one number
    await mark_sending(db, result.lease, [Intent(id_, 1, False) for id_ in others], NOW)
    more = {"pricing": PRICING, "conversation": {"id": "c\x1d\x1e"}}
    batch = {
        plain.channel_id: ChannelProgress(plain.ref, [status(first, State.SENT)]),
        detailed.channel_id: ChannelProgress(detailed.ref, [status(second, State.DELIVERED, details=more)]),
        result.channel_id: ChannelProgress(
            result.ref, [sent(id_) for id_ in others], result.lease.epoch, [None, "551199998888"]
        ),
        repeated.channel_id: ChannelProgress(
            repeated.ref, [status(third, State.READ), status(third, State.DELIVERED), status(third, State.PLAYED)]
        ),
    }
    assert await write_progress(db, batch, NOW, wait=False) == {
        plain.channel_id: [State.SENT],
        detailed.channel_id: [State.DELIVERED],
        result.channel_id: [State.SENT] * 2,
        repeated.channel_id: [State.READ, State.READ, State.PLAYED],
    }
    expected = {(plain, first): None, (detailed, second): more, (repeated, third): None}
    for (stage, id_), details in expected.items():
        row = (await check_log(stage))[-1]
        state = (await stage.message(id_)).state
        before = "READ" if state is State.PLAYED else "PENDING"
        data = AckMessage.of(
            id_=id_, phone=PHONE, state=state, previous=before, client_ref=None, error=None, details=details
        )
        assert row["body"] == render(NewEvent(row["id"], data), row["seq"], stage.ref, NOW)
    names = {row["id"]: row["network_id"] for row in await result.rows("messages")}
    assert names == {id_: f"wamid.{id_.hex}" for id_ in others}


@pytest.mark.parametrize("mark", ["\x1d", "\x1e"])
async def test_a_name_with_the_mark_between_values_stays_whole(stage: Stage, mark: str) -> None:
    await stage.take_over()
    id_ = await sending(stage)
    name, alias = f"wamid.1{mark}2", f"49151{mark}00001"
    result = SendResult(id_, 1, State.SENT, name, alias=alias)
    assert await mark_results(stage.db, stage.lease, stage.ref, [result], NOW) == [State.SENT]
    (row,) = await stage.rows("messages")
    assert row["network_id"] == name
    assert alias in {row["alias"] for row in await stage.rows("contact_aliases")}
    report = msgspec.structs.replace(status(id_, State.READ), network_id=name)
    await receive_updates(stage.db, stage.ref, stage.channel_id, ReportBatch([report]), NOW)
    assert await stage.acks(id_) == ["PENDING", "SENT", "READ"]


async def test_the_work_grows_with_the_channels_and_not_with_their_pairs(database_url: str) -> None:
    async with explained_database(database_url) as (db, plans):
        await make_partitions(db, NOW, 7)
        stages = await make_stages(db, CHANNELS)
        found = [await sending(stage) for stage in stages]
        plans.clear()
        await write_progress(db, _batch(stages, found), NOW, wait=False)
        (plan,) = plans
    for node in plan.nodes():
        seen = node["Actual Rows"] + node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Join Filter", 0)
        assert seen * node["Actual Loops"] <= 2 * CHANNELS, node


def _batch(stages: list[Stage], found: list[UUID]) -> dict[UUID, ChannelProgress]:
    return {
        stage.channel_id: ChannelProgress(stage.ref, [status(id_, State.SENT)])
        for stage, id_ in zip(stages, found, strict=True)
    }
