"""The refused requests of keys in memory and in the database: their limits, an outage, and the plans of their list."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest

from gatepost.access.refusal_recorder import GROUPS, GROUPS_PER_KEY, MESSAGE_MAX, Refusal, RefusalRecorder
from gatepost.admin import keys
from gatepost.model.account import key_hash, new_key
from gatepost.store.pool import Database
from gatepost.store.refused_requests import ROWS_PER_KEY, RefusedRow, forget_refused, list_refused
from tests.movable_clock import MovableClock
from tests.outbound.stage import NOW, make_stage
from tests.store.query_plans import explained_database

REFUSAL = Refusal("POST", "/api/v1/labels", 422, "invalid_field", "name", "name: is missing", "req_1")


def another(number: int) -> Refusal:
    """Return a refusal that is in a group of its own."""
    return Refusal("GET", f"/api/v1/{number}", 404, "not_found", "", "There is nothing.", f"req_{number}")


class Owned:
    """A channel with a key, and the recorder of a process."""

    def __init__(self, db: Database, channel_id: UUID, key: keys.NewKey) -> None:
        self.db = db
        self.channel_id = channel_id
        self.key_id = key.key.id
        self.hash = key_hash(key.text)
        self.clock = MovableClock(NOW)
        self.recorder = self.new_recorder()

    def new_recorder(self) -> RefusalRecorder:
        return RefusalRecorder(self.db, self.clock)

    async def rows(self, limit: int = 1_000) -> list[RefusedRow]:
        return await list_refused(self.db, self.channel_id, key_id=None, now=self.clock.now(), before=None, limit=limit)


@pytest.fixture
async def owned(database_url: str) -> AsyncIterator[Owned]:
    """Yield a channel with a key in a database of its own."""
    db = await Database.connect(database_url, connections=4)
    channel_id = (await make_stage(db)).caller.channel_id
    yield Owned(db, channel_id, await keys.create_key(db, channel_id, "Shop", now=NOW))
    await db.close()


async def test_equal_requests_of_a_minute_are_one_row_also_of_two_processes(owned: Owned) -> None:
    other = owned.new_recorder()
    for recorder in (owned.recorder, other, owned.recorder):
        recorder.record(owned.hash, REFUSAL, admitted=True)
        recorder.record(owned.hash, REFUSAL, admitted=False)
        await recorder.save()
    (row,) = await owned.rows()
    assert (row.count, row.message) == (6, REFUSAL.message)
    owned.clock.advance(60)
    owned.recorder.record(owned.hash, REFUSAL, admitted=True)
    await owned.recorder.save()
    assert [row.count for row in await owned.rows()] == [1, 6]


async def test_a_key_has_a_limited_number_of_groups(owned: Owned) -> None:
    for number in range(GROUPS_PER_KEY + 5):
        for _ in range(3):
            owned.recorder.record(owned.hash, another(number), admitted=True)
    await owned.recorder.save()
    rows = await owned.rows()
    assert len(rows) == GROUPS_PER_KEY
    assert {row.count for row in rows} == {3}
    owned.recorder.record(owned.hash, another(GROUPS_PER_KEY + 5), admitted=True)
    await owned.recorder.save()
    assert len(await owned.rows()) == GROUPS_PER_KEY + 1


async def test_wrong_keys_leave_nothing_and_displace_no_right_one(owned: Owned) -> None:
    for _ in range(GROUPS + 100):
        owned.recorder.record(key_hash(new_key()), REFUSAL, admitted=False)
    owned.recorder.record(owned.hash, another(1), admitted=False)  # too late: too many before it
    owned.recorder.record(owned.hash, another(2), admitted=True)
    await owned.recorder.save()
    assert [row.path for row in await owned.rows()] == ["/api/v1/2"]
    async with owned.db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM refused_requests") == 1


async def test_a_key_has_a_limited_number_of_rows(owned: Owned) -> None:
    for turn in range(ROWS_PER_KEY // GROUPS_PER_KEY + 1):
        owned.clock.advance(60)
        for number in range(GROUPS_PER_KEY):
            owned.recorder.record(owned.hash, another(turn * GROUPS_PER_KEY + number), admitted=True)
        await owned.recorder.save()
        assert len(await owned.rows()) == min(ROWS_PER_KEY, (turn + 1) * GROUPS_PER_KEY)
    assert another(GROUPS_PER_KEY - 1).path not in {row.path for row in await owned.rows()}  # the oldest


async def test_texts_are_cut_and_storable(owned: Owned) -> None:
    owned.recorder.record(
        owned.hash,
        Refusal("GET", "/\0" + "x" * 500, 404, "not_found", "f" * 500, "\ud800" + "m" * 500, "r"),
        admitted=True,
    )
    await owned.recorder.save()
    (row,) = await owned.rows()
    assert len(row.message) == MESSAGE_MAX
    assert (row.message[0], row.path[:2]) == ("?", "/x")


async def test_an_outage_loses_nothing_that_was_there_before(owned: Owned) -> None:
    owned.recorder.record(owned.hash, REFUSAL, admitted=True)
    async with owned.db.connection() as conn:
        await conn.execute("ALTER TABLE refused_requests RENAME TO elsewhere")
    with pytest.raises(Exception, match="refused_requests"):
        await owned.recorder.save()
    owned.recorder.record(owned.hash, REFUSAL, admitted=True)
    async with owned.db.connection() as conn:
        await conn.execute("ALTER TABLE elsewhere RENAME TO refused_requests")
    await owned.recorder.save()
    assert [row.count for row in await owned.rows()] == [2]


async def test_they_are_kept_for_a_day(owned: Owned) -> None:
    db = owned.db
    owned.recorder.record(owned.hash, REFUSAL, admitted=True)
    await owned.recorder.save()
    owned.clock.advance(timedelta(days=1).total_seconds() - 1)
    await forget_refused(db, owned.clock.now())
    assert len(await owned.rows()) == 1
    owned.clock.advance(2)
    assert await owned.rows() == []
    owned.clock.advance(120)
    await forget_refused(db, owned.clock.now())
    async with db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM refused_requests") == 0


async def test_lists_are_read_by_indexes(owned: Owned, database_url: str) -> None:
    """On 200,000 rows of 1,000 keys, without statistics and with them."""
    await owned.db.execute(
        """INSERT INTO refused_requests
           SELECT CASE i % 20 WHEN 0 THEN $1 ELSE lpad((i % 20)::text, 32, '0')::uuid END, gen_random_uuid(),
                  CASE i % 1000 WHEN 0 THEN $2 ELSE lpad((i % 1000)::text, 32, '0')::uuid END,
                  $3::timestamptz - (i / 1000) * interval '1 minute', 'GET', '/', 404, 'not_found', '', $3, '', '', 1
           FROM generate_series(1, 200000) i""",
        owned.channel_id,
        owned.key_id,
        NOW,
    )
    await check_plans(owned, database_url)
    await owned.db.execute("ANALYZE refused_requests")
    await check_plans(owned, database_url)


async def check_plans(owned: Owned, database_url: str) -> None:
    async with explained_database(database_url) as (db, plans):
        for key_id in (None, owned.key_id):
            await list_refused(
                db, owned.channel_id, key_id=key_id, now=NOW - timedelta(days=18_000), before=None, limit=20
            )
        owned.recorder = RefusalRecorder(db, owned.clock)
        for number in range(GROUPS_PER_KEY):
            owned.recorder.record(owned.hash, another(number), admitted=True)
        await owned.recorder.save()
        await forget_refused(db, NOW - timedelta(hours=20))
    assert len(plans) >= 5
    for plan in plans:
        assert not [node for node in plan.nodes() if node["Node Type"] == "Seq Scan"], plan.query
        assert plan.buffers < 2_000, (plan.query, plan.buffers)
