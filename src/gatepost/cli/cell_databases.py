"""The databases of a command: the only one, or those of all cells that can be reached."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from uuid import UUID

import msgspec

from gatepost.admin.cells import check_name
from gatepost.database_lifecycle import opened, opened_migrated, reached
from gatepost.model.databases import MAIN
from gatepost.model.errors import Conflict, GatepostError, invalid_field
from gatepost.settings import Settings
from gatepost.store.backup.load import accounts_in
from gatepost.store.embedded import DataFolderInUse, EmbeddedPostgresError
from gatepost.store.migrate import MigrationError, migrate
from gatepost.store.pool import DRIVER_ERRORS, Database

# A cell with such an error cannot be used now; commands on other cells can be.
FAILURES = (GatepostError, MigrationError, DataFolderInUse, EmbeddedPostgresError, OSError, *DRIVER_ERRORS)


class CellDatabases(msgspec.Struct, frozen=True):
    """The databases of cells by name, and why the others cannot be used."""

    up: Mapping[str, Database]
    down: Mapping[str, str] = {}

    @property
    def several(self) -> bool:
        """Whether the gateway has more than one database."""
        return len(self.up) + len(self.down) > 1


@asynccontextmanager
async def opened_databases(settings: Settings) -> AsyncIterator[CellDatabases]:
    """Yield the migrated databases of a gateway. If there is only one, it must be available."""
    if not settings.cells:
        async with opened(settings) as db:
            yield CellDatabases({MAIN: db})
        return
    openings: dict[str, AbstractAsyncContextManager[Database]] = {MAIN: opened(settings)}
    openings |= {name: opened_cell(name, url, settings) for name, url in settings.cells.items()}
    up: dict[str, Database] = {}
    down: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        for name, opening in openings.items():
            try:
                up[name] = await stack.enter_async_context(opening)
            except FAILURES as error:
                down[name] = describe(error)
        yield CellDatabases(up, down)


@asynccontextmanager
async def opened_cell(name: str, url: str, settings: Settings) -> AsyncIterator[Database]:
    """Yield the migrated database of a cell, or raise if it is not the cell of this name."""
    async with opened_migrated(url, settings, 4) as db:
        await check_name(db, name)
        await migrate(url)
        yield db


async def accounts_elsewhere(settings: Settings, cell: str | None) -> frozenset[UUID]:
    """Return the accounts of all cells but one. Raise if a cell cannot be reached, so that they are not known."""
    found: set[UUID] = set()
    for name in (MAIN, *settings.cells) if settings.cells else ():
        if name != cell:
            try:
                async with reached(only_cell(settings, name)) as dsn:
                    found |= await accounts_in(dsn)
            except FAILURES as error:
                raise Conflict(
                    f"The cell {name} cannot be used, and accounts of this backup may have been moved there: "
                    f"{describe(error)}. Nothing was changed."
                ) from None
    return frozenset(found)


def only_cell(settings: Settings, cell: str | None) -> Settings:
    """Return the settings with one of the databases only. If there are several, it must be named."""
    names = (MAIN, *settings.cells)
    if cell is None and settings.cells:
        raise Conflict(f"This gateway has several databases. Name one of them with --cell: {', '.join(names)}.")
    if cell not in (None, *names):
        raise invalid_field("cell", f"must be one of: {', '.join(names)}")
    if cell in (None, MAIN):
        return msgspec.structs.replace(settings, cells={})
    database = msgspec.structs.replace(settings.database, url=settings.cells[cell])
    return msgspec.structs.replace(settings, cells={}, database=database)


async def check_cell(dsn: str, settings: Settings, cell: str | None) -> None:
    """Raise if the database has the name of another cell than this one. It may have none."""
    if cell is None:
        return
    async with opened_migrated(dsn, settings, 1) as db:
        await check_name(db, cell, unnamed=True)


def describe(error: Exception) -> str:
    """Return an error in one line."""
    return " ".join(str(error.__cause__ or error).split()) or type(error).__name__
