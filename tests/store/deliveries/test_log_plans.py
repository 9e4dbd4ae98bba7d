"""The plans of the delivery log by HTTP class and by message, and of the figures by hour: bounded, by the keys."""

from datetime import timedelta
from uuid import UUID

from gatepost.model import ids
from gatepost.store.deliveries.figures import HOURS, SAMPLE, read_hour_figures
from gatepost.store.deliveries.log import DeliveryFilter, read_page
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW
from tests.store.query_plans import Explained, fill

CHANNEL, ENDPOINT = UUID(int=1), UUID(int=2)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
LAST_HOUR = NOW.replace(minute=0, second=0, microsecond=0)
SCAN, PAGE = 500, 20


async def fill_database(url: str) -> None:
    plain = await Database.connect(url, connections=1)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    await fill(url, CHANNEL, ENDPOINT, count=2_400, start=LAST_HOUR - DAY, end=LAST_HOUR, salt="day")
    await fill(url, CHANNEL, ENDPOINT, count=SAMPLE + 500, start=LAST_HOUR, end=LAST_HOUR + HOUR, salt="hour")


async def test_figures_read_a_sample_of_each_hour(explained: Explained) -> None:
    db, plans = explained
    hours = await read_hour_figures(db, CHANNEL, ENDPOINT, NOW)
    assert [(one.delivered, one.failed, one.complete) for one in hours[:-1]] == [(100, 0, True)] * (HOURS - 1)
    assert (hours[-1].delivered, hours[-1].complete) == (SAMPLE, False)
    assert {one.p50_ms for one in hours} == {5}
    (plan,) = plans
    assert plan.seq_scans() == []
    assert plan.rows_read <= SAMPLE + 2_400


async def test_a_page_by_http_class_is_bounded(explained: Explained) -> None:
    db, plans = explained
    filter_ = DeliveryFilter(endpoint_id=ENDPOINT, classes=(5, 0))
    page = await read_page(db, CHANNEL, filter_, None, scan=SCAN, limit=PAGE)
    assert (page.found, page.reached is not None) == ([], True)
    assert [plan.query for plan in plans if plan.seq_scans()] == []
    assert sum(plan.rows_read for plan in plans) <= 4 * SCAN
    page = await read_page(db, CHANNEL, DeliveryFilter(classes=(2,)), None, scan=SCAN, limit=PAGE)
    assert len(page.found) == PAGE


async def test_the_events_of_a_message_are_looked_up(explained: Explained) -> None:
    db, plans = explained
    async with db.connection() as conn:
        rows = await conn.fetch("SELECT event_id FROM deliveries WHERE channel_id = $1 ORDER BY event_id", CHANNEL)
    event_ids = tuple(row["event_id"] for row in (rows[0], rows[2_000], rows[-1]))
    plans.clear()
    filter_ = DeliveryFilter(endpoint_id=ENDPOINT, event_ids=(*event_ids, ids.ZERO), classes=(2,))
    page = await read_page(db, CHANNEL, filter_, None, scan=SCAN, limit=PAGE)
    assert [one.event_id for one in page.found] == list(event_ids[::-1])
    assert page.reached is None
    assert [plan.query for plan in plans if plan.seq_scans()] == []
    assert sum(plan.rows_read for plan in plans) <= 20
