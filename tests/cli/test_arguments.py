"""Arguments as people write them, and text that cannot steer a terminal."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from gatepost.cli.arguments import read_duration, read_headers, read_id, read_list, read_time
from gatepost.cli.output import cell
from gatepost.model.errors import Invalid

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)


def test_ids() -> None:
    assert read_id("ch", "ch_" + "0" * 31 + "1") == UUID(int=1)
    for wrong in ("", "ch_", "acc_" + "0" * 32, "0" * 32, "ch_" + "g" * 32):
        with pytest.raises(Invalid, match="ch_ and 32 hex digits"):
            read_id("ch", wrong)


def test_durations() -> None:
    assert read_duration("0", "overlap") == timedelta(0)
    assert read_duration("90s", "overlap") == timedelta(seconds=90)
    assert read_duration("7d", "overlap") == timedelta(days=7)
    for wrong in ("", "7", "d", "-1h", "1w", "1.5h"):
        with pytest.raises(Invalid, match="overlap"):
            read_duration(wrong, "overlap")


def test_moments() -> None:
    assert read_time(None, "expires", NOW) is None
    assert read_time("2h", "expires", NOW) == NOW + timedelta(hours=2)
    assert read_time("2027-01-31", "expires", NOW) == datetime(2027, 1, 31, tzinfo=UTC)
    assert read_time("2027-01-31T10:00:00+02:00", "expires", NOW) == datetime(2027, 1, 31, 8, tzinfo=UTC)
    with pytest.raises(Invalid, match="expires"):
        read_time("tomorrow", "expires", NOW)


def test_headers_and_words() -> None:
    assert read_headers(["A: b: c", "D:e"]) == {"A": "b: c", "D": "e"}
    with pytest.raises(Invalid, match="Name: value"):
        read_headers(["A"])
    assert read_list(" a, b,,c ") == ("a", "b", "c")


def test_cells() -> None:
    assert cell(None) == cell([]) == cell({}) == "–"
    assert cell(True) == "yes"
    assert cell(12000) == "12,000"
    assert cell({"a": [1, "b"]}) == "a: 1, b"
    assert cell("\x1b[31mred\n") == "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"
