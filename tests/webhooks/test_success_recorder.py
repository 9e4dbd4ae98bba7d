"""Successes are recorded in groups: one that cannot be recorded does not cause the others to be posted again."""

from collections import Counter

import asyncpg

from tests.webhooks.stage import Stage, event_ids

_REFUSE = """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
   CREATE TRIGGER refuse BEFORE UPDATE ON deliveries FOR EACH ROW WHEN (NEW.event_id = '{}')
   EXECUTE FUNCTION refuse()"""


async def test_only_what_cannot_be_recorded_comes_again(stage: Stage, common_url: str) -> None:
    await stage.add()
    await stage.take_over()
    emitted = await stage.emit(40)
    bad = emitted[20]
    conn = await asyncpg.connect(common_url)
    await conn.execute(_REFUSE.format(bad))
    try:
        await stage.settle()
    finally:
        await conn.execute("DROP FUNCTION refuse CASCADE")
        await conn.close()
    assert {row["event_id"] for row in await stage.rows("deliveries") if row["state"] == 0} == {bad}
    await stage.take_over()
    await stage.drive(5)
    (name,) = event_ids([bad])
    assert Counter(stage.events_at()) == Counter([*event_ids(emitted), name])
    assert {row["state"] for row in await stage.rows("deliveries")} == {1}
