"""Looking back: what is found is what is there, whether in blocks or not, and no question reads a whole channel."""

import random
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.dates import IdRange
from gatepost.model.search_words import SearchQuery, read_query
from gatepost.networks.base import Incoming, Person
from gatepost.services.history import find_contacts_by_words, find_page
from gatepost.services.search_indexing import index_more
from gatepost.store.channel_head import StaleOwner
from gatepost.store.messages.history import HistoryFilter, HistoryPage, read_history_page
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from gatepost.store.search import index as search_index
from gatepost.store.search import query as search_query
from gatepost.store.search import walk
from gatepost.store.search.index import forget_blocks
from gatepost.store.search.query import read_indexed_end, search_blocks
from gatepost.store.search.walk import SAMPLE
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store.query_plans import Explained, Plan, fill

PHONE = "5511999998888"
LATE = NOW - timedelta(hours=1)


async def say(stage: Stage, texts: list[str], phone: str = PHONE) -> list[UUID]:
    """Messages with these texts, the oldest first, a second of the clock between."""
    said = []
    for text in texts:
        stage.clock.advance(1)
        said.append(await stage.accept(phone, text))
    return said


async def index(stage: Stage) -> int:
    """Writes all blocks that there is enough for; returns how many there are."""
    while await index_more(stage.db, stage.lease):
        pass
    return len(await blocks(stage))


async def blocks(stage: Stage) -> list[int]:
    """How many messages each block holds, the oldest first."""
    async with stage.db.connection() as conn:
        rows = await conn.fetch(
            "SELECT cardinality(ids) AS size FROM search_blocks WHERE channel_id = $1 ORDER BY last_id",
            stage.channel_id,
        )
    return [row["size"] for row in rows]


async def find(stage: Stage, wanted: HistoryFilter, sought: SearchQuery | None, most: int = 20) -> list[UUID]:
    """All messages that fit, page by page."""
    found: list[UUID] = []
    while True:
        piece = await find_page(stage.db, stage.channel_id, wanted, sought, stage.clock.now(), most=most)
        assert len(piece.messages) <= most
        found += [message.id for message in piece.messages]
        if piece.reached is None:
            return found
        assert piece.reached < wanted.span.end
        wanted = msgspec.structs.replace(wanted, span=IdRange(wanted.span.start, piece.reached))


async def receive_late(stage: Stage, texts: list[str]) -> None:
    """What people wrote an hour ago, and is reported now."""
    updates = [
        Incoming(f"late.{text}.{i}", Person(PHONE), "text", msgspec.json.encode({"body": text}).decode(), LATE)
        for i, text in enumerate(texts)
    ]
    await stage.receiver.receive(stage.channel_id, stage.ref, updates)


async def test_blocks_and_what_is_behind_them_give_the_same_as_reading_everything(stage: Stage) -> None:
    await stage.take_over()
    chance = random.Random(4)
    vocabulary = ["a", "ab", "abc", "b", "bc", "c", "rare", "rarely"]
    texts = [" ".join(chance.choices(vocabulary, [9, 8, 7, 9, 5, 3, 0.1, 0.1], k=3)) for _ in range(300)]
    said = await say(stage, texts)
    assert await index(stage) == 2
    for query in ("a", "c b", "ab rar", "rarely", "b b", "a b c", "abcd"):
        sought = read_query(query)
        expected = [id_ for id_, text in zip(said, texts, strict=True) if sought.fits(set(text.split()))][::-1]
        for most in (1, 7, 100):
            assert await find(stage, HistoryFilter(), sought, most) == expected, (query, most)
        span = IdRange(said[50], said[270])
        within = [id_ for id_ in expected if span.start <= id_ < span.end]
        assert await find(stage, HistoryFilter(span), sought, 9) == within, query
        assert await find(stage, HistoryFilter(span, incoming=True), sought, 9) == []


@pytest.mark.parametrize("sample", [3, 1_000], ids=["long history", "short history"])
async def test_many_blocks_give_the_same_as_reading_everything(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, sample: int
) -> None:
    """Whether the newest blocks are read, few at a time, or those that the index names."""
    monkeypatch.setattr(search_index, "BLOCK", 4)
    monkeypatch.setattr(search_query, "FIRST", 2)
    monkeypatch.setattr(search_query, "SAMPLE", sample)
    monkeypatch.setattr(walk, "AT_ONCE", 3)
    monkeypatch.setattr(walk, "_NAMED", 1)
    monkeypatch.setattr(walk, "_FEW", 4)
    await stage.take_over()
    chance = random.Random(7)
    vocabulary = ["common", "middling", "midway", "scarce", "scar", "rare"]
    texts = [" ".join(chance.choices(vocabulary, [60, 6, 4, 2, 1, 0.3], k=2)) for _ in range(302)]
    said = await say(stage, texts)
    assert await index(stage) == 75
    for query in ("common", "mid", "middling", "scar", "rare", "common mid", "scarce mid", "rarely"):
        sought = read_query(query)
        expected = [id_ for id_, text in zip(said, texts, strict=True) if sought.fits(set(text.split()))][::-1]
        for most in (1, 4, 20, len(expected) or 1, 300):
            assert await find(stage, HistoryFilter(), sought, most) == expected, (query, most)
        span = IdRange(said[37], said[150])  # within blocks
        within = [id_ for id_ in expected if span.start <= id_ < span.end]
        assert await find(stage, HistoryFilter(span), sought, 7) == within, query


async def test_a_page_that_is_just_full_continues_behind_its_last_message(stage: Stage) -> None:
    await stage.take_over()
    said = await say(stage, ["one"] * (2 * search_index.BLOCK))
    assert await index(stage) == 2
    hits = await search_blocks(stage.db, stage.channel_id, read_query("one"), IdRange(), limit=search_index.BLOCK)
    assert (hits.ids, hits.reached) == (said[search_index.BLOCK :][::-1], said[search_index.BLOCK])
    span = IdRange(end=said[search_index.BLOCK])
    rest = await search_blocks(stage.db, stage.channel_id, read_query("one"), span, limit=search_index.BLOCK + 1)
    assert (rest.ids, rest.reached) == (said[: search_index.BLOCK][::-1], None)


async def test_a_channel_without_blocks_has_no_hits(stage: Stage) -> None:
    await stage.take_over()
    said = await say(stage, ["one"] * 3)
    hits = await search_blocks(stage.db, stage.channel_id, read_query("one"), IdRange(), limit=20)
    assert (hits.ids, hits.reached) == ([], None)
    assert await find(stage, HistoryFilter(), read_query("one")) == said[::-1]


async def test_a_prefix_of_many_words_of_an_old_block(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ids do not come with the positions, those of another block do; a message with several words counts once."""
    await stage.take_over()
    old = await say(stage, [f"x{i} x{i + 1}" for i in range(search_index.BLOCK)])
    assert await index(stage) == 1
    monkeypatch.setattr(search_index, "BLOCK", 4)
    new = await say(stage, ["x1 x2", "x3", *["other"] * 42])
    assert await index(stage) == 12
    expected = [*new[1::-1], *old[::-1]]
    for most in (1, 2, 3, 20, len(expected), 200):
        assert await find(stage, HistoryFilter(), read_query("x"), most) == expected, most


async def test_words_with_vowel_signs_are_found_as_a_whole(stage: Stage) -> None:
    """The index has only their consonants, in any order."""
    await stage.take_over()
    texts = ["मेरी किताब कहाँ है", "कब तक", "ताकि बोलो कब", "किताबें"] * (search_index.BLOCK // 4 + 1)
    said = await say(stage, texts)
    assert await index(stage) == 1
    expected = {
        "किताब": [0, 3],
        "कित": [0, 3],
        "किताब मेरी": [0],
        "मेरी किताब कहाँ है मेरी किताब कहाँ है": [0],
        "कब": [1, 2],
        "बो": [2],
    }
    for query, places in expected.items():
        wanted = [id_ for place, id_ in enumerate(said) if place % 4 in places][::-1]
        for most in (1, 100):
            assert await find(stage, HistoryFilter(), read_query(query), most) == wanted, query
    assert len(await find_contacts_by_words(stage.db, stage.channel_id, read_query("किताब"))) == 1
    assert await find_contacts_by_words(stage.db, stage.channel_id, read_query("बकता")) == []


async def test_a_long_text_without_spaces_is_found(stage: Stage) -> None:
    await stage.take_over()
    said = await say(stage, ["我的订单什么时候可以送到", "我的订单什么时候可以到"] * (search_index.BLOCK // 2 + 1))
    assert await index(stage) == 1
    assert await find(stage, HistoryFilter(), read_query("我的订单什么时候可以送到")) == said[::2][::-1]


async def test_a_block_is_written_when_it_is_full(stage: Stage) -> None:
    await stage.take_over()
    await say(stage, ["one"] * (search_index.BLOCK - 1))
    assert await index(stage) == 0
    assert await read_indexed_end(stage.db, stage.channel_id) == ids.ZERO
    (last,) = await say(stage, ["one"])
    assert await index(stage) == 1
    assert await read_indexed_end(stage.db, stage.channel_id) == last


@pytest.mark.parametrize(("late", "expected"), [(72, [200]), (73, [128, 73])])
async def test_latecomers_go_into_their_block(stage: Stage, late: int, expected: list[int]) -> None:
    await stage.take_over()
    await say(stage, ["one"] * search_index.BLOCK)
    await index(stage)
    await receive_late(stage, ["tardy"] * late)
    await index(stage)
    assert await blocks(stage) == expected
    assert len(await find(stage, HistoryFilter(), read_query("tardy"))) == late
    assert len(await find(stage, HistoryFilter(), read_query("one"))) == search_index.BLOCK


async def test_an_edited_message_is_found_by_its_new_words_only(stage: Stage) -> None:
    await stage.take_over()
    said = await say(stage, ["before"] * search_index.BLOCK)
    await index(stage)
    await receive_late(stage, ["tardy"])
    async with stage.db.connection() as conn:
        await conn.execute(
            "UPDATE messages SET content = $3 WHERE channel_id = $1 AND id = $2",
            stage.channel_id,
            said[5],
            '{"body": "afterwards"}',
        )
    await index(stage)
    assert await find(stage, HistoryFilter(), read_query("afterw")) == [said[5]]
    assert said[5] not in await find(stage, HistoryFilter(), read_query("before"))


async def test_only_channels_with_something_to_index_are_found(stage: Stage) -> None:
    other = await make_stage(stage.db)
    both = [stage.channel_id, other.channel_id]
    for one in (stage, other):
        await one.take_over()
    await say(stage, ["one"] * (search_index.BLOCK - 1))
    assert await search_index.find_unindexed(stage.db, both) == {}
    await say(stage, ["one"])
    assert await search_index.find_unindexed(stage.db, both) == {stage.channel_id: True}
    await index(stage)
    await say(stage, ["one"])
    assert await search_index.find_unindexed(stage.db, both) == {}
    await receive_late(stage, ["tardy"])
    assert await search_index.find_unindexed(stage.db, both) == {stage.channel_id: True}
    await index(stage)
    assert await search_index.find_unindexed(stage.db, both) == {}


async def test_words_of_a_heavy_block_go_into_several(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "HEAVIEST", 19 * 64)
    await stage.take_over()
    await say(stage, ["one"] * search_index.BLOCK)
    await index_more(stage.db, stage.lease)
    assert await blocks(stage) == [65]


async def test_another_owner_writes_no_blocks(stage: Stage) -> None:
    await stage.take_over()
    stale = stage.lease
    await stage.take_over()
    await say(stage, ["one"] * search_index.BLOCK)
    with pytest.raises(StaleOwner):
        await index_more(stage.db, stale)
    assert await blocks(stage) == []


async def test_strangers_with_the_same_words(stage: Stage) -> None:
    stranger = await make_stage(stage.db)
    for one in (stage, stranger):
        await one.take_over()
        await say(one, ["the same words"] * search_index.BLOCK)
        await index(one)
    mine = await find(stage, HistoryFilter(), read_query("same words"))
    assert len(mine) == search_index.BLOCK
    assert not set(mine) & set(await find(stranger, HistoryFilter(), read_query("same words")))


async def test_blocks_are_forgotten_with_their_messages(stage: Stage) -> None:
    await stage.take_over()
    await say(stage, ["one"] * search_index.BLOCK)
    await index(stage)
    end = stage.clock.now()
    await forget_blocks(stage.db, end, 1)
    assert len(await blocks(stage)) == 1
    await forget_blocks(stage.db, end + timedelta(days=1, seconds=1), 1)
    assert await blocks(stage) == []


async def test_blocks_are_forgotten_a_few_at_a_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.store.pool._CHUNK", 2)
    await stage.take_over()
    async with stage.db.connection() as conn:
        await conn.execute(
            """CREATE FUNCTION check_few() RETURNS trigger LANGUAGE plpgsql AS
               $$BEGIN ASSERT (SELECT count(*) FROM gone) <= 2; RETURN NULL; END$$;
               CREATE TRIGGER few AFTER DELETE ON search_blocks REFERENCING OLD TABLE AS gone
               FOR EACH STATEMENT EXECUTE FUNCTION check_few()"""
        )
        try:
            await conn.execute(
                """INSERT INTO search_blocks (channel_id, last_id, first_id, ids, words, places)
                   SELECT $1, id, id, ARRAY[id], '', '' FROM (
                       SELECT lpad(i::text, 32, '0')::uuid AS id FROM generate_series(1, 5) i) b""",
                stage.channel_id,
            )
            await forget_blocks(stage.db, stage.clock.now(), 1)
        finally:
            await conn.execute("DROP TRIGGER few ON search_blocks; DROP FUNCTION check_few")
    assert await blocks(stage) == []


async def test_one_answer_looks_at_so_many_rows_and_no_more(stage: Stage) -> None:
    said = await say(stage, ["one"] * 10)
    none_fits = HistoryFilter(types=("image",))

    async def look(scan: int, wanted: HistoryFilter = none_fits) -> HistoryPage:
        return await read_history_page(stage.db, stage.channel_id, wanted, NOW, scan=scan, limit=3)

    assert await look(4) == HistoryPage([], said[-4])
    assert await look(10) == HistoryPage([], said[0])
    assert await look(11) == HistoryPage([], None)
    full = await look(4, HistoryFilter())
    assert ([message.id for message in full.messages], full.reached) == (said[:-4:-1], said[-3])


# -- plans ------------------------------------------------------------------------------------------------------------

CHANNEL = UUID(int=0x5EA7C4)


async def fill_database(url: str) -> None:
    """Ten weeks of messages, the words of each in a block of its own."""
    plain = await Database.connect(url, connections=1)
    await make_partitions(plain, NOW - timedelta(days=70), 7)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    await fill(url, CHANNEL, uuid4(), count=8_000, start=NOW - timedelta(days=70), end=NOW, salt="past")
    conn = await asyncpg.connect(url)
    await conn.execute("UPDATE messages SET contact_id = $1 WHERE network_id LIKE '%77'", UUID(int=7))
    await conn.execute(
        """INSERT INTO search_blocks (channel_id, last_id, first_id, ids, words, places)
           SELECT $1, id, id, ARRAY[id],
                  array_to_tsvector(ARRAY[$2 || 'hello', $2 || 'north', $2 || 'south']
                                    || CASE i % 100 WHEN 0 THEN ARRAY[$2 || 'rare'] ELSE '{}' END
                                    || CASE i % 3 WHEN 0 THEN ARRAY[$2 || 'third'] ELSE '{}' END),
                  E'\\nhello:1\\nnorth:1\\nsouth:2\\n' || CASE i % 100 WHEN 0 THEN E'rare:1\\n' ELSE '' END
                  || CASE i % 3 WHEN 0 THEN E'third:1\\n' ELSE '' END
           FROM (SELECT id, row_number() OVER (ORDER BY id) AS i FROM messages WHERE channel_id = $1) m""",
        CHANNEL,
        f"{CHANNEL.hex[-10:]}:",
    )
    await conn.close()


def rows_of(plan: Plan, *tables: str) -> int:
    """How many rows a statement has looked at."""
    nodes = [n for n in plan.nodes() if n.get("Relation Name", "").startswith(tables)]
    return int(sum((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in nodes))


async def test_a_page_reads_what_it_shows(explained: Explained) -> None:
    db, plans = explained
    piece = await read_history_page(db, CHANNEL, HistoryFilter(), NOW, scan=5_000, limit=20)
    assert len(piece.messages) == 20
    (plan,) = plans
    assert plan.seq_scans() == []
    assert rows_of(plan, "messages") <= 20
    assert len(plan.touched("messages")) <= 4


async def test_a_page_of_one_person_reads_only_theirs(explained: Explained) -> None:
    db, plans = explained
    piece = await read_history_page(db, CHANNEL, HistoryFilter(contact_id=UUID(int=7)), NOW, scan=5_000, limit=20)
    assert len(piece.messages) == 20
    assert rows_of(plans[0], "messages") <= 20
    assert (
        await read_history_page(db, CHANNEL, HistoryFilter(contact_id=UUID(int=8)), NOW, scan=5_000, limit=20)
    ).messages == []
    assert all(rows_of(plan, "messages") == 0 for plan in plans[1:])


async def test_a_range_of_time_reads_its_partitions_only(explained: Explained) -> None:
    db, plans = explained
    span = IdRange(ids.floor_id(NOW - timedelta(days=30)), ids.floor_id(NOW - timedelta(days=29)))
    await read_history_page(db, CHANNEL, HistoryFilter(span, types=("image",)), NOW, scan=5_000, limit=20)
    assert len(plans) == 2
    assert all(1 <= len(plan.touched("messages")) <= 2 for plan in plans)


async def test_what_is_not_indexed_is_looked_for_in_one_block_of_messages(explained: Explained) -> None:
    db, plans = explained
    assert await search_index.find_unindexed(db, [CHANNEL, uuid4()]) == {CHANNEL: True}
    assert plans[0].seq_scans() == []
    assert rows_of(plans[0], "messages", "events") <= search_index.BLOCK


def looks(plans: list[Plan]) -> list[tuple[str, int]]:
    """By which index each statement found blocks, and how many: of the index of words all that it named."""
    found = []
    for plan in plans:
        names = [node["Index Name"] for node in plan.nodes() if "search_blocks" in node.get("Index Name", "")]
        by_words = "search_blocks_words" in names
        assert by_words or set(names) == {"search_blocks_pkey"}
        blocks = rows_of(plan, "search_blocks") if by_words else int(plan.tree["Actual Rows"])
        assert rows_of(plan, "search_blocks") <= 2 * blocks + SAMPLE + 4  # with those by which all are estimated
        found.append((names[0][14:], blocks))
    return found


async def test_rare_words_are_found_by_their_index(explained: Explained) -> None:
    db, plans = explained
    hits = await search_blocks(db, CHANNEL, read_query("hello rar"), IdRange(), limit=20)
    assert len(hits.ids) == 20
    walked, one, named, looked, ids_read = looks(plans)
    assert (walked, one) == (("pkey", 8), ("pkey", 1))
    assert (named, looked, ids_read) == (("words", 80), ("pkey", 24), ("pkey", 19))


async def test_one_rare_word_is_looked_for_in_as_many_blocks_as_messages_are_missing(explained: Explained) -> None:
    db, plans = explained
    hits = await search_blocks(db, CHANNEL, read_query("rar"), IdRange(), limit=20)
    assert (len(hits.ids), hits.reached) == (20, hits.ids[-1])
    assert looks(plans) == [("pkey", 8), ("pkey", 1), ("words", 80), ("pkey", 19)]


async def test_common_words_are_found_in_the_newest_blocks_without_it(explained: Explained) -> None:
    db, plans = explained
    hits = await search_blocks(db, CHANNEL, read_query("hel"), IdRange(), limit=20)
    assert (len(hits.ids), hits.reached) == (20, hits.ids[-1])
    assert looks(plans) == [("pkey", 8), ("pkey", 8), ("pkey", 20), ("pkey", 12)]


async def test_a_word_of_many_blocks_of_a_long_history_is_found_without_it(explained: Explained) -> None:
    """The index would name a third of all blocks."""
    db, plans = explained
    hits = await search_blocks(db, CHANNEL, read_query("thi"), IdRange(), limit=20)
    assert (len(hits.ids), hits.reached) == (20, hits.ids[-1])
    used = looks(plans)
    assert {name for name, _ in used} == {"pkey"}
    assert 60 <= sum(blocks for _, blocks in used[::2]) <= 80  # then the ids of each
    rest = await search_blocks(db, CHANNEL, read_query("third"), IdRange(end=hits.ids[-1]), limit=20)
    assert len({*hits.ids, *rest.ids}) == 40
    assert max(rest.ids) < min(hits.ids)


async def test_the_same_word_of_a_short_history_is_found_by_it(explained: Explained) -> None:
    db, plans = explained
    newest = await search_blocks(db, CHANNEL, read_query("hello"), IdRange(), limit=SAMPLE)
    plans.clear()
    span = IdRange(newest.ids[70])
    hits = await search_blocks(db, CHANNEL, read_query("thi"), span, limit=20)
    assert (len(hits.ids), hits.reached) == (20, hits.ids[-1])
    assert [name for name, _ in looks(plans)] == ["pkey", "pkey", "words", "pkey"]


async def test_newest_blocks_are_those_of_the_span(explained: Explained) -> None:
    db, plans = explained
    span = IdRange(ids.floor_id(NOW - timedelta(days=30)), ids.floor_id(NOW - timedelta(days=29)))
    hits = await search_blocks(db, CHANNEL, read_query("hello"), span, limit=1000)
    assert hits.reached is not None
    assert all(span.start <= id_ < span.end for id_ in hits.ids)
    plans.clear()
    whole = await search_blocks(db, CHANNEL, read_query("hello"), IdRange(hits.ids[40], hits.ids[0]), limit=45)
    assert (whole.ids, whole.reached) == (hits.ids[1:41], None)
    assert {name for name, _ in looks(plans)} == {"pkey"}


async def test_frequent_words_of_different_messages_are_searched_without_it(explained: Explained) -> None:
    db, plans = explained
    hits = await search_blocks(db, CHANNEL, read_query("north south"), IdRange(), limit=20)
    assert hits.ids == []
    assert looks(plans) == [("pkey", 8), ("pkey", 40), ("pkey", 24)]
    assert hits.reached is not None
    rest = await search_blocks(db, CHANNEL, read_query("north south"), IdRange(ids.ZERO, hits.reached), limit=20)
    assert (rest.ids, rest.reached is not None and rest.reached < hits.reached) == ([], True)


async def test_one_answer_looks_into_so_many_blocks_and_no_more(explained: Explained) -> None:
    db, _ = explained
    first = await search_blocks(db, CHANNEL, read_query("rare"), IdRange(), limit=100)
    assert (len(first.ids), first.reached) == (1 + 64, first.ids[-1])
    assert first.reached is not None
    rest = await search_blocks(db, CHANNEL, read_query("rare"), IdRange(ids.ZERO, first.reached), limit=100)
    assert (len(rest.ids), rest.reached) == (15, None)
    assert first.ids + rest.ids == sorted({*first.ids, *rest.ids}, reverse=True)
