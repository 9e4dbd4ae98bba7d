"""The cursor of an account's stream: exact for active channels, short for quiet ones, never past an event."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.model.account_cursor import LISTED_MAX, QUIET, read_cursor, write_cursor

NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)
AGES = st.one_of(st.none(), st.integers(0, 3 * 3600 * 1000))


def position(milliseconds: int | None) -> UUID:
    return ids.ZERO if milliseconds is None else ids.new_id(NOW - timedelta(milliseconds=milliseconds))


@given(st.lists(AGES, max_size=30))
def test_what_is_written_is_read(ages: list[int | None]) -> None:
    positions = {ids.new_id(NOW): position(age) for age in ages}
    cursor = read_cursor(write_cursor(positions, NOW))
    assert cursor is not None
    for channel_id, at in positions.items():
        if at > ids.floor_id(NOW - QUIET):
            assert cursor.position(channel_id, at) == at
        else:
            assert cursor.position(channel_id, at) == at, "a quiet channel stands at its end"
            later = ids.new_id(NOW)
            assert at <= cursor.position(channel_id, later) <= ids.floor_id(NOW - QUIET)


def test_a_quiet_channel_costs_nothing() -> None:
    quiet = {ids.new_id(NOW): position(2 * 3600 * 1000) for _ in range(1000)}
    assert len(write_cursor(quiet, NOW)) == len(write_cursor({}, NOW)) < 16


def test_very_many_active_channels_repeat_and_never_skip() -> None:
    positions = {ids.new_id(NOW): position(age) for age in range(2 * LISTED_MAX)}
    text = write_cursor(positions, NOW)
    cursor = read_cursor(text)
    assert cursor is not None
    assert len(text) < 9_000
    assert all(cursor.position(channel_id, at) <= at for channel_id, at in positions.items())
    exact = sum(cursor.position(channel_id, at) == at for channel_id, at in positions.items())
    assert exact >= LISTED_MAX


def test_two_channels_whose_ids_end_alike() -> None:
    first, second = UUID(int=1 << 64 | 5), UUID(int=2 << 64 | 5)
    older, newer = position(1000), position(1)
    cursor = read_cursor(write_cursor({first: newer, second: older}, NOW))
    assert cursor is not None
    assert cursor.position(first, newer) == cursor.position(second, older) == older


@given(st.text(max_size=80))
def test_anything_else_is_no_cursor(text: str) -> None:
    assert read_cursor(text) is None or text.startswith("a1.")


def test_bad_cursors() -> None:
    good = write_cursor({ids.new_id(NOW): position(5)}, NOW)
    for bad in (
        "",
        "a1.",
        "a1.x",
        good[:-1],
        good + "A",
        good.replace("a1", "a2"),
        "a1." + "A" * 20_000,
        "a1.é" + good,
    ):
        assert read_cursor(bad) is None, bad
