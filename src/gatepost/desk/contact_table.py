"""A table of contacts as somebody uploads it: read whole and checked before anything is written, then line by line.

pieces ─► a file of its own, in memory while small ─► header, encoding, quotes, count ─► rows with their line numbers

A request is read to its end before the answer begins: a client that sends everything first and reads then would
otherwise wait for us while we wait for it.
"""

import asyncio
import csv
import io
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from typing import IO

import msgspec

from gatepost.desk.export import safe_cell
from gatepost.model.contact import OWN_COLUMNS, check_custom, read_name
from gatepost.model.errors import BadRequest, GatepostError, Invalid, TooLarge, invalid_field
from gatepost.model.phone import check_phone
from gatepost.store.contact_changes import Line, Wish

LINES_MOST = 100_000
BYTES_MOST = 64 * 1024 * 1024
_IN_MEMORY = 1024 * 1024
_SECONDS = 600.0  # that an upload may take
_TURN = 2_000  # lines between which others get a turn
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")
_MEANT = ("phone", "name", "opted_out")  # what else a contact has may be there, as in an export, and means nothing


class Row(msgspec.Struct, frozen=True):
    """One line of the table: what it asks for, or why it cannot be."""

    number: int
    phone: str
    line: Line | None = None
    refusal: GatepostError | None = None


class Table(msgspec.Struct, frozen=True):
    """A checked table."""

    file: IO[bytes]
    delimiter: str
    columns: list[str]
    total: int

    def rows(self) -> Generator[Row, None, None]:
        """Every line but the header and empty ones."""
        for number, cells in _records(self.file, self.delimiter):
            if number > 1 and any(cells):
                yield read_row(number, self.columns, cells)

    def close(self) -> None:
        self.file.close()


async def open_table(pieces: AsyncIterator[bytes]) -> Table:
    """Takes a table in, and refuses it whole where it cannot be read."""
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the table closes it
    try:
        await _take_in(file, pieces)
        delimiter = _delimiter(file)
        columns = _columns(next((cells for _, cells in _records(file, delimiter)), []))
        return Table(file, delimiter, columns, await _count(file, delimiter))
    except UnicodeDecodeError:
        file.close()
        raise invalid_field("file", "must be text in UTF-8; in a spreadsheet, save it as 'CSV UTF-8'") from None
    except csv.Error as error:
        file.close()
        raise invalid_field("file", f"is not CSV: {error}") from None
    except BaseException:
        file.close()
        raise


async def _take_in(file: IO[bytes], pieces: AsyncIterator[bytes]) -> None:
    size = 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for piece in pieces:
                size += len(piece)
                if size > BYTES_MOST:
                    raise TooLarge(f"A table may have up to {BYTES_MOST:,} bytes. Import it in parts.")
                file.write(piece)
    except TimeoutError:
        raise BadRequest("The upload took too long. Nothing was kept.", "malformed_upload") from None


def _records(file: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the number of the line that it begins on."""
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        reader, number = csv.reader(text, delimiter=delimiter, strict=True), 1
        for cells in reader:
            yield number, cells
            number = reader.line_num + 1
    finally:
        text.detach()


def _delimiter(file: IO[bytes]) -> str:
    """What parts the cells of the header: spreadsheets of half the world write a semicolon."""
    file.seek(0)
    header = file.readline(_IN_MEMORY).decode("utf-8-sig", "replace")
    return max((",", ";", "\t"), key=header.count)


def _columns(header: Sequence[str]) -> list[str]:
    """The names of the columns; those of a contact's own may be written in capitals."""
    names = [cell.strip() for cell in header]
    columns = [name.lower() if name.lower() in OWN_COLUMNS else name for name in names]
    if "phone" not in columns:
        raise invalid_field("file", "the first line must name the columns, and one of them must be 'phone'")
    for name in columns:
        if columns.count(name) > 1:
            raise invalid_field("file", f"the column '{name[:64]}' is there twice")
    check_custom(dict.fromkeys(_own_fields(columns)))
    return columns


def _own_fields(columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name not in OWN_COLUMNS]


async def _count(file: IO[bytes], delimiter: str) -> int:
    """How many lines there are. All are read once, so that what cannot be read is found before anything is written."""
    total = -1  # the header
    for _, cells in _records(file, delimiter):
        total += any(cells)
        if total > LINES_MOST:
            raise invalid_field("file", f"may have up to {LINES_MOST:,} lines below the first. Import it in parts")
        if total % _TURN == 0:
            await asyncio.sleep(0)
    return total


def read_row(number: int, columns: Sequence[str], cells: Sequence[str]) -> Row:
    """What a line asks for. An empty cell leaves what is there."""
    given = {name: bare_cell(cell.strip()) for name, cell in zip(columns, cells, strict=False)}
    phone = given.get("phone", "")
    try:
        if len(cells) > len(columns):
            raise Invalid(f"has {len(cells)} cells, but there are {len(columns)} columns")
        return Row(number, phone, Line(check_phone(phone), _wish(given)))
    except GatepostError as error:
        return Row(number, phone[:64], refusal=error)


def bare_cell(text: str) -> str:
    """The text behind a cell that an export has made safe."""
    return text[1:] if text.startswith("'") and safe_cell(text[1:]) == text else text


def _wish(given: dict[str, str]) -> Wish:
    custom: dict[str, str | None] = {name: given[name] for name in _own_fields(list(given)) if given[name]}
    check_custom(custom)
    name = read_name(given["name"]) if given.get("name") else msgspec.UNSET
    return Wish(name, custom, _flag(given.get("opted_out", "").lower()))


def _flag(text: str) -> bool | None:
    if text and text not in (*_YES, *_NO):
        raise invalid_field("opted_out", "must be true or false, or empty to leave it")
    return text in _YES if text else None
