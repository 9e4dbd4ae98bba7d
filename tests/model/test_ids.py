"""Ids follow time, whatever the clock does, and say nothing else."""

from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID

from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from tests.for_each import for_each

NOW = datetime(2026, 11, 15, 10, 0, 0, 123_000, tzinfo=UTC)
moments = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31, 23), timezones=st.just(UTC))
words = st.text(st.characters(exclude_categories=["Cs"]))
any_ids = st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number))


def to_the_millisecond(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


@given(moments)
def test_an_id_is_a_uuid_of_version_seven_with_its_time(at: datetime) -> None:
    for id_ in (ids.new_id(at), ids.derived_id(at, "wamid.x")):
        assert id_.version == 7
        assert id_.variant == RFC_4122
        assert ids.time_of(id_) == to_the_millisecond(at)


@given(moments)
def test_a_moment_begins_with_its_floor(at: datetime) -> None:
    floor = ids.floor_id(at)
    assert ids.time_of(floor) == to_the_millisecond(at)
    assert floor < ids.new_id(at) < ids.floor_id(to_the_millisecond(at) + timedelta(milliseconds=1))


def test_before_nineteen_seventy_there_is_nothing() -> None:
    assert ids.floor_id(datetime(1960, 1, 1, tzinfo=UTC)) == ids.ZERO


@given(st.lists(st.tuples(moments, st.integers(0, 40)), max_size=20))
def test_ids_of_one_log_only_rise_however_the_clock_jumps(batches: list[tuple[datetime, int]]) -> None:
    last, seen = ids.ZERO, []
    for at, count in batches:
        new = ids.next_ids(last, at, count)
        assert len(new) == count
        seen += new
        last = new[-1] if new else last
    assert seen == sorted(set(seen))
    assert all(id_.version == 7 and id_.variant == RFC_4122 for id_ in seen)


def test_a_clock_that_stands_still_counts_on() -> None:
    first = ids.next_ids(ids.ZERO, NOW, 3)
    second = ids.next_ids(first[-1], NOW - timedelta(hours=1), 3)
    assert [id_.int - first[0].int for id_ in first + second] == [0, 1, 2, 3, 4, 5]


def test_a_thousand_ids_of_one_moment_differ() -> None:
    assert len({ids.new_id(NOW) for _ in range(1000)}) == 1000


@given(moments, st.integers(0, 300))
def test_many_ids_of_one_moment_differ_in_more_than_their_end(at: datetime, count: int) -> None:
    found = ids.new_ids(at, count)
    assert len({id_.int >> 20 for id_ in found}) == count  # each is counted up
    assert {(ids.milliseconds_of(id_), id_.version, id_.variant) for id_ in found} <= {
        (ids.milliseconds(at), 7, RFC_4122)
    }


@given(moments, words, words)
def test_a_derived_id_depends_on_moment_and_name_alone(at: datetime, name: str, other: str) -> None:
    assert (ids.derived_id(at, name) == ids.derived_id(at, other)) == (name == other)


@given(any_ids)
def test_what_is_shown_is_read_again(id_: UUID) -> None:
    assert ids.parse_id("we", ids.format_id("we", id_)) == id_
    assert ids.parse_id("", ids.message_id(id_)) == id_
    assert ids.parse_id("", ids.message_id(id_).lower()) == id_
    assert len(ids.message_id(id_)) == 32
    assert ids.message_id(id_) == ids.message_id(id_).upper()


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    for prefix in ("", "we"):
        found = ids.parse_id(prefix, text)
        assert found is None or text.lower().endswith(found.hex)


@for_each(
    "text",
    [
        "",
        "we_",
        "ch_" + "0" * 32,
        "we_" + "0" * 31,
        "we_" + "0" * 33,
        "we_" + "g" * 32,
        "we_" + "_" + "0" * 31,
        "we_" + "٠" * 32,
        "we_{" + "0" * 30 + "}",
        "we_" + "0" * 31 + " ",
    ],
)
def test_what_is_no_id_is_none(text: str) -> None:
    assert ids.parse_id("we", text) is None


@given(second=moments, waits=st.lists(st.integers(0, 2000), min_size=2, max_size=6), lead=st.integers(-5000, 5000))
def test_ids_of_one_second_follow_the_arrival(second: datetime, waits: list[int], lead: int) -> None:
    now, made = second + timedelta(milliseconds=lead), []
    for wait in waits:
        now += timedelta(milliseconds=wait + 1)
        made += [ids.arrival_id(second, now, place) for place in range(3)]
    assert made == sorted(set(made))
    first, after = ids.second_of(second)
    assert all(first <= id_ < after and id_.version == 7 for id_ in made)
