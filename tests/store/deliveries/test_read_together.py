"""Deliverers that wake at the same moment read their queues with one statement; each gets its own deliveries."""

import pytest

from gatepost.model import ids
from gatepost.store.deliveries.queue import PENDING_AT_ONCE, PendingRead, read_pending, read_pending_ordered
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, make_stage
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
        found = [together[read] for read in wanted]
    assert [page.limit for page in found] == [3, 10, 10, 10, 10]
    assert [[due.event_id for due in page.due] for page in found] == [
        events[:3],
        [events[2], events[4]],
        others[1:],
        [],
        [],
    ]


async def test_many_endpoints_get_shorter_pages(db: Database) -> None:
    stage = await make_stage(db)
    hook = await add_endpoint(db, stage.channel_id)
    events = await add_events(db, stage.channel_id, 52)
    await add_deliveries(db, stage.channel_id, hook, events, 0, attempts=0)
    others = [PendingRead(stage.channel_id, ids.new_id(NOW), ids.ZERO, 200) for _ in range(PENDING_AT_ONCE - 1)]
    for read, limit in ((200, 50), (50, 50), (49, 49)):
        wanted = PendingRead(stage.channel_id, hook, ids.ZERO, read)
        page = (await read_pending(db, [*others, wanted]))[wanted]
        assert (page.limit, [due.event_id for due in page.due]) == (limit, events[:limit])
