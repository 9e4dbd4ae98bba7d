"""Words of texts that were written to do harm: indexed and searched beside the event loop, and nothing is held up."""

import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID

import msgspec
import pytest

from gatepost.channel_task import ChannelContext
from gatepost.grouped_lookup import GroupedLookup
from gatepost.metrics import ProcessMetrics
from gatepost.model.dates import IdRange
from gatepost.model.errors import Unavailable
from gatepost.model.event import MESSAGE
from gatepost.model.search_words import CONTENT_MAX, TEXT_MAX, read_query, split, words_of
from gatepost.networks.base import Incoming, Person
from gatepost.services.history import find_page
from gatepost.services.search_indexing import SearchIndexTask, slices
from gatepost.store import events
from gatepost.store.channel_head import StaleOwner
from gatepost.store.messages import history
from gatepost.store.messages.history import HistoryFilter, find_contact, read_texts
from gatepost.store.search import index as search_index
from gatepost.store.search.index import SizedMessage, forget_blocks
from tests.for_each import for_each
from tests.outbound.stage import Stage
from tests.store.messages.test_history import PHONE, blocks, find, index, say
from tests.test_loop_watchdog import watching

EXPANDING = "\ufdfa" * 65_536  # one character that becomes eighteen
MARKS = "a" + "\u0301\u0316" * 32_000  # putting marks in order takes the square of their number


async def receive_texts(stage: Stage, texts: list[str]) -> None:
    """What people write, one message a second."""
    for number, text in enumerate(texts):
        stage.clock.advance(1)
        content = msgspec.json.encode({"body": text}).decode()
        update = Incoming(f"in.{stage.clock.now()}.{number}", Person(PHONE), "text", content, stage.clock.now())
        await stage.receiver.receive(stage.channel_id, stage.ref, [update])


@asynccontextmanager
async def nothing_blocks() -> AsyncIterator[None]:
    """Whatever else the machine does, the loop never stands still in our words."""
    with watching(stall=0.25) as (lines, _):
        yield
    stacks = [line["stack"] for line in lines if line["event"] == "event loop blocked"]
    assert not [stack for stack in stacks if "model/search_words.py" in stack]


# -- the words of one text --------------------------------------------------------------------------------------------


def test_a_text_is_cut_before_it_is_normalised() -> None:
    assert len(split(EXPANDING)) <= 20_000
    assert split(EXPANDING)[:3] == split("\ufdfa")[:3]
    assert split(MARKS) == ["a"]


@pytest.mark.parametrize(("length", "found"), [(TEXT_MAX - 4, True), (TEXT_MAX - 3, False)])
def test_words_behind_the_limit_are_not_found(length: int, found: bool) -> None:
    text = "-" * length + " end"
    assert ("end" in split(text)) is found
    assert ("end" in words_of(msgspec.json.encode({"a": "-" * (length - 1), "b": " end"}).decode())) is found


@pytest.mark.parametrize(("length", "found"), [(CONTENT_MAX, True), (CONTENT_MAX + 1, False)])
def test_a_content_beyond_the_limit_has_no_words(length: int, found: bool) -> None:
    content = '{"body":"word ' + "-" * (length - 16) + '"}'
    assert len(content) == length
    assert words_of(content) == ({"word"} if found else set())


@for_each("at", range(250, 262))
def test_where_a_text_is_cut_into_pieces_makes_no_difference(at: int) -> None:
    text = "x" * at + "e\u0301\u0323" + "\u1112\u1161\u11ab" + "ﬃ"
    assert split(text) == ["x" * 40]
    assert split("x" * (at - 1) + " e\u0301\u0323é\u1112\u1161\u11abﬃ")[1:] == ["ee한ffi"]


def test_parts_are_bounded_by_number_and_size() -> None:
    sizes = [100, 600_000, 100, 100, 300_000, 300_000, *[1] * 130]
    parts = list(slices([SizedMessage(UUID(int=i), size) for i, size in enumerate(sizes)]))
    assert [message.size for part in parts for message in part] == sizes
    assert [len(part) for part in parts] == [1, 1, 3, 64, 64, 3]


# -- indexing ---------------------------------------------------------------------------------------------------------


async def test_texts_that_expand_are_indexed_like_others(stage: Stage) -> None:
    await stage.take_over()
    await receive_texts(stage, [EXPANDING] * 40)
    said = await say(stage, ["plain"] * (search_index.BLOCK - 40))
    async with nothing_blocks():
        assert await index(stage) == 1
    assert await find(stage, HistoryFilter(), read_query("plain")) == said[::-1]
    assert len(await find(stage, HistoryFilter(), read_query(split("\ufdfa")[0]))) == 40


async def test_a_search_of_one_person_over_such_texts(stage: Stage) -> None:
    await stage.take_over()
    await receive_texts(stage, [EXPANDING] * 20 + [MARKS] * 2)
    contact = await find_contact(stage.db, stage.channel_id, PHONE)
    async with nothing_blocks():
        assert len(await find(stage, HistoryFilter(contact_id=contact), read_query(split("\ufdfa")[0]))) == 20
        assert len(await find(stage, HistoryFilter(), read_query("a"))) == 2


async def test_one_answer_reads_so_many_bytes_and_no_more(stage: Stage) -> None:
    await receive_texts(stage, ["x" * 60_000] * 100)
    piece = await find_page(stage.db, stage.channel_id, HistoryFilter(), read_query("none"), stage.clock.now(), most=20)
    assert piece.messages == []
    assert piece.reached is not None
    assert await find(stage, HistoryFilter(), read_query("none")) == []


@pytest.mark.parametrize(("size", "count", "more"), [(1, 1, True), (14, 1, True), (15, 2, True), (43, 4, False)])
async def test_texts_are_read_up_to_a_size(stage: Stage, size: int, count: int, more: bool) -> None:
    said = await say(stage, ["abc"] * 4)  # 14 bytes of content each
    found = await read_texts(stage.db, stage.channel_id, HistoryFilter(), limit=9, size=size)
    assert ([id_ for id_, _ in found.messages], found.more) == (said[::-1][:count], more)


@pytest.mark.parametrize("sought", [None, "word"])
async def test_a_page_ends_after_so_many_bytes(
    stage: Stage, sought: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (await say(stage, ["word"] * 5))[::-1]  # 15 bytes of content each
    query = read_query(sought) if sought else None
    for size, sizes in ((30, [2, 2, 1]), (31, [3, 2]), (75, [5]), (1, [1, 1, 1, 1, 1])):
        monkeypatch.setattr(history, "PAGE_SIZE", size)
        wanted, found = HistoryFilter(), []
        while True:
            piece = await find_page(stage.db, stage.channel_id, wanted, query, stage.clock.now(), most=20)
            found.append([message.id for message in piece.messages])
            if piece.reached is None:
                break
            wanted = HistoryFilter(IdRange(end=piece.reached))
        assert [id_ for page in found for id_ in page] == said
        assert [len(page) for page in found] == sizes, size


@pytest.mark.parametrize("types", [None, [MESSAGE]])
async def test_a_piece_of_the_feed_ends_after_so_many_bytes(
    stage: Stage, types: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(stage, ["word"] * 5)
    everything = await events.read_feed_page(stage.db, stage.channel_id, UUID(int=0), types, 100)
    assert len(everything.events) >= 5
    monkeypatch.setattr(events, "PAGE_SIZE", 1)
    after, found = UUID(int=0), []
    while (piece := await events.read_feed_page(stage.db, stage.channel_id, after, types, 100)).events:
        assert len(piece.events) == 1
        assert piece.more or piece.events == everything.events[-1:]
        found += piece.events
        after = piece.reached
    assert found == everything.events


# -- a message that cannot be indexed ---------------------------------------------------------------------------------


@asynccontextmanager
async def refusing(stage: Stage, word: str, code: str) -> AsyncIterator[None]:
    """Make the database refuse every block with this word, with an error of this code."""
    async with stage.db.connection() as conn:
        await conn.execute(f"""
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.places LIKE E'%\\n{word}:%' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '{code}'; END IF;
                RETURN NEW; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON search_blocks FOR EACH ROW EXECUTE FUNCTION refuse()""")
    try:
        yield
    finally:
        async with stage.db.connection() as conn:
            await conn.execute("DROP TRIGGER refuse ON search_blocks; DROP FUNCTION refuse()")


def indexer(stage: Stage, metrics: ProcessMetrics) -> SearchIndexTask:
    context = ChannelContext(stage.db, stage.clock, stage.lease, stage.ref, lambda: True)
    find = GroupedLookup(partial(search_index.find_unindexed, stage.db)).find
    return SearchIndexTask(context, count=metrics.set_aside, find=find)


async def check_set_aside(stage: Stage, said: list[UUID], metrics: ProcessMetrics) -> None:
    """All but the third message are found by their words, and that one by its date."""
    assert await blocks(stage) == [search_index.BLOCK]
    assert await find(stage, HistoryFilter(), read_query("good")) == [id_ for id_ in said if id_ != said[2]][::-1]
    assert await find(stage, HistoryFilter(), read_query("bad")) == []
    assert said[2] in await find(stage, HistoryFilter(), None)
    assert b"gatepost_search_set_aside_total 1.0" in metrics.show()


async def test_a_message_that_the_database_refuses_twice_is_set_aside(stage: Stage) -> None:
    await stage.take_over()
    said = await say(stage, ["good", "good", "bad", *["good"] * (search_index.BLOCK - 3)])
    metrics = ProcessMetrics()
    async with refusing(stage, "bad", "54000"):
        assert await indexer(stage, metrics).work() is not None
        assert await blocks(stage) == []
        # Another process goes on from there: what failed is in the database.
        assert await indexer(stage, metrics).work() is not None
        assert await indexer(stage, metrics).work() is None
        await check_set_aside(stage, said, metrics)
        # Its block is written again for a latecomer, and it stays set aside.
        async with stage.db.transaction() as conn:
            await conn.execute(
                "UPDATE messages SET content = $3 WHERE channel_id = $1 AND id = $2",
                stage.channel_id,
                said[0],
                '{"body": "good morning"}',
            )
            await conn.execute(
                "UPDATE search_progress SET seen = $2 WHERE channel_id = $1", stage.channel_id, UUID(int=0)
            )
        assert await indexer(stage, metrics).work() is None
        assert await find(stage, HistoryFilter(), read_query("morning")) == [said[0]]
    await check_set_aside(stage, said, metrics)


async def test_a_message_whose_words_cannot_be_computed_is_set_aside(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.take_over()
    said = await say(stage, ["good", "good", "bád", *["good"] * (search_index.BLOCK - 3)])
    normalize = unicodedata.normalize

    def fail(form: str, text: str) -> str:
        if "á" in text:
            raise MemoryError
        return normalize(form, text)  # type: ignore[arg-type]

    monkeypatch.setattr(unicodedata, "normalize", fail)
    metrics = ProcessMetrics()
    assert [await indexer(stage, metrics).work() for _ in range(3)] == [5.0, 5.0, None]
    await check_set_aside(stage, said, metrics)


async def test_a_database_that_is_away_sets_nothing_aside(stage: Stage) -> None:
    await stage.take_over()
    said = await say(stage, ["bad"] * search_index.BLOCK)
    async with refusing(stage, "bad", "53100"):  # the disk is full
        for _ in range(3):
            with pytest.raises(Unavailable):
                await indexer(stage, ProcessMetrics()).work()
    assert await index(stage) == 1
    assert await find(stage, HistoryFilter(), read_query("bad")) == said[::-1]


async def test_failures_are_forgotten_with_their_messages(stage: Stage) -> None:
    await stage.take_over()
    (failed,) = await say(stage, ["one"])
    await search_index.count_failures(stage.db, stage.lease, [failed])
    await forget_blocks(stage.db, stage.clock.now(), 0)
    stage.clock.advance(1)
    await forget_blocks(stage.db, stage.clock.now(), 0)
    assert await search_index.count_failures(stage.db, stage.lease, [failed]) == []
    assert await search_index.count_failures(stage.db, stage.lease, [failed]) == [failed]
    assert await search_index.count_failures(stage.db, stage.lease, [failed]) == []


async def test_another_owner_counts_no_failures(stage: Stage) -> None:
    await stage.take_over()
    stale = stage.lease
    (failed,) = await say(stage, ["one"])
    await stage.take_over()
    with pytest.raises(StaleOwner):
        await search_index.count_failures(stage.db, stale, [failed])
