"""`gatepost export`: messages or contacts of a channel as a file, with progress on the terminal."""

import csv
import io
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Annotated, Any
from uuid import UUID

import typer

from gatepost.api.contract.contacts import Contact
from gatepost.api.contract.operations import ExportedFile
from gatepost.cli.arguments import TimeZone, given
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.records import ChannelArgument
from gatepost.model.errors import Conflict, invalid_field
from gatepost.services.contact_import import export_csv, export_fields, export_ndjson
from gatepost.services.export import Render, as_csv, open_export
from gatepost.services.history_query import read_history_query, resolve
from gatepost.store.accounts import get_account
from gatepost.store.backup.archive import written_file
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.contacts.read import ContactFilter

group = new_group()

WHAT = ("messages", "contacts")
FORMATS = ("ndjson", "csv")


@command(group, "export")
async def export(
    session: CommandSession,
    what: Annotated[str, typer.Argument(help="messages or contacts.")],
    channel: ChannelArgument,
    output: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    *,
    format_: Annotated[
        str | None, typer.Option("--format", help="ndjson or csv.", show_default="by the file's name, otherwise ndjson")
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", help="First date or time, inclusive. Messages only.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Last date or time, exclusive. Messages only.")] = None,
    tz: TimeZone = None,
) -> CommandResult:
    """Write all messages or contacts of a channel into a file."""
    if what not in WHAT:
        raise invalid_field("what", f"must be one of: {', '.join(WHAT)}")
    kind = format_ or output.suffix.lstrip(".")
    kind = kind if kind in FORMATS or format_ else FORMATS[0]
    if kind not in FORMATS:
        raise invalid_field("format", f"must be one of: {', '.join(FORMATS)}")
    if what == "contacts":
        chunks = await _contacts(session, channel.id, kind)
    else:
        filters = given(**{"from": from_, "to": to, "tz": tz})
        chunks = await _messages(session, channel.id, kind, filters)
    with written_file(output.absolute()) as file:
        size, lines = await _write(file, chunks, _csv_rows if kind == "csv" else _json_lines)
        await _check_whole(session, what, channel)
    header = kind == "csv"
    return CommandResult(ExportedFile(str(output), kind, lines - header, size))  # type: ignore[arg-type]


async def _messages(
    session: CommandSession, channel_id: UUID, kind: str, filters: dict[str, str]
) -> AsyncIterator[bytes]:
    from gatepost.api.history import as_ndjson  # imports the API

    query = await resolve(session.db, channel_id, read_history_query(filters))
    render: Render = as_csv if kind == "csv" else as_ndjson
    return await open_export(session.db, channel_id, query, None, render, session.now)


async def _contacts(session: CommandSession, channel_id: UUID, kind: str) -> AsyncIterator[bytes]:
    if kind == "ndjson":
        return export_ndjson(session.db, channel_id, ContactFilter(), Contact.of)
    return export_csv(session.db, channel_id, ContactFilter(), await export_fields(session.db, channel_id))


async def _check_whole(session: CommandSession, what: str, channel: ChannelConfig) -> None:
    """Raise Conflict if rows may have been deleted meanwhile: the file would end early, and look complete."""
    if await get_account(session.db, channel.account_id) is None:
        raise Conflict("The account was moved to another cell meanwhile, and the export is incomplete. Run it again.")
    if what == "contacts" and await get_config(session.db, channel.id) is None:
        raise Conflict("The channel was deleted meanwhile, with its contacts. The export is incomplete.")


def _csv_rows(chunk: bytes) -> int:
    """Return the number of rows of a table, whose cells may have line breaks."""
    csv.field_size_limit(sys.maxsize)
    return sum(1 for _ in csv.reader(io.StringIO(chunk.decode(), newline="")))


def _json_lines(chunk: bytes) -> int:
    return chunk.count(b"\n")


async def _write(file: IO[Any], chunks: AsyncIterator[bytes], count: Callable[[bytes], int]) -> tuple[int, int]:
    size = lines = 0
    async for chunk in chunks:
        file.write(chunk)
        size, lines = size + len(chunk), lines + count(chunk)
        if sys.stderr.isatty():
            print(f"\r{lines:,} lines, {size:,} bytes", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty() and size:
        print(file=sys.stderr)
    return size, lines
