"""Dates and times as ranges of ids; words as they are searched for."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import ids
from gatepost.model.dates import LAST_ID, IdRange, first_id, read_moment, read_span, read_zone
from gatepost.model.errors import Invalid
from gatepost.model.search_words import WORD_MAX, WORDS_MAX, read_query, split, split_exactly, words_of
from tests.for_each import for_each


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@for_each(
    ("text", "zone", "expected"),
    [
        ("2026-11-15", None, at(2026, 11, 15)),
        ("2026-11-15", "America/Sao_Paulo", at(2026, 11, 15, 3)),
        ("2026-11-15", "Asia/Kathmandu", at(2026, 11, 14, 18, 15)),
        ("2026-03-29", "Europe/Berlin", at(2026, 3, 28, 23)),  # the clocks change on that day
        ("2026-03-30", "Europe/Berlin", at(2026, 3, 29, 22)),
        ("2018-11-04", "America/Sao_Paulo", at(2018, 11, 4, 3)),  # a day that began at one o'clock
        ("2026-11-15T10:00:00Z", "Asia/Tokyo", at(2026, 11, 15, 10)),
        ("2026-11-15t10:00:00.5z", None, at(2026, 11, 15, 10, 0, 0, 500_000)),
        ("2026-11-15T10:00:00+02:00", None, at(2026, 11, 15, 8)),
        ("2026-11-15T10:00:00 02:00", None, at(2026, 11, 15, 8)),  # a plus that nobody encoded
        ("2026-11-15T10:00:00-03:30", None, at(2026, 11, 15, 13, 30)),
    ],
)
def test_a_moment(text: str, zone: str | None, expected: datetime) -> None:
    assert read_moment("from", text, read_zone(zone)) == expected


@for_each(
    "text",
    ["", "today", "2026-13-01", "2026-02-29", "26-1-1", "2026-11-15T10:00", "2026-11-15T25:00:00Z", "９９９９-01-01",
     "2026-11-15T10:00:00+99:00", "1794736800", "2026-11-15 10:00:00Z", "9999-12-31T23:59:59-23:00"],
)  # fmt: skip
def test_no_moment(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_span(text, None, None)
    assert refused.value.fields[0].field == "from"


@for_each("name", ["", "Mars", "America", "/etc/passwd", "../UTC", "Europe/Berlin/", "UTC\n", "x" * 41])
def test_no_zone(name: str) -> None:
    with pytest.raises(Invalid):
        read_zone(name)


def test_a_range_is_half_open() -> None:
    assert read_span(None, None, None) == IdRange(ids.ZERO, LAST_ID)
    day = read_span("2026-11-15", "2026-11-16", None)
    assert day.start <= ids.new_id(at(2026, 11, 15)) < day.end
    assert ids.new_id(at(2026, 11, 16) - timedelta(milliseconds=1)) < day.end <= ids.new_id(at(2026, 11, 16))
    assert read_span("2026-11-15T00:00:00Z", "2026-11-15T00:00:00.001Z", None).start.int >> 80
    for to in ("2026-11-15", "2026-11-14"):
        with pytest.raises(Invalid, match="later"):
            read_span("2026-11-15", to, None)


@given(st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)))
def test_the_first_id_of_a_moment(moment: datetime) -> None:
    first = ids.time_of(first_id(moment))
    assert moment <= first < moment + timedelta(milliseconds=1)


@for_each(
    ("text", "expected"),
    [
        ("Où est ma Commande?", ["ou", "est", "ma", "commande"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("ﬁne ① İstanbul", ["fine", "1", "istanbul"]),
        ("注文 123", ["注", "文", "123"]),
        ("안녕하세요", ["안녕하세요"]),
        ("a_b-c.d@e", ["a", "b", "c", "d", "e"]),
        ("👋 …", []),
        ("x" * (WORD_MAX + 1), ["x" * WORD_MAX]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@given(st.text())
def test_words_are_plain(text: str) -> None:
    for word in split(text):
        assert word.isalnum()
        assert split(word) == [word] or len(word) == WORD_MAX


@for_each(
    ("text", "expected"),
    [
        ("मेरी किताब", ["मेरी", "किताब"]),
        ("ශ්\u200dරී", ["ශරී"]),
        ("Café 注文", ["cafe", "注", "文"]),
    ],
)
def test_words_with_vowel_signs(text: str, expected: list[str]) -> None:
    assert split_exactly(text) == expected


@for_each(
    ("text", "count"),
    [("a " * 11, 11), ("我 " * 11, 11), ("किताब " * 11, 11), ("我的订单什么时候可以送到 " * 11, 11)],
)
def test_too_many_words(text: str, count: int) -> None:
    with pytest.raises(Invalid, match=f"has {count}"):
        read_query(text)
    assert read_query(text[: len(text) // 11 * 10])


def test_words_of_a_message() -> None:
    content = (
        '{"body":"Pick one","media":{"id":"med_1"},"sections":[{"title":"Tea","rows":[{"id":"r1","title":"Green"}]}]}'
    )
    assert words_of(content) == {"pick", "one", "tea", "green"}
    assert words_of("no json") == set()
    many = " ".join(str(n) for n in range(WORDS_MAX + 1))
    assert len(words_of(f'{{"body":"{many}"}}')) == WORDS_MAX


def test_what_fits() -> None:
    sought = read_query("Blue CA")
    assert sought.fits({"blue", "cat", "x"})
    assert not sought.fits({"blues", "cat"})
    assert not sought.fits({"blue", "dog"})
