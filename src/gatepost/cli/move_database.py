"""`gatepost move-database`: from the embedded PostgreSQL to another server, by one command."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit

import typer

from gatepost.admin.database_move import MovedDatabase, move_database
from gatepost.api.contract.operations import DatabaseMove
from gatepost.cli.backup import media_of
from gatepost.cli.command import check_database, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.progress_bar import progress_bar
from gatepost.cli.run_command import run_command
from gatepost.database_lifecycle import reserved
from gatepost.model.databases import database_url_fault
from gatepost.model.errors import Conflict, GatepostError, invalid_field
from gatepost.services.media import OWNER
from gatepost.settings import Settings
from gatepost.store.embedded.data_folder import DataFolderInUse, write_moved

group = new_group()


@command(group, "move-database")
def move(
    settings: Settings,
    *,
    to: Annotated[str, typer.Option(help="The URL of the PostgreSQL database to move to, 15 or newer.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace everything in a database with data.")] = False,
) -> CommandResult:
    """Move the database to another PostgreSQL server. The gateway must be stopped; the old database is kept."""
    if fault := database_url_fault(to):
        raise invalid_field("to", fault)
    check_database(settings)
    shown = without_password(to)
    moved = run_command(_move(settings, to, shown if settings.database.url else None, replace=replace))
    if not settings.database.url:
        write_moved(settings.data_folder, shown, datetime.now(UTC))
    with suppress(GatepostError, OSError):  # the files belong to the new database now
        run_command(media_of(settings, None).delete([OWNER]))
    return CommandResult(DatabaseMove(shown, moved.tables, moved.rows, moved.migration), note=_note(settings, shown))


async def _move(settings: Settings, to: str, mark: str | None, *, replace: bool) -> MovedDatabase:
    try:
        with progress_bar() as progress:
            async with reserved(settings) as source:
                return await move_database(source, to, replace=replace, progress=progress, mark=mark)
    except DataFolderInUse as error:
        raise Conflict(f"The gateway is running. Stop it, and run this command again. {error}") from None


def without_password(url: str) -> str:
    """Return the URL as it may be shown."""
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    return parts._replace(netloc=f"{user}{parts.netloc.rpartition('@')[2]}", query="").geturl()


def _note(settings: Settings, shown: str) -> str:
    devices = " Linked phones are in qr.device_store: if that is the old database, set it to the new one."
    return (
        f"Set the address from now on: database.url in the settings file, or GATEPOST_DATABASE__URL ({shown}, with its "
        f"password). Then start the gateway with the same data folder, {settings.data_folder}: it has the secret key "
        "and the files. The old database is kept, and is not used any more."
        f"{devices if settings.qr.device_store else ''}"
    )
