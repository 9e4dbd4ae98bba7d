"""Sends of several channels in one commit: one that is held, gone or short of quota does not hold up the others."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from gatepost.model.errors import GatepostError, database_unavailable
from gatepost.store.batch import TOGETHER, Batch
from gatepost.store.channels import delete_channel
from tests.outbound.stage import Stage
from tests.patience import PATIENCE
from tests.store.test_people_at_once import blocked
from tests.store.test_quota import acceptor, more_channels, send, used, written

pytestmark = pytest.mark.usefixtures("each_path")


class Writer:
    """Notes what it is asked to write, and does what the test says."""

    def __init__(self) -> None:
        self.calls: list[dict[str, list[int]]] = []
        self.leave_out: set[str] = set()
        self.poison: int | None = None
        self.error: GatepostError | None = None
        self.hold: asyncio.Event | None = None

    async def one(self, key: str, items: Sequence[int]) -> list[int | Exception]:
        return (await self._write({key: items}))[key]

    async def several(self, batches: Mapping[str, Sequence[int]]) -> dict[str, list[int | Exception]]:
        kept = {key: items for key, items in batches.items() if key not in self.leave_out}
        return await self._write(kept)

    async def _write(self, batches: Mapping[str, Sequence[int]]) -> dict[str, list[int | Exception]]:
        self.calls.append({key: list(items) for key, items in batches.items()})
        await asyncio.sleep(0)
        if self.hold:
            await self.hold.wait()
        if self.error:
            raise self.error
        if any(item == self.poison for items in batches.values() for item in items):
            raise ValueError("poison")
        return {key: [item * 10 for item in items] for key, items in batches.items()}


def new_batch(writer: Writer, lanes: int = 1) -> Batch[str, int, int]:
    return Batch(writer.one, workers=lanes, size=20, together=writer.several)


async def put_all(batch: Batch[str, int, int], items: Mapping[str, Sequence[int]]) -> list[int | BaseException]:
    futures = [batch.enqueue(key, item) for key, some in items.items() for item in some]
    return await asyncio.gather(*futures, return_exceptions=True)


async def test_small_batches_of_many_keys_are_written_at_once() -> None:
    writer = Writer()
    assert await put_all(new_batch(writer), {"a": [1, 2], "b": [3], "c": [4]}) == [10, 20, 30, 40]
    assert writer.calls == [{"a": [1, 2], "b": [3], "c": [4]}]


async def test_no_more_keys_and_items_than_fit() -> None:
    writer = Writer()
    await put_all(new_batch(writer), {str(key): [1] for key in range(TOGETHER + 1)})
    assert [len(call) for call in writer.calls] == [TOGETHER, 1]
    writer.calls.clear()
    await put_all(new_batch(writer), {"a": [1] * 15, "b": [1] * 5, "c": [1]})
    assert [list(call) for call in writer.calls] == [["a", "b"], ["c"]]


async def test_a_key_that_is_left_out_is_written_by_itself() -> None:
    writer = Writer()
    writer.leave_out = {"b", "c"}
    assert await put_all(new_batch(writer), {"a": [1], "b": [2], "c": [3]}) == [10, 20, 30]
    assert writer.calls[:4] == [{"a": [1]}, {}, {}, {"b": [2]}]  # three times with others, and then alone
    assert writer.calls[-1] == {"c": [3]}


async def test_keys_that_are_left_out_may_be_tried_at_once_by_themselves() -> None:
    writer = Writer()
    writer.leave_out, writer.hold = {"b", "c", "d"}, asyncio.Event()
    batch: Batch[str, int, int] = Batch(writer.one, workers=1, size=20, together=writer.several, again=True)
    first = [batch.enqueue(key, 1) for key in "abcd"]
    while not writer.calls:
        await asyncio.sleep(0)
    late = batch.enqueue("e", 2)
    writer.leave_out = {"d"}
    writer.hold.set()
    assert await asyncio.gather(*first, late) == [10, 10, 10, 10, 20]
    written = [call for call in writer.calls if call]
    assert written == [{"a": [1]}, {"b": [1], "c": [1]}, {"e": [2]}, {"d": [1]}]
    await batch.drain()


async def test_what_fails_together_is_not_tried_together_again() -> None:
    writer = Writer()
    writer.poison = 2
    batch: Batch[str, int, int] = Batch(writer.one, workers=1, size=20, together=writer.several, again=True)
    first, second, third = await put_all(batch, {"a": [1], "b": [2], "c": [3]})
    assert (first, third) == (10, 30)
    assert isinstance(second, ValueError)
    assert [call for call in writer.calls if len(call) > 1] == [{"a": [1], "b": [2], "c": [3]}]


async def test_an_item_that_can_only_be_written_alone_is_left_out_only_once() -> None:
    writer = Writer()
    writer.leave_out = {"b"}
    batch: Batch[str, int, int] = Batch(
        writer.one, workers=1, size=20, linger=0.001, together=writer.several, alone=lambda item: item > 5
    )
    assert await put_all(batch, {"a": [1], "b": [2, 7, 3], "c": [4]}) == [10, 20, 70, 30, 40]
    assert writer.calls == [{"a": [1], "c": [4]}, {"b": [2, 7, 3]}]
    writer.calls.clear()
    writer.leave_out = set()
    assert await put_all(batch, {"a": [1], "b": [2]}) == [10, 20]  # the next batch is written with others
    assert writer.calls == [{"a": [1], "b": [2]}]
    await batch.drain()


async def test_a_key_that_was_left_out_once_is_written_with_what_came_meanwhile() -> None:
    writer = Writer()
    writer.leave_out, writer.hold = {"b", "c"}, asyncio.Event()
    batch = new_batch(writer)
    first = [batch.enqueue(key, 1) for key in "abc"]
    while not writer.calls:
        await asyncio.sleep(0)
    late = [batch.enqueue(key, 2) for key in "bd"]
    writer.leave_out = set()
    writer.hold.set()
    assert await asyncio.gather(*first, *late) == [10, 10, 10, 20, 20]
    assert writer.calls == [{"a": [1]}, {"d": [2], "b": [1, 2], "c": [1]}]
    await batch.drain()


async def test_times_left_out_are_counted_in_a_row() -> None:
    writer = Writer()
    batch = new_batch(writer)
    for left_out in ({"b"}, set(), {"b"}, set(), {"b"}, set()):
        writer.leave_out, writer.hold = left_out, asyncio.Event()
        writer.calls.clear()
        put = [batch.enqueue(key, 1) for key in "ab"]
        while not writer.calls:
            await asyncio.sleep(0)
        writer.leave_out = set()
        late = batch.enqueue("c", 2)
        writer.hold.set()
        await asyncio.gather(*put, late)
        assert writer.calls == ([{"a": [1]}, {"c": [2], "b": [1]}] if left_out else [{"a": [1], "b": [1]}, {"c": [2]}])
    await batch.drain()


async def test_a_key_that_takes_long_by_itself_does_not_hold_up_the_others_that_were_left_out() -> None:
    writer, release = Writer(), asyncio.Event()
    writer.leave_out = {"b", "c", "d"}

    async def one(key: str, items: Sequence[int]) -> list[int | Exception]:
        if key == "b":
            await release.wait()
        return await writer.one(key, items)

    batch: Batch[str, int, int] = Batch(one, workers=2, size=20, together=writer.several)
    futures = {key: batch.enqueue(key, number) for number, key in enumerate("abcd")}
    async with asyncio.timeout(PATIENCE):
        assert [await futures[key] for key in "acd"] == [0, 20, 30]
    assert not futures["b"].done()
    late = batch.enqueue("b", 7)
    release.set()
    assert [await futures["b"], await late] == [10, 70]  # in their order
    await batch.drain()
    assert batch.waiting == 0


@pytest.mark.parametrize("workers", [1, 2, 4])
async def test_however_many_keys_are_locked_the_others_are_written(workers: int) -> None:
    writer, release = Writer(), asyncio.Event()
    locked = set("bcdef")
    writer.leave_out = locked

    async def one(key: str, items: Sequence[int]) -> list[int | Exception]:
        if key in locked:
            await release.wait()
        return await writer.one(key, items)

    batch: Batch[str, int, int] = Batch(one, workers=workers, size=20, together=writer.several)
    held = {key: batch.enqueue(key, 1) for key in locked}
    async with asyncio.timeout(PATIENCE):
        for number in range(5):  # one at a time, and several
            assert await batch.enqueue("a", number) == 10 * number
            assert list(await asyncio.gather(batch.enqueue("a", 1), batch.enqueue("g", 2))) == [10, 20]
    assert not any(future.done() for future in held.values())
    release.set()
    assert await asyncio.gather(*held.values()) == [10] * len(locked)
    await batch.drain()
    assert batch.waiting == 0


@pytest.mark.parametrize("workers", [1, 4])
async def test_however_many_keys_are_locked_those_that_are_only_written_alone_are_written(workers: int) -> None:
    writer, release = Writer(), asyncio.Event()
    locked, alone = set("bcdef"), set("xyz")
    tried: list[str] = []

    async def one(key: str, items: Sequence[int]) -> list[int | Exception]:
        if key in locked:
            await release.wait()
        return await writer.one(key, items)

    async def several(batches: Mapping[str, Sequence[int]]) -> dict[str, list[int | Exception]]:
        tried.extend(batches if len(batches) == 1 else ())
        writer.leave_out = locked if len(batches) == 1 else locked | alone
        return await writer.several(batches)

    batch: Batch[str, int, int] = Batch(one, workers=workers, size=20, together=several)
    held = {key: batch.enqueue(key, 1) for key in locked}
    async with asyncio.timeout(PATIENCE):
        for number in range(3):
            assert await batch.enqueue("x", number) == 10 * number
            assert await asyncio.gather(*(batch.enqueue(key, 2) for key in "axyz")) == [20] * 4
    assert not any(future.done() for future in held.values())
    assert all(tried.count(key) <= 1 for key in locked)  # until a worker that waits is done
    release.set()
    assert await asyncio.gather(*held.values()) == [10] * len(locked)
    await batch.drain()
    assert batch.waiting == 0


async def test_with_patience_other_keys_gather_while_a_batch_is_written() -> None:
    writer = Writer()
    batch: Batch[str, int, int] = Batch(writer.one, workers=4, together=writer.several, patience=PATIENCE)
    first = batch.enqueue("a", 1)
    writer.hold = asyncio.Event()
    while not writer.calls:
        await asyncio.sleep(0)
    others = [batch.enqueue(key, 2) for key in "bcd"]
    await asyncio.sleep(0)
    writer.hold.set()
    assert await asyncio.gather(first, *others) == [10, 20, 20, 20]
    assert writer.calls == [{"a": [1]}, {"b": [2], "c": [2], "d": [2]}]
    await batch.drain()


async def test_patience_ends_when_a_batch_takes_long() -> None:
    writer, release = Writer(), asyncio.Event()

    async def one(key: str, items: Sequence[int]) -> list[int | Exception]:
        if key == "a":
            await release.wait()
        return await writer.one(key, items)

    batch: Batch[str, int, int] = Batch(one, workers=4, together=writer.several, patience=0.001)
    held = batch.enqueue("a", 1)
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        assert await batch.enqueue("b", 2) == 20
        assert list(await asyncio.gather(batch.enqueue("c", 3), batch.enqueue("d", 4))) == [30, 40]
    assert not held.done()
    release.set()
    assert await held == 10
    await batch.drain()


async def test_an_item_that_spoils_it_for_all_fails_alone() -> None:
    writer = Writer()
    writer.poison = 3
    one, two, three, four = await put_all(new_batch(writer), {"a": [1], "b": [2, 3], "c": [4]})
    assert (one, two, four) == (10, 20, 40)
    assert isinstance(three, ValueError)


async def test_a_database_that_is_away_is_everybodys_error() -> None:
    writer = Writer()
    writer.error = database_unavailable()
    assert await put_all(new_batch(writer), {"a": [1], "b": [2]}) == [writer.error] * 2
    assert len(writer.calls) == 1  # what may have been committed is not written again


async def test_a_waiting_caller_gets_the_cancellation() -> None:
    writer, batch = Writer(), None
    writer.hold = asyncio.Event()
    batch = new_batch(writer)
    putting = asyncio.create_task(put_all(batch, {"a": [1], "b": [2]}))
    while not writer.calls:
        await asyncio.sleep(0)
    for task in batch._running:
        task.cancel()
    seen = await putting
    assert [getattr(one, "code", None) for one in seen] == ["overloaded"] * 2


# -- against the database ---------------------------------------------------------------------------------------------


async def commits(stage: Stage) -> int:
    """Transactions that wrote the account's messages."""
    async with stage.db.connection() as conn:
        count: int = await conn.fetchval(
            """SELECT count(DISTINCT xmin::text) FROM messages
               WHERE channel_id IN (SELECT id FROM channels WHERE account_id = $1)""",
            stage.caller.account_id,
        )
    return count


async def test_one_commit_for_several_channels(stage: Stage) -> None:
    one, callers = acceptor(stage, None), await more_channels(stage, 8)
    assert await asyncio.gather(*(send(one, caller) for caller in callers)) == ["accepted"] * 8
    assert await commits(stage) < 8  # also where each of them needs its first slice
    before = await commits(stage)
    assert await asyncio.gather(*(send(one, caller) for caller in callers)) == ["accepted"] * 8
    assert await commits(stage) - before < 8
    for caller in callers:
        async with stage.db.connection() as conn:
            rows = await conn.fetch("SELECT seq FROM events WHERE channel_id = $1 ORDER BY seq", caller.channel_id)
            head = await conn.fetchval("SELECT seq FROM channel_heads WHERE channel_id = $1", caller.channel_id)
        assert [row["seq"] for row in rows] == list(range(1, head + 1))
    assert await used(stage) == 16


async def test_a_channel_that_somebody_holds_does_not_hold_up_the_others(stage: Stage) -> None:
    """Half of them are held, and others have yet to get their first slice."""
    one, callers = acceptor(stage, None), await more_channels(stage, 8)
    await asyncio.gather(*(send(one, caller) for caller in callers[:4]))
    held = (1, 2, 5, 6)
    async with stage.db.transaction() as conn:
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        for at in held:
            await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", callers[at].channel_id)
        sends = [asyncio.create_task(send(one, caller)) for caller in callers]
        async with asyncio.timeout(PATIENCE):
            for at in (0, 3, 4, 7):
                assert await sends[at] == "accepted"
            for at in (0, 3, 4, 7):  # also while the others wait
                assert await send(one, callers[at]) == "accepted"
        assert not any(sends[at].done() for at in held)
    assert [await sends[at] for at in held] == ["accepted"] * len(held)
    assert await used(stage) == await written(stage)


async def test_a_deleted_channel_is_an_error_and_the_others_are_accepted(stage: Stage) -> None:
    one, callers = acceptor(stage, None), await more_channels(stage, 4)
    await delete_channel(stage.db, stage.caller.account_id, callers[1].channel_id)
    seen = await asyncio.gather(*(send(one, caller) for caller in callers))
    assert seen == ["accepted", "not_found", "accepted", "accepted"]


@pytest.mark.parametrize("spoil", ["a\x00b"])
async def test_what_the_database_cannot_take_spoils_only_itself(stage: Stage, spoil: str) -> None:
    one, callers = acceptor(stage, None), await more_channels(stage, 4)

    async def send_to(at: int) -> str:
        try:
            return await send(one, callers[at], client_ref=spoil if at == 1 else "fine")
        except Exception as error:
            return type(error).__name__

    seen = await asyncio.gather(*(send_to(at) for at in range(4)))
    assert [seen[0], seen[2], seen[3]] == ["accepted"] * 3
    assert seen[1] != "accepted"
    assert await used(stage) == await written(stage) == 3


async def test_conversations_of_several_channels_are_locked_in_key_order(stage: Stage) -> None:
    """Sending locks conversations without the heads of their channels: both must take the same order."""
    one, callers = acceptor(stage, None), await more_channels(stage, 6)
    await asyncio.gather(*(send(one, caller) for caller in callers))
    first, *others = sorted(caller.channel_id for caller in callers)
    await stage.db.execute("UPDATE channel_heads SET work_at = now() WHERE channel_id = $1", first)  # the last one now
    async with stage.db.transaction() as conn:
        await conn.execute("SELECT FROM conversations WHERE channel_id = $1 FOR UPDATE", first)
        sends = [asyncio.create_task(send(one, caller)) for caller in callers]
        await blocked(stage)
        free = await stage.db.fetch(
            "SELECT FROM conversations WHERE channel_id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED", others
        )
    assert len(free) == len(others)
    assert await asyncio.gather(*sends) == ["accepted"] * len(callers)
