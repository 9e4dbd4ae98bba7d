"""kill -9 between the receiver's 200 and our commit, for batches and for order: again, under the same id, in order."""

import asyncio
import signal
from collections import defaultdict

import pytest

from gatepost.model import ids
from gatepost.model.endpoint import DeliveryOptions
from gatepost.store.endpoints import EndpointChange, list_endpoints, update_endpoint
from tests.conftest import Received, Receiver
from tests.faults.clients import Clients
from tests.faults.run_records import until_settled
from tests.faults.stage import running_stage
from tests.thorough import rotated

OPTIONS = {
    "batches": DeliveryOptions(batch=100, batch_wait=0.05),
    "order": DeliveryOptions(ordered=True),
    "ordered batches": DeliveryOptions(ordered=True, batch=3, batch_wait=0.02),
}


POINTS = ("Poster.send:after:2", "record_successes:before:3")


def events_in(request: Received) -> list[str]:
    body = request.json()
    return [event["id"] for event in body.get("events", [body])]


@pytest.mark.parametrize(("name", "point"), rotated([(name, point) for name in OPTIONS for point in POINTS], 3))
async def test_what_was_answered_but_not_recorded_comes_again(
    name: str, point: str, database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel(throughput=150)
        (hook,) = await list_endpoints(stage.db, stage.channel_id)
        change = EndpointChange(options=OPTIONS[name])
        await update_endpoint(stage.db, stage.channel_id, hook.id, change, hook.updated_at)
        clients = Clients(stage)
        killed = await stage.start(point=point)
        sending = asyncio.create_task(clients.send_while(lambda: killed.alive, recipients=3, each=3))
        assert await killed.ended() == -signal.SIGKILL, "the point was never reached"
        await stage.start()
        await sending
        await until_settled(stage, len(clients.accepted_ids))
        rows = await stage.rows(
            "SELECT e.id, e.conversation_id, d.state FROM events e JOIN deliveries d ON d.event_id = e.id"
        )
        assert {row["state"] for row in rows} == {1}
        came = [event for request in receiver.requests for event in events_in(request)]
        assert set(came) == {ids.format_id("evt", row["id"]) for row in rows}
        assert len(came) > len(set(came)), "what the dead one had posted came again"
        for request in receiver.requests:
            prefix = "bat_" if "events" in request.json() else "evt_"
            assert request.headers["webhook-id"].startswith(prefix)
        if OPTIONS[name].ordered:
            lines: dict[object, list[str]] = defaultdict(list)
            about = {ids.format_id("evt", row["id"]): row["conversation_id"] for row in rows}
            for event in dict.fromkeys(came):
                lines[about[event]].append(event)
            assert all(line == sorted(line) for line in lines.values())
