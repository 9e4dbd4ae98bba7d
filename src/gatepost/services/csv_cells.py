"""Cells of CSV files that no spreadsheet takes for a formula, and the way back.

A spreadsheet runs a cell that begins with = + - @ (or their wide forms), a tab or a line break. One that is set to
semicolons or tabs also splits our cells at these, whatever quotes are around them, and so does one that ignores quotes
at line breaks: each such part is looked at as a cell of its own. A part that would run gets an apostrophe in front.
"""

import csv
import io
import re
from collections.abc import Sequence

_FORMULA = "=+\\-@＝＋－＠﹦﹢﹣﹫"
_SKIPPED = r"(?:['\"]|[^\S\t\r\n])*+"  # what may stand before a formula: quotes and spaces
_CELL = rf"\A(?={_SKIPPED}[{_FORMULA}\t\r\n])"
_PART = rf"(?<=[;\t\r\n])(?={_SKIPPED}[{_FORMULA}])"
_RUNS = re.compile(f"{_CELL}|{_PART}")
_MADE_SAFE = re.compile(f"{_CELL}'|{_PART}'")


def safe_cell(text: str) -> str:
    """A cell with an apostrophe in front of each part that would run; spreadsheets do not show one at the beginning."""
    return _RUNS.sub("'", text)


def safe_json(text: str) -> str:
    """The same for JSON, which stays the same JSON: there a semicolon stands in texts only, and can be escaped."""
    return text.replace(";", "\\u003b") if _RUNS.search(text) else text


def bare_cell(text: str) -> str:
    """The text behind a cell that was made safe."""
    return _MADE_SAFE.sub("", text)


def csv_lines(rows: Sequence[Sequence[str]]) -> bytes:
    """Rows as RFC 4180 has them. The cells are safe already, or harmless."""
    return b"".join([_csv_line(row) for row in rows])  # one call for all of them would keep the interpreter lock


def _csv_line(row: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow(row)
    return text.getvalue().encode()


def safe_lines(rows: Sequence[Sequence[str]]) -> bytes:
    """Rows whose cells are made safe."""
    return csv_lines([[safe_cell(cell) for cell in row] for row in rows])
