"""A recovery where nothing has happened: it is done at once, and says that it goes up to no moment."""

from datetime import timedelta

from gatepost.api.contract.deliveries import Recovery
from gatepost.model import ids
from gatepost.store.deliveries.recover import RecoveryRow
from tests.outbound.stage import NOW
from tests.running_gateway import Gateway

HOOKS = "/api/v1/webhooks"


async def test_a_channel_without_events(gateway: Gateway) -> None:
    hook = (await gateway.call("POST", HOOKS, {"url": "http://127.0.0.1:54321/"})).json()["data"]["id"]
    made = await gateway.call("POST", f"{HOOKS}/{hook}/recover", {"since": "2026-01-01T00:00:00Z"})
    assert made.status == 201, made.body
    assert made.json()["data"]["until"] is None


def test_the_end_is_reported_where_there_is_one() -> None:
    since, later = NOW - timedelta(hours=1), NOW
    ends = {
        ids.floor_id(later): "2026-11-15T10:00:00.000Z",
        ids.floor_id(since): None,
        ids.floor_id(since - timedelta(hours=1)): None,
    }
    for end, shown in ends.items():
        one = RecoveryRow(ids.new_id(NOW), ids.ZERO, ids.floor_id(since), end, None, None, ids.ZERO, 0, NOW, None)
        assert Recovery.of(one).until == shown
