"""The group commit on its own: whatever is put, in whatever company, is written once or refused for itself."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatepost.model.errors import GatepostError, Unavailable, database_unavailable
from gatepost.store.batch import Batch
from tests.patience import PATIENCE

POISON, AWAY, REFUSED, FINE = "poison", "away", "refused", "fine"


class Item(msgspec.Struct, frozen=True):
    number: int
    mood: str = FINE


class Poisoned(Exception):
    """What a database says to an item that no transaction can hold."""


class Notebook:
    """A store that keeps whole batches or nothing, as a transaction does, and watches how it is used."""

    def __init__(self, pause: int = 0) -> None:
        self.kept: dict[str, list[int]] = {}
        self.batches: list[tuple[str, list[int]]] = []
        self.most_at_once = 0
        self.open = asyncio.Event()
        self.open.set()
        self._pause = pause
        self._busy: list[str] = []

    async def write(self, key: str, items: Sequence[Item]) -> list[str | Exception]:
        assert key not in self._busy, "two batches of one key at once"
        self._busy.append(key)
        self.most_at_once = max(self.most_at_once, len(self._busy))
        try:
            await self.open.wait()
            for _ in range(self._pause):
                await asyncio.sleep(0)
            return self._keep(key, items)
        finally:
            self._busy.remove(key)

    def _keep(self, key: str, items: Sequence[Item]) -> list[str | Exception]:
        if any(item.mood == AWAY for item in items):
            raise database_unavailable()
        for item in items:
            if item.mood == POISON:
                raise Poisoned(str(item.number))
        self.batches.append((key, [item.number for item in items]))
        self.kept.setdefault(key, []).extend(item.number for item in items if item.mood == FINE)
        return [f"row {i.number}" if i.mood == FINE else Unavailable(str(i.number)) for i in items]


class Order(msgspec.Struct, frozen=True):
    """One call of `put`, after so many turns of the loop."""

    key: str
    mood: str
    turns: int


orders = st.lists(
    st.builds(
        Order,
        key=st.sampled_from("abc"),
        mood=st.sampled_from([FINE] * 8 + [POISON, REFUSED]),
        turns=st.integers(0, 6),
    ),
    max_size=40,
)


@given(
    orders=orders,
    size=st.integers(1, 9),
    lanes=st.integers(1, 3),
    pause=st.integers(0, 3),
    linger=st.sampled_from([0.0, 0.0, 0.0005]),
)
@settings(max_examples=150)
def test_everyone_gets_what_is_theirs_whatever_the_interleaving(
    orders: list[Order], size: int, lanes: int, pause: int, linger: float
) -> None:
    async def play() -> None:
        book = Notebook(pause)
        batch: Batch[str, Item, str] = Batch(book.write, size=size, workers=lanes, linger=linger)
        put: dict[str, list[Item]] = {}

        async def call(number: int, order: Order) -> str:
            for _ in range(order.turns):
                await asyncio.sleep(0)
            item = Item(number, order.mood)
            put.setdefault(order.key, []).append(item)
            return await batch.put(order.key, item)

        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(
                *(call(number, order) for number, order in enumerate(orders)), return_exceptions=True
            )
            await batch.drain()
        for number, (order, answer) in enumerate(zip(orders, answers, strict=True)):
            check_answer(number, order, answer)
        for key, items in put.items():
            assert book.kept.get(key, []) == [item.number for item in items if item.mood == FINE]
        assert all(len(numbers) <= size for _, numbers in book.batches)
        assert book.most_at_once <= lanes
        assert batch.waiting == 0

    asyncio.run(play())


def check_answer(number: int, order: Order, answer: object) -> None:
    if order.mood == FINE:
        assert answer == f"row {number}"
    else:
        assert isinstance(answer, Poisoned if order.mood == POISON else Unavailable)
        assert str(answer) == str(number)


async def test_what_gathers_while_a_batch_commits_is_the_next_batch() -> None:
    book = Notebook()
    book.open.clear()
    batch: Batch[str, Item, str] = Batch(book.write, size=100)
    first = batch.enqueue("a", Item(0))
    await asyncio.sleep(0)
    rest = [batch.enqueue("a", Item(n)) for n in range(1, 50)]
    book.open.set()
    await asyncio.gather(first, *rest)
    assert book.batches == [("a", [0]), ("a", list(range(1, 50)))]


async def test_a_linger_makes_one_batch_of_what_comes_one_by_one() -> None:
    book = Notebook()
    batch: Batch[str, Item, str] = Batch(book.write, linger=0.2)
    calls = []
    for n in range(5):
        calls.append(batch.enqueue("a", Item(n)))
        await asyncio.sleep(0)
    await asyncio.gather(*calls)
    assert book.batches == [("a", [0, 1, 2, 3, 4])]


async def test_one_after_the_other_through_a_single_lane() -> None:
    """A lane that is just ending must not be relied on by a caller that puts an item at that moment."""
    book = Notebook()
    batch: Batch[str, Item, str] = Batch(book.write, workers=1)
    async with asyncio.timeout(PATIENCE):
        for n in range(20):
            assert await batch.put("a", Item(n)) == f"row {n}"


@pytest.mark.parametrize("lanes", [1, 2, 4])
async def test_all_lanes_ending_at_once_leave_nobody_behind(lanes: int) -> None:
    book = Notebook()
    batch: Batch[str, Item, str] = Batch(book.write, workers=lanes)

    async def chat(key: str) -> None:
        for n in range(20):
            await batch.put(key, Item(n))

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(chat(f"key {k}") for k in range(lanes)))
    assert book.kept == {f"key {k}": list(range(20)) for k in range(lanes)}


async def test_when_the_database_is_away_that_batch_fails_and_only_that() -> None:
    book = Notebook()
    batch: Batch[str, Item, str] = Batch(book.write, size=4)
    moods = [FINE, AWAY, FINE, FINE, FINE, FINE, FINE, FINE]
    futures = [batch.enqueue("a", Item(n, mood)) for n, mood in enumerate(moods)]
    other = batch.enqueue("b", Item(9))
    answers = await asyncio.gather(*futures, other, return_exceptions=True)
    assert [isinstance(a, GatepostError) for a in answers] == [True] * 4 + [False] * 5
    assert book.kept == {"a": [4, 5, 6, 7], "b": [9]}


async def test_a_full_queue_refuses_and_takes_again_when_there_is_room() -> None:
    book = Notebook()
    book.open.clear()
    batch: Batch[str, Item, str] = Batch(book.write, size=2, limit=3)
    taken = [batch.enqueue("a", Item(n)) for n in range(3)]
    with pytest.raises(Unavailable) as refusal:
        await batch.put("b", Item(9))
    assert refusal.value.code == "overloaded"
    assert refusal.value.retry_after == 1
    book.open.set()
    await asyncio.gather(*taken)
    assert await batch.put("b", Item(9)) == "row 9"
    assert book.kept == {"a": [0, 1, 2], "b": [9]}


async def test_who_gives_up_before_the_write_is_not_written_and_harms_nobody() -> None:
    book = Notebook()
    book.open.clear()
    batch: Batch[str, Item, str] = Batch(book.write, size=10)
    calls = [asyncio.create_task(batch.put("a", Item(0)))]
    await asyncio.sleep(0.001)  # the first is being written by now
    calls += [asyncio.create_task(batch.put("a", Item(n))) for n in range(1, 4)]
    await asyncio.sleep(0.001)
    calls[0].cancel()
    calls[2].cancel()
    book.open.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers] == [asyncio.CancelledError, str, asyncio.CancelledError, str]
    await batch.drain()
    assert book.kept == {"a": [0, 1, 3]}


async def test_all_give_up() -> None:
    book = Notebook()
    batch: Batch[str, Item, str] = Batch(book.write)
    for future in [batch.enqueue("a", Item(n)) for n in range(3)]:
        future.cancel()
    await batch.drain()
    assert book.batches == []
    assert await batch.put("a", Item(7)) == "row 7"


async def test_drain_waits_for_everything_put_so_far() -> None:
    book = Notebook(pause=5)
    batch: Batch[str, Item, str] = Batch(book.write, size=3, workers=2)
    futures = [batch.enqueue(key, Item(n)) for n in range(20) for key in "abcde"]
    await batch.drain()
    assert all(future.done() for future in futures)
    assert book.kept == {key: list(range(20)) for key in "abcde"}


async def test_a_write_that_answers_too_little_fails_its_callers_and_not_the_lane() -> None:
    async def short(_key: str, _items: Sequence[Item]) -> list[str | Exception]:
        return []

    batch: Batch[str, Item, str] = Batch(short)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="do not match"):
            async with asyncio.timeout(PATIENCE):
                await batch.put("a", Item(1))


async def test_a_lane_that_is_cancelled_takes_nobody_with_it() -> None:
    book = Notebook()
    batch: Batch[str, Item, str] = Batch(book.write, workers=1, linger=60)
    left = batch.enqueue("a", Item(1))
    await asyncio.sleep(0.001)  # it gathers by now
    (sender,) = batch._running
    sender.cancel()
    await asyncio.wait([sender])
    batch._linger = 0
    assert await asyncio.wait_for(batch.put("a", Item(2)), PATIENCE) == "row 2"
    assert await left == "row 1"


async def test_heavy_items_make_smaller_batches() -> None:
    notebook = Notebook()
    weights = {0: 1, 1: 4, 2: 5, 3: 1, 4: 100, 5: 2, 6: 3, 7: 1}
    batch: Batch[str, Item, str] = Batch(notebook.write, size=5, weigh=lambda item: weights[item.number])
    await asyncio.gather(*(batch.put("key", Item(number)) for number in weights))
    assert [numbers for _, numbers in notebook.batches] == [[0, 1], [2], [3], [4], [5, 6], [7]]


async def test_what_a_write_waited_for_is_cancelled_and_others_go_on() -> None:
    """A statement's future may be cancelled under it: the lane goes on with the keys that wait."""
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    gone.cancel()

    async def write(key: str, items: Sequence[Item]) -> list[str | Exception]:
        if key == "a":
            await gone
        return [f"{key}{item.number}" for item in items]

    batch: Batch[str, Item, str] = Batch(write, workers=1)
    first, second = batch.enqueue("a", Item(1)), batch.enqueue("b", Item(2))
    async with asyncio.timeout(PATIENCE):
        assert await second == "b2"
        with pytest.raises(Unavailable):
            await first
