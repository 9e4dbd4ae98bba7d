"""How many channels a process takes, and how many it gives up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.lease_share import MOST_MOVES, excess_of, room_for

COUNTS = st.lists(st.integers(0, 400), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("mine", "others", "unowned", "room"),
    [
        (0, [], 7, 7),
        (0, [0], 7, 4),
        (4, [0], 3, 0),
        (2, [5], 3, 3),
        (10, [10], 1, 1),
        (10, [10, 0], 1, 0),
    ],
)
def test_a_process_takes_its_part(mine: int, others: list[int], unowned: int, room: int) -> None:
    assert room_for(mine, others, unowned) == room


@pytest.mark.parametrize(
    ("mine", "others", "excess"),
    [
        (20, [], 0),
        (20, [0], 10),
        (2, [0], 1),
        (1, [0], 0),
        (2, [1], 0),
        (11, [9], 0),  # a tenth more than its part is no reason to move any
        (12, [8], 2),
        (1000, [0], MOST_MOVES),
        (0, [20], 0),
    ],
)
def test_a_process_gives_up_what_is_more(mine: int, others: list[int], excess: int) -> None:
    assert excess_of(mine, others) == excess


@given(counts=COUNTS, unowned=st.integers(0, 400))
def test_together_they_take_everything_at_once(counts: list[int], unowned: int) -> None:
    rooms = [room_for(mine, counts[:i] + counts[i + 1 :], unowned) for i, mine in enumerate(counts)]
    assert sum(rooms) >= unowned


@given(counts=COUNTS)
def test_moves_come_to_an_end_with_nearly_equal_parts(counts: list[int]) -> None:
    def others(i: int) -> list[int]:
        return counts[:i] + counts[i + 1 :]

    for _ in range(200):
        given_up = 0
        for i, mine in enumerate(counts):
            excess = excess_of(mine, others(i))
            counts[i] -= excess
            given_up += excess
        if not given_up:
            break
        for i, mine in enumerate(counts):
            taken = min(given_up, room_for(mine, others(i), given_up))
            counts[i] += taken
            given_up -= taken
        assert not given_up
    else:
        raise AssertionError(f"channels move for ever: {counts}")
    assert max(counts) <= 1.1 * -(-sum(counts) // len(counts))
