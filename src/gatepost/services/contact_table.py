"""An uploaded table of contacts: received completely and checked before anything is written, then read line by line.

chunks ─► temporary file, in memory while small ─► header, encoding, quotes, count ─► rows with their line numbers

Parsing runs in the worker thread, up to two thousand lines at a time (`contact_records.py` has the limits).

The request is read completely before the response starts: otherwise a client that sends everything before it reads
would deadlock with the server.
"""

import asyncio
import csv
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import datetime
from typing import IO

import msgspec

from gatepost.compute import compute
from gatepost.model.contact import FIELDS_MAX, OWN_COLUMNS, check_custom, read_name
from gatepost.model.dates import read_moment, read_zone
from gatepost.model.errors import BadRequest, GatepostError, Invalid, TooLarge, invalid_field
from gatepost.model.phone import check_phone
from gatepost.services.contact_records import CsvRecords, Record, find_delimiter
from gatepost.services.csv_cells import bare_cell
from gatepost.store.contacts.changes import ContactFields, ImportLine

COLUMNS_MAX = len(OWN_COLUMNS) + 2 * FIELDS_MAX
BYTES_MAX = 64 * 1024 * 1024
_IN_MEMORY = 1024 * 1024
_SECONDS = 600.0  # maximum duration of an upload
_TURN = 2_000  # lines that are parsed at once
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")


class TableRow(msgspec.Struct, frozen=True):
    """One line of the table: the contact to import, or why it is rejected."""

    number: int
    phone: str
    line: ImportLine | None = None
    refusal: GatepostError | None = None


class ContactTable(msgspec.Struct, frozen=True):
    """A checked table."""

    file: IO[bytes]
    delimiter: str
    columns: list[str]
    total: int

    async def rows(self, most: int) -> AsyncGenerator[list[TableRow], None]:
        """Yield the rows in batches of at most `most`, without the header and empty lines."""
        records = CsvRecords(self.file, self.delimiter)
        try:
            await compute(records.take, 1)
            while found := await compute(records.take, most):
                if rows := await compute(self._read, found):
                    yield rows
        finally:
            records.detach()

    def _read(self, found: Sequence[Record]) -> list[TableRow]:
        return [read_row(number, self.columns, cells) for number, cells in found if any(cells)]

    def close(self) -> None:
        self.file.close()


async def open_table(chunks: AsyncIterator[bytes]) -> ContactTable:
    """Receive and check a table; reject all of it if any part cannot be read."""
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the table closes it
    try:
        await _take_in(file, chunks)
        return await _check(file, find_delimiter(file))
    except UnicodeDecodeError:
        file.close()
        raise invalid_field("file", "must be text in UTF-8; in a spreadsheet, save it as 'CSV UTF-8'") from None
    except csv.Error as error:
        file.close()
        raise invalid_field("file", f"is not CSV: {error}") from None
    except BaseException:
        file.close()
        raise


async def _take_in(file: IO[bytes], chunks: AsyncIterator[bytes]) -> None:
    size = 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for chunk in chunks:
                size += len(chunk)
                if size > BYTES_MAX:
                    raise TooLarge(f"A table may have up to {BYTES_MAX:,} bytes. Import it in parts.")
                file.write(chunk)
    except TimeoutError:
        raise BadRequest("The upload took too long. Nothing was kept.", "malformed_upload") from None


async def _check(file: IO[bytes], delimiter: str) -> ContactTable:
    """Parse the whole file once, so that syntax errors are found before anything is written."""
    records, total = CsvRecords(file, delimiter), 0
    try:
        header = await compute(records.take, 1)
        columns = _columns(header[0][1] if header else [])
        while found := await compute(records.take, _TURN):
            total += sum(any(cells) for _, cells in found)
    finally:
        records.detach()
    return ContactTable(file, delimiter, columns, total)


def _columns(header: Sequence[str]) -> list[str]:
    """Return the names of the columns. The standard ones are case-insensitive."""
    if len(header) > COLUMNS_MAX:
        raise invalid_field("file", f"may have at most {COLUMNS_MAX} columns, but has {len(header):,}")
    names = [bare_cell(cell.strip()) for cell in header]
    columns = [name.lower() if name.lower() in OWN_COLUMNS else name for name in names]
    if "phone" not in columns:
        raise invalid_field("file", "the first line must name the columns, and one of them must be 'phone'")
    name, times = Counter(columns).most_common(1)[0]
    if times > 1:
        raise invalid_field("file", f"the column '{name[:64]}' is there twice")
    check_custom(dict.fromkeys(_own_fields(columns)))
    return columns


def _own_fields(columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name not in OWN_COLUMNS]


def read_row(number: int, columns: Sequence[str], cells: Sequence[str]) -> TableRow:
    """Return the parsed row. An empty cell does not change the contact."""
    given = {name: bare_cell(cell.strip()) for name, cell in zip(columns, cells, strict=False)}
    phone = given.get("phone", "")
    try:
        if len(cells) > len(columns):
            raise Invalid(f"has {len(cells)} cells, but there are {len(columns)} columns")
        return TableRow(number, phone, ImportLine(check_phone(phone), _fields(given), _as_of(given)))
    except GatepostError as error:
        return TableRow(number, phone[:64], refusal=error)


def _fields(given: dict[str, str]) -> ContactFields:
    custom: dict[str, str | None] = {name: given[name] for name in _own_fields(list(given)) if given[name]}
    check_custom(custom)
    name = read_name(given["name"]) if given.get("name") else msgspec.UNSET
    return ContactFields(name, custom, _flag(given.get("opted_out", "").lower()))


def _as_of(given: dict[str, str]) -> datetime | None:
    """Return the time of a line of an export. Other tables may have another format in this column, or none."""
    try:
        return read_moment("updated_at", given.get("updated_at", ""), read_zone(None))
    except GatepostError:
        return None


def _flag(text: str) -> bool | None:
    if text and text not in (*_YES, *_NO):
        raise invalid_field("opted_out", "must be true or false, or empty to leave it")
    return text in _YES if text else None
