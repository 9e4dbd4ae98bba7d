"""Deliverers that wake at the same moment read their queues with one statement; each gets its own deliveries."""

import pytest

from gatepost.model import ids
from gatepost.store.deliveries.queue import PendingRead, read_pending, read_pending_ordered
from gatepost.store.pool import Database
from tests.outbound.stage import make_stage
from tests.store.delivery_rows import add_deliveries, add_endpoint, add_events


@pytest.mark.parametrize("ordered", [False, True])
async def test_each_endpoint_gets_its_own_deliveries_up_to_its_limit(db: Database, ordered: bool) -> None:
    one, other = await make_stage(db), await make_stage(db)
    first, second = [await add_endpoint(db, one.channel_id) for _ in range(2)]
    third = await add_endpoint(db, other.channel_id)
    events, others = await add_events(db, one.channel_id, 5), await add_events(db, other.channel_id, 2)
    await add_deliveries(db, one.channel_id, first, events, 0, attempts=0)
    await add_deliveries(db, one.channel_id, second, events, [0, 1, 0, 1, 0], attempts=0)  # two are delivered
    await add_deliveries(db, other.channel_id, third, others, 0, attempts=0)
    reads = [
        (one.channel_id, first, ids.ZERO, 3),
        (one.channel_id, second, events[1], 10),
        (other.channel_id, third, others[0], 10),
        (other.channel_id, first, ids.ZERO, 10),  # an endpoint of another channel
        (one.channel_id, first, events[4], 10),
    ]
    wanted = [PendingRead(*read) for read in reads]
    if ordered:
        found = [await read_pending_ordered(db, read) for read in wanted]
    else:
        together = await read_pending(db, wanted)
        found = [together.get(read, []) for read in wanted]
    assert [[due.event_id for due in page] for page in found] == [
        events[:3],
        [events[2], events[4]],
        others[1:],
        [],
        [],
    ]
