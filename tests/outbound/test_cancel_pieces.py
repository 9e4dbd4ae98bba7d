"""A selection is canceled in pieces: each its own commit, each looks at a bounded number of rows."""

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from gatepost.networks.base import ErrorReaction, NetworkError, SendAccepted, SendRefused
from gatepost.outbound.cancel import CancelResult, cancel_selection
from gatepost.store.messages.cancel import CancelCursor, CancelSelection
from tests.outbound.stage import NOW, RULES, Stage

PHONES = [f"55119000000{i:02d}" for i in range(60)]


async def some(
    stage: Stage, chosen: CancelSelection, place: CancelCursor | None = None, *, piece: int = 4
) -> CancelResult:
    """One request that has time for one piece only."""
    return await cancel_selection(stage.db, stage.clock, stage.caller, chosen, place, longest=0, piece=piece)


async def all_of(stage: Stage, chosen: CancelSelection, *, piece: int = 4) -> tuple[int, int, int]:
    """Canceled, too late, and in how many requests."""
    place, canceled, too_late, requests = None, 0, 0, 0
    while requests == 0 or place is not None:
        made = await some(stage, chosen, place, piece=piece)
        canceled, too_late = canceled + made.canceled, too_late + made.too_late
        place, requests = made.place, requests + 1
    return canceled, too_late, requests


async def accepted(stage: Stage, queued: int, scheduled: int) -> list[UUID]:
    made = [await stage.accept(phone, client_ref=f"c-{i}") for i, phone in enumerate(PHONES[:queued])]
    for i, phone in enumerate(PHONES[:scheduled]):
        at = NOW + timedelta(seconds=60 + i // 5)  # some of them at the same time
        made.append(await stage.accept(phone, send_at=at, client_ref=f"c-{i}"))
    return made


@pytest.mark.parametrize(
    ("queued", "scheduled", "requests"),
    [(0, 0, 2), (2, 0, 2), (3, 0, 3), (5, 3, 4), (5, 4, 5), (8, 9, 8)],
)
async def test_all_of_a_selection_whatever_its_size(stage: Stage, queued: int, scheduled: int, requests: int) -> None:
    made = await accepted(stage, queued, scheduled)
    other = await stage.accept(PHONES[0], "another", client_ref="d")
    assert await all_of(stage, CancelSelection(client_ref="c-")) == (queued + scheduled, 0, requests)
    assert {await stage.status(id_) for id_ in made} <= {"CANCELED"}
    assert await stage.status(other) == "PENDING"
    assert await stage.rows("scheduled_messages") == []


async def test_it_can_be_begun_again_at_any_time(stage: Stage) -> None:
    """As after kill -9 between two pieces: what was committed stays, and the rest is found from the beginning."""
    await accepted(stage, 10, 10)
    first = await some(stage, CancelSelection(client_ref="c-"))
    assert first.canceled == 4
    canceled, _, _ = await all_of(stage, CancelSelection(client_ref="c-"))
    assert first.canceled + canceled == 20


async def test_rows_that_do_not_fit_are_passed_by_in_bounded_pieces(stage: Stage) -> None:
    for i in range(10):
        await stage.accept(PHONES[i], client_ref="other")
    last = await stage.accept(PHONES[0], client_ref="c-1")
    made = await some(stage, CancelSelection(client_ref="c-"))
    assert (made.canceled, made.place is not None) == (0, True)
    assert (await all_of(stage, CancelSelection(client_ref="c-")))[0] == 1
    assert await stage.status(last) == "CANCELED"


async def test_what_has_left_is_not_touched(stage: Stage) -> None:
    await stage.take_over()
    made = await accepted(stage, 5, 5)
    await stage.drive(1)
    assert await all_of(stage, CancelSelection(client_ref="c-")) == (5, 0, 3)
    assert [await stage.status(id_) for id_ in made[:5]] == ["SENT"] * 5
    batch = CancelSelection(ranges=((made[0], made[2]), (made[6], made[-1])))
    assert (await all_of(stage, batch))[:2] == (0, 7), "of a batch, everything is counted"


async def test_the_owner_goes_on_with_what_is_left(stage: Stage) -> None:
    await stage.take_over(connected=False)
    for i, phone in enumerate(PHONES[:3] * 3):
        await stage.accept(phone, f"{i}", client_ref=f"{'c' if i < 6 else 'd'}-{i}")
    await stage.drive(1)
    assert (await all_of(stage, CancelSelection(client_ref="c-")))[0] == 6
    stage.sender.connect(stage.network)
    await stage.drive(1)
    assert sorted(stage.network.bodies) == ["6", "7", "8"]
    assert stage.sender.idle


async def test_the_conversation_behind_is_free_at_once(stage: Stage) -> None:
    busy = SendRefused(NetworkError(131016, "Service overloaded"), ErrorReaction.RETRY)
    stage.network.answer = lambda message: busy if message.attempt == 1 and len(stage.network.calls) == 1 else taken
    taken = SendAccepted("wamid.1")
    await stage.take_over(rules=msgspec.structs.replace(RULES, retry_base=300))
    first = await stage.accept(PHONES[0], "A", client_ref="c-1")
    await stage.drive(1)
    await stage.accept(PHONES[0], "B")
    await stage.drive(5)
    assert (await all_of(stage, CancelSelection(client_ref="c-")))[0] == 1
    await stage.drive(0)
    assert (stage.network.bodies, await stage.status(first)) == (["A", "B"], "CANCELED")
