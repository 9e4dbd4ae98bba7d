"""Import of contacts from a table, with a result for every line, and export page by page.

table ─► 250 lines ─► one commit ─► the result of each line, the progress ─► … ─► the summary
"""

import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from gatepost.clock import Clock
from gatepost.compute import compute
from gatepost.model import ids, times
from gatepost.model.errors import GatepostError, invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.person import shown_phone
from gatepost.services.contact_table import ContactTable, TableRow
from gatepost.services.csv_cells import safe_lines
from gatepost.store.channel_head import lock_head
from gatepost.store.contacts.changes import ImportResult, put_contacts
from gatepost.store.contacts.read import ContactFilter, ContactRow, custom_names, list_contacts
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.labels import CONTACT, LabelRow, read_labels_by_contact
from gatepost.store.pool import Database

_ROWS = 250  # per commit
BATCH = 500  # contacts of a page of an export
COLUMNS_MAX = 1_000
_PAGE_SIZE = 1024 * 1024  # bytes of custom fields after which a page of an export ends
_GZIP = 31  # zlib's number for a whole gzip file
_CHUNK = 64 * 1024  # bytes of a stored report
RESULTS = ("created", "updated", "unchanged", "refused")
_encode = msgspec.json.Encoder().encode


class ImportedLine(msgspec.Struct, frozen=True):
    """The result of one line of the table."""

    line: int
    phone: str | None
    result: str
    id: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ImportProgress(msgspec.Struct, frozen=True):
    """How many lines are written."""

    done: int
    total: int


class ProgressLine(msgspec.Struct, frozen=True):
    """The progress, after each commit."""

    progress: ImportProgress


class ImportSummary(msgspec.Struct, frozen=True):
    """The number of lines of the table, and of each result."""

    lines: int
    created: int
    updated: int
    unchanged: int
    refused: int


class SummaryLine(msgspec.Struct, frozen=True):
    """The last line of an import."""

    summary: ImportSummary


class ImportFailure(msgspec.Struct, frozen=True):
    """The error that ended an import."""

    code: str
    message: str
    retryable: bool


class FailureLine(msgspec.Struct, frozen=True):
    """The last line of an import that failed. What the lines before report is stored."""

    error: ImportFailure
    summary: ImportSummary


class ImportReport:
    """The lines of a report. They are sent, and stored, compressed, with the idempotency key for repeated requests."""

    def __init__(self, *, kept: bool) -> None:
        self._packer = zlib.compressobj(wbits=_GZIP) if kept else None
        self._packed: list[bytes] = []

    def add(self, lines: bytes) -> bytes:
        """Add lines to the report, and return them."""
        if self._packer is not None:
            self._packed.append(self._packer.compress(lines))
        return lines

    def pack(self) -> bytes:
        """Return all lines, compressed."""
        end = self._packer.flush() if self._packer is not None else b""
        return b"".join(self._packed) + end


async def unpack_report(packed: bytes) -> AsyncIterator[bytes]:
    """Yield the lines of a report, chunk by chunk."""
    unpacker, rest = zlib.decompressobj(wbits=_GZIP), packed
    while chunk := unpacker.decompress(rest, _CHUNK):
        yield chunk
        rest = unpacker.unconsumed_tail


class Importer(msgspec.Struct, frozen=True):
    """Imports tables of contacts into a channel."""

    db: Database
    clock: Clock
    channel: ChannelRef
    channel_id: UUID

    async def begin(self, table: ContactTable, once: IdempotentRequest[bytes]) -> None:
        """Claim the request's idempotency key, or close the table and raise if the key was used before."""
        try:
            async with self.db.transaction() as conn:
                await lock_head(conn, self.channel_id)
                await once.check(conn, self.clock.now())
                await once.begin(conn, self.clock.now())
        except BaseException:
            table.close()
            raise

    async def run(self, table: ContactTable, once: IdempotentRequest[bytes] = NEVER) -> AsyncIterator[bytes]:
        """Write a table batch by batch, and yield the results as JSON lines. Reported lines are committed.

        A repeated request starts from the beginning: lines that are already written change nothing.
        """
        counts, report = Counter(dict.fromkeys(RESULTS, 0)), ImportReport(kept=once.keyed)
        rows = table.rows(_ROWS)
        try:
            async for batch in rows:
                results = await self._write(batch)
                counts.update(written.result for written in results)
                yield report.add(b"".join(_json(_line(row, one)) for row, one in zip(batch, results, strict=True)))
                yield report.add(_json(ProgressLine(ImportProgress(counts.total(), table.total))))
                await once.renew(self.db, self.clock.now())
            summary = report.add(_json(SummaryLine(ImportSummary(table.total, **counts))))
            await self._keep(report, once)
            yield summary
        except GatepostError as error:  # the response has started: the error is its last line
            await self._forget(once)
            failure = ImportFailure(error.code, error.message, error.retryable)
            yield _json(FailureLine(failure, ImportSummary(table.total, **counts)))
        finally:
            await rows.aclose()  # before closing the file that it reads
            table.close()

    async def _keep(self, report: ImportReport, once: IdempotentRequest[bytes]) -> None:
        if once.keyed:
            async with self.db.connection() as conn:
                await once.keep(conn, report.pack(), self.clock.now())

    async def _forget(self, once: IdempotentRequest[bytes]) -> None:
        """Release the idempotency key. If that fails, the key becomes free when its lease expires."""
        with suppress(GatepostError):
            await once.forget(self.db)

    async def _write(self, batch: list[TableRow]) -> list[ImportResult]:
        lines = [row.line for row in batch if row.line is not None]
        written = iter(await put_contacts(self.db, self.channel, self.channel_id, lines, self.clock.now()))
        return [
            next(written) if row.line is not None else ImportResult("refused", refusal=row.refusal) for row in batch
        ]


def _line(row: TableRow, written: ImportResult) -> ImportedLine:
    id_ = ids.format_id("ct", written.contact_id) if written.contact_id is not None else UNSET
    refused = written.refusal
    code, reason = (refused.code, refused.message) if refused is not None else (UNSET, UNSET)
    return ImportedLine(row.number, row.phone, written.result, id_, code, reason)


def _json(value: Any) -> bytes:
    return _encode(value) + b"\n"


# -- export -----------------------------------------------------------------------------------------------------------


async def export_ndjson(
    db: Database, channel_id: UUID, filter_: ContactFilter, show: Callable[[ContactRow, list[LabelRow]], Any]
) -> AsyncIterator[bytes]:
    """Yield every contact as a line of JSON, the newest first; `show` makes the object of a line."""
    async for rows, labels in _pages(db, channel_id, filter_):
        yield await compute(_ndjson, rows, labels, show)


def _ndjson(
    rows: list[ContactRow], labels: dict[UUID, list[LabelRow]], show: Callable[[ContactRow, list[LabelRow]], Any]
) -> bytes:
    return b"".join(_json(show(row, labels[row.id])) for row in rows)


async def export_csv(db: Database, channel_id: UUID, wanted: ContactFilter, fields: list[str]) -> AsyncIterator[bytes]:
    """Yield every contact as a line of a CSV table, which can be imported without changes."""
    yield safe_lines([["phone", "name", "opted_out", *fields, *_REST]])
    async for rows, labels in _pages(db, channel_id, wanted):
        yield await compute(_csv, rows, labels, fields)


def _csv(rows: list[ContactRow], labels: dict[UUID, list[LabelRow]], fields: list[str]) -> bytes:
    return safe_lines([_cells(row, labels[row.id], fields) for row in rows])


async def export_fields(db: Database, channel_id: UUID) -> list[str]:
    """Return the columns of custom fields, or raise if a table would have too many."""
    fields = await custom_names(db, channel_id, COLUMNS_MAX + 1)
    if len(fields) > COLUMNS_MAX:
        raise invalid_field("format", f"there are more than {COLUMNS_MAX:,} custom fields; export them as ndjson")
    return fields


_REST = ("username", "labels", "id", "created_at", "updated_at")


def _cells(row: ContactRow, labels: list[LabelRow], fields: list[str]) -> list[str]:
    own = [shown_phone(row.phone) or "", row.name or "", "true" if row.opted_out else "false"]
    rest = [row.username or "", ", ".join(label.name for label in labels)]
    made = [ids.format_id("ct", row.id), times.format_time(row.created_at), times.format_time(row.updated_at)]
    return [*own, *(row.custom.get(field, "") for field in fields), *rest, *made]


async def _pages(
    db: Database, channel_id: UUID, wanted: ContactFilter
) -> AsyncIterator[tuple[list[ContactRow], dict[UUID, list[LabelRow]]]]:
    before, more = None, True
    while more:
        page = await list_contacts(db, channel_id, wanted, before, BATCH, size=_PAGE_SIZE)
        if rows := page.contacts:
            yield rows, await read_labels_by_contact(db, channel_id, [row.id for row in rows], CONTACT)
        before, more = page.following, page.following is not None
