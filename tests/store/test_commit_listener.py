"""Every commit that gives a channel's owner something to do is reported, once it is durable and not before."""

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID

from gatepost.model import ids
from gatepost.model.delivery import EXHAUSTED
from gatepost.model.endpoint import DeliveryOptions, HealthCounters
from gatepost.model.event.endpoints import EndpointPaused
from gatepost.model.message import State
from gatepost.services.deliveries import check_retry
from gatepost.store import endpoints, links
from gatepost.store.channel_head import channel_transaction
from gatepost.store.channels import save_connection
from gatepost.store.deliveries.recover import RecoveryFilter, add_recovery, recover_next
from gatepost.store.deliveries.retry import retry_deliveries
from gatepost.store.endpoints import EndpointChange, EndpointNotice, EndpointStateChange, save_state_change
from gatepost.store.idempotency import NEVER
from gatepost.store.messages.amend import amend_own
from gatepost.store.messages.cancel import cancel_messages
from gatepost.store.messages.intents import Intent, mark_sending
from gatepost.store.messages.send import SendResult, mark_results
from gatepost.store.numbers import save_number
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store import delivery_rows

PERSON = "5511987654321"
SENDER, OTHERS = [True], [False]  # what is woken: the sender too, or all but the sender


def take(stage: Stage) -> list[bool]:
    """Take the commits since the last look: whether each was for the sender too."""
    assert {channel_id for channel_id, _ in stage.commits} <= {stage.channel_id}
    found = [sending for _, sending in stage.commits]
    stage.commits.clear()
    return found


async def test_messages(stage: Stage) -> None:
    await stage.take_over()
    first, second = await stage.accept(PERSON, "one"), await stage.accept(PERSON, "two")
    assert take(stage) == SENDER + SENDER
    await cancel_messages(stage.db, stage.ref, stage.channel_id, [second], NOW)
    assert take(stage) == SENDER
    await mark_sending(stage.db, stage.lease, [Intent(first, 1, False)], NOW)
    assert take(stage) == [], "an intent is the owner's own, and changes nothing for others"
    await mark_results(stage.db, stage.lease, stage.ref, [SendResult(first, 1, State.SENT, "wamid.1")], NOW)
    assert take(stage) == OTHERS
    await stage.report(first, "delivered")
    await stage.receive_text(PERSON)
    assert take(stage) == OTHERS + OTHERS
    await amend_own(stage.db, stage.ref, stage.channel_id, first, "edit", {"body": "1"}, NOW)
    assert take(stage) == SENDER


async def test_messages_of_several_channels_in_one_commit(stage: Stage, db: Database) -> None:
    other = await make_stage(db)
    other.acceptor = stage.acceptor
    stages = [stage, other]
    await asyncio.gather(*(one.accept(PERSON, str(i)) for i in range(5) for one in stages))
    assert {channel_id for channel_id, _ in stage.commits} == {one.channel_id for one in stages}
    assert all(sending for _, sending in stage.commits)


async def test_endpoints(stage: Stage) -> None:
    hook = ids.new_id(NOW)
    here = stage.db, stage.channel_id
    new: dict[str, Any] = {"url": "http://127.0.0.1:9/", "events": ["message_notification"], "headers": {}}
    await endpoints.insert_endpoint(*here, hook, **new, secret=b"a", options=DeliveryOptions(), limit=20, now=NOW)
    assert take(stage) == SENDER
    await endpoints.update_endpoint(*here, hook, EndpointChange(url="http://127.0.0.1:8/"), NOW)
    await endpoints.set_endpoint_state(
        stage.db, stage.ref, stage.channel_id, hook, EndpointChange(state="disabled"), NOW
    )
    await endpoints.replace_secret(*here, hook, b"a", b"b", NOW)
    await endpoints.delete_endpoint(*here, hook)
    assert take(stage) == SENDER * 4


async def test_an_endpoint_that_fails(stage: Stage) -> None:
    await stage.take_over()
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    change, notice = (
        EndpointStateChange("active", "paused", HealthCounters()),
        EndpointNotice(EndpointPaused, "It fails"),
    )
    assert await save_state_change(stage.db, stage.lease, stage.ref, hook, change, [notice], NOW)
    assert take(stage) == OTHERS
    assert not await save_state_change(stage.db, stage.lease, stage.ref, hook, change, [notice], NOW)
    assert take(stage) == OTHERS, "it was changed meanwhile: its deliverer reads it again"


async def test_deliveries_that_are_asked_for_again(stage: Stage) -> None:
    await stage.take_over()
    hook = await delivery_rows.add_endpoint(stage.db, stage.channel_id)
    (event,) = await delivery_rows.add_events(stage.db, stage.channel_id, 1)
    await delivery_rows.add_deliveries(stage.db, stage.channel_id, hook, [event], EXHAUSTED, attempts=10)
    await retry_deliveries(stage.db, stage.channel_id, [(hook, event)], check_retry, NOW)
    assert take(stage) == SENDER
    everything = RecoveryFilter(ids.ZERO, UUID(int=(1 << 128) - 1), None, None)
    recovery = await add_recovery(stage.db, stage.channel_id, hook, everything, NEVER, NOW)
    assert take(stage) == SENDER
    assert await recover_next(stage.db, stage.lease, recovery.id, NOW, waiting_max=1) == "held"
    assert take(stage) == [], "the recovery would wake itself, time and again"
    assert await recover_next(stage.db, stage.lease, recovery.id, NOW) == "done"
    assert take(stage) == OTHERS


async def test_the_channel_itself(stage: Stage) -> None:
    await links.request_link(stage.db, stage.channel_id, NOW, wanted=True)
    assert take(stage) == SENDER
    await save_connection(stage.db, stage.ref, stage.channel_id, "limited", "Too fast", NOW)
    await save_number(stage.db, stage.ref, stage.channel_id, {"quality": "low"}, None, NOW)
    assert take(stage) == OTHERS * 2


async def test_a_change_is_reported_after_its_commit_and_only_then(stage: Stage) -> None:
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, NOW):
        assert stage.commits == []
    assert take(stage) == SENDER
    with suppress(ZeroDivisionError):
        async with channel_transaction(stage.db, stage.ref, stage.channel_id, NOW):
            raise ZeroDivisionError
    assert take(stage) == [], "nothing was committed"
