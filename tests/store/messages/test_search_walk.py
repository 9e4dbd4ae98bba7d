"""How many of the newest blocks are read before the index of words is asked."""

import pytest

from gatepost.store.search.walk import AT_ONCE, FIRST, MOST, MOST_HOLDING, Walked

LONG, SHORT = 80_000, 0


def walked(holding: int, found: int, *, blocks: int = FIRST, limit: int = 20) -> Walked:
    return Walked(blocks, holding, found, limit - found)


@pytest.mark.parametrize(
    ("so_far", "short", "long"),
    [
        (walked(0, 0), False, False),  # a rare word
        (walked(1, 1), False, True),
        (walked(2, 2), False, True),
        (walked(3, 5), True, True),  # enough in 40 more
        (walked(4, 4), True, True),  # in most blocks
        (walked(8, 0), True, True),  # two words of different messages
        (walked(1, 1, blocks=48), False, False),  # rarer than it seemed
        (walked(8, 9, blocks=48), False, True),
    ],
)
def test_the_newest_blocks_are_read_as_long_as_the_index_takes_longer(so_far: Walked, short: bool, long: bool) -> None:
    assert not so_far.enough
    assert (so_far.without_index or so_far.faster_than_index(SHORT)) is short
    assert (so_far.without_index or so_far.faster_than_index(LONG)) is long


def test_a_longer_history_makes_reading_worth_more() -> None:
    rare = walked(0, 0)
    assert [rare.faster_than_index(history) for history in (1_000, 100_000, 1_000_000)] == [False, False, True]


def test_no_more_than_so_many_blocks_are_read_before_the_index() -> None:
    assert walked(50, 10, blocks=MOST - 1, limit=60).faster_than_index(10**9)
    assert not walked(50, 10, blocks=MOST, limit=60).faster_than_index(10**9)


def test_one_statement_reads_what_is_probably_needed() -> None:
    assert walked(0, 0).next == AT_ONCE
    assert walked(8, 19).next == 1 + 8
    assert walked(8, 0).next == AT_ONCE
    assert walked(60, 0, blocks=60).next == MOST_HOLDING - 60
    assert walked(1, 1, blocks=MOST - 3).next == 3


def test_the_search_ends_with_a_full_page_or_after_so_many_blocks() -> None:
    assert walked(3, 20).enough
    assert not walked(8, 19).enough
    assert not walked(71, 0, blocks=71).enough
    assert walked(72, 0, blocks=72).enough
    assert not walked(71, 0, blocks=200).enough
    assert walked(72, 0, blocks=200).enough


@pytest.mark.parametrize("blocks", [1, FIRST, 48, MOST - 1])
@pytest.mark.parametrize("limit", [1, 20, 250])
def test_every_statement_reads_a_block(blocks: int, limit: int) -> None:
    for holding in range(min(blocks, MOST_HOLDING)):
        for found in range(limit):
            one = walked(holding, found, blocks=blocks, limit=limit)
            assert one.enough or 1 <= one.next <= AT_ONCE
