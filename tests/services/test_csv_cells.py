"""Cells of CSV files: nothing runs in a spreadsheet, whatever it splits cells at, and everything comes back."""

import csv
import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.services.csv_cells import bare_cell, safe_cell, safe_json, safe_lines
from tests.for_each import for_each

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
PIECES = st.lists(st.sampled_from([*FORMULAS, ";", '"', "'", " ", ",", "a", "1", "\u00a0"])).map("".join)


@for_each("text", ["=1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "=", "-", "＝1", "＋1", "－1", "＠x", " =1"])
def test_a_cell_that_would_run_is_made_safe(text: str) -> None:
    assert safe_cell(text) == "'" + text


@for_each(
    ("text", "safe"),
    [
        ("x;=1", "x;'=1"),
        ("x; ＝1;y", "x; '＝1;y".replace("; '", ";' ")),
        ("x\n+1\r\n-1", "x\n'+1\r\n'-1"),
        ("x\t@y", "x\t'@y"),
        ('x;"=1', "x;'\"=1"),
        (";=1", ";'=1"),
        ("a;b=c;-", "a;b=c;'-"),
    ],
)
def test_a_part_that_would_run_is_made_safe(text: str, safe: str) -> None:
    assert safe_cell(text) == safe
    assert bare_cell(safe) == text


@for_each("text", ["", "1", "a=b", "x\t", "a;b", "a; b", "a,=b", "'", "5;'5", "a'=1"])
def test_any_other_cell_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text
    assert bare_cell(text) == text


@given(PIECES)
def test_every_cell_comes_back(text: str) -> None:
    assert bare_cell(safe_cell(text)) == text


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@given(cells=st.lists(PIECES, min_size=1, max_size=4))
def test_no_cell_runs_whatever_a_spreadsheet_splits_at(cells: list[str], delimiter: str) -> None:
    text = safe_lines([["id", *cells]]).decode()
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if delimiter != ",":  # quotes count only where they surround what the program takes for a cell
        rows += csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE)
    for row in rows:
        for cell in row:
            assert not cell.lstrip(' "\u00a0').startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")), text


@given(st.dictionaries(PIECES, PIECES))
def test_json_stays_the_same_json(content: dict[str, str]) -> None:
    written = msgspec.json.encode(content).decode()
    safe = safe_json(written)
    assert msgspec.json.decode(safe) == content
    assert safe_cell(safe) == safe


@for_each("filler", ["x", " ", "'", ";", "\n"])
@for_each("before", range(-3, 4))
def test_a_part_across_the_end_of_a_slice_is_made_safe(filler: str, before: int) -> None:
    text = filler * (65_536 + before) + ";  '=1+1;x" + filler * 70_000 + "\t@SUM(A1)"
    safe = safe_cell(text)
    assert ";'  '=1+1;x" in safe
    assert safe.endswith("\t'@SUM(A1)")
    assert bare_cell(safe) == text
    assert len(safe) == len(text) + (3 if filler == "\n" else 2)  # a cell that begins with a line break runs, too
