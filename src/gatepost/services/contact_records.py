"""The records of a CSV file, read in bounded steps: no line, record or file is read further than its limit."""

import csv
import io
from collections.abc import Iterator
from typing import IO

from gatepost.model.errors import Invalid, invalid_field

ROWS_MAX = 100_000  # without the header; blank rows count
LINES_MAX = 1_000_000  # counting line breaks inside cells
RECORD_MAX = 131_072  # characters of one record, header included
STEP = 256 * 1024  # characters that are parsed at once
_DELIMITERS = (",", ";", "\t")

Record = tuple[int, list[str]]  # the number of its first line, and its cells


class CsvRecords:
    """The records of a file, from the first one. All methods may run in the worker thread."""

    def __init__(self, file: IO[bytes], delimiter: str) -> None:
        file.seek(0)
        self._text = io.TextIOWrapper(file, "utf-8-sig", newline="")
        self._lines = self._read = self._begun = self._rows = 0
        self._reader = csv.reader(self._bounded_lines(), delimiter=delimiter, strict=True)

    def take(self, most: int) -> list[Record]:
        """Return the next records: at most `most`, and about `STEP` characters; none at the end of the file."""
        found: list[Record] = []
        end = self._read + STEP
        while len(found) < most and self._read < end:
            number, self._begun = self._lines + 1, self._read
            cells = next(self._reader, None)
            if cells is None:
                break
            self._rows += 1
            if self._rows > ROWS_MAX + 1:
                raise _too_many(f"{ROWS_MAX:,} lines below the first, blank ones included")
            found.append((number, cells))
        return found

    def detach(self) -> None:
        """Detach from the file without closing it."""
        self._text.detach()

    def _bounded_lines(self) -> Iterator[str]:
        while line := self._text.readline(RECORD_MAX + 1):
            self._lines += 1
            self._read += len(line)
            if self._read - self._begun > RECORD_MAX:
                raise invalid_field("file", f"line {self._lines:,}: a row may have at most {RECORD_MAX:,} characters")
            if self._lines > LINES_MAX:
                raise _too_many(f"{LINES_MAX:,} lines, counted with line breaks inside of cells")
            yield line


def find_delimiter(file: IO[bytes]) -> str:
    """Return the delimiter of the header: in many locales, spreadsheets write a semicolon."""
    file.seek(0)
    header = file.readline(RECORD_MAX).decode("utf-8-sig", "replace")
    return max(_DELIMITERS, key=header.count)


def _too_many(limit: str) -> Invalid:
    return invalid_field("file", f"may have at most {limit}. Import it in parts")
