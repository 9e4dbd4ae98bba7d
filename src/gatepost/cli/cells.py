"""`gatepost cell`: the databases of a gateway that has several."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
import typer

from gatepost.admin.account_move import AccountMove, MovePlace
from gatepost.admin.cells import add_cell, check_name
from gatepost.api.contract.cells import AccountMoved, AddedCell, Cell
from gatepost.api.contract.operations import CheckResult
from gatepost.cli.arguments import read_id
from gatepost.cli.cell_databases import FAILURES, CellDatabases, describe
from gatepost.cli.command import CommandSession, command, new_group, same_gateway
from gatepost.cli.output import CommandResult
from gatepost.cli.progress_bar import progress_bar
from gatepost.cli.run_command import run_command
from gatepost.database_lifecycle import opened_migrated
from gatepost.model import ids
from gatepost.model.databases import MAIN
from gatepost.model.errors import Conflict, NotFound, Unavailable, invalid_field
from gatepost.settings import Settings
from gatepost.store.accounts import get_account
from gatepost.store.cells import count_cell
from gatepost.store.embedded import running_dsn
from gatepost.store.media.objects import ObjectStorage, media_place
from gatepost.store.migrate import check, migrate
from gatepost.store.moves.departure import UnfinishedMove, find_outgoing, unfinished_moves
from gatepost.store.pool import Database

group = new_group()
_COLUMNS = ("name", "address", "up", "reason", "accounts", "channels", "oldest_work_seconds", "migration")
LookInside = Callable[[Settings, Database], AsyncIterator[CheckResult]]
Name = Annotated[str, typer.Argument(help="Name of the cell in the section [cells] of the settings.")]


@command(group, "list")
async def list_(session: CommandSession) -> CommandResult:
    """List the cells with what they have. The exit code is 1 if one cannot be used."""
    settings, databases = session.settings, session.databases
    names = (MAIN, *settings.cells)
    cells = await asyncio.gather(*(_read(settings, databases, name) for name in names))
    return CommandResult(cells, _COLUMNS, failed=not all(cell.up for cell in cells))


@command(group, "add")
def add(settings: Settings, name: Name) -> CommandResult:
    """Make an empty database a cell: migrate it, and write the name of the cell into it."""
    added = run_command(_add(settings, name))
    note = f"Next: restart every node of the gateway with these settings, then: gatepost account create --cell {name}"
    return CommandResult(added, note=note)


@command(group, "move")
async def move(
    session: CommandSession,
    account: Annotated[str, typer.Argument(help="The account's id.")],
    *,
    to: Annotated[str, typer.Option(help="The cell to move it to.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Undo a move that was interrupted.")] = False,
) -> CommandResult:
    """Move an account to another cell while it is in use. Run it again to go on after an interruption."""
    databases = session.all_databases()
    account_id = read_id("acc", account)
    source, target = await _cells_of_move(databases, account_id, to, undo=undo)
    if source == target:
        raise Conflict(f"The account is in the cell {source}.")
    with progress_bar() as progress:
        moving = AccountMove(
            account_id,
            _place(session.settings, databases, source),
            _place(session.settings, databases, target),
            partition_days=session.settings.retention.partition_days,
            shared_devices=bool(session.settings.qr.device_store),
            progress=progress,
        )
        if undo:
            await moving.undo()
            return CommandResult(AccountMoved(account, source), note=f"The account stays in {source}.")
        moved = await moving.run()
    return CommandResult(AccountMoved(account, target, **msgspec.structs.asdict(moved)))


async def _cells_of_move(
    databases: Mapping[str, Database], account_id: UUID, to: str, *, undo: bool
) -> tuple[str, str]:
    """Return the cell that an account leaves, and the one that it moves to."""
    for name, db in databases.items():
        if (begun := await find_outgoing(db, account_id)) is not None:
            if to not in ("", begun):
                raise Conflict(
                    f"The account is being moved to {begun}. Finish that move first, or undo it with --undo."
                )
            return name, begun
    if undo:
        raise NotFound("The account is not being moved.")
    if to not in databases:
        raise invalid_field("to", f"must be one of: {', '.join(databases)}")
    for name, db in databases.items():
        if await get_account(db, account_id) is not None:
            return name, to
    raise NotFound("There is no such account.")


def _place(settings: Settings, databases: Mapping[str, Database], name: str) -> MovePlace:
    dsn = settings.cells[name] if name != MAIN else settings.database.url or running_dsn(settings.data_folder) or ""
    objects = ObjectStorage.open(*media_place(settings.media.url, settings.data_folder, name))
    return MovePlace(name, dsn, databases[name], objects)


async def check_cells(settings: Settings, look: LookInside) -> list[CheckResult]:
    """Return what `gatepost doctor` finds about the cells beside the first one. Nothing is changed."""
    found = await asyncio.gather(*(_check(settings, name, look) for name in settings.cells))
    return [result for results in found for result in results]


async def _check(settings: Settings, name: str, look: LookInside) -> list[CheckResult]:
    what, inside = f"cell {name}", []
    try:
        async with opened_migrated(settings.cells[name], settings, 4) as db:
            await check_name(db, name)
            async with db.connection() as conn:
                state = await check(conn)  # type: ignore[arg-type]
            moves = [] if state.pending else await unfinished_moves(db)
            if not state.pending:
                inside = [one async for one in look(settings, db) if one.state != "ok"]
    except FAILURES as error:
        fix = "Start its PostgreSQL, or correct its address in the section [cells]."
        return [CheckResult(what, "problem", f"It cannot be used: {describe(error)}", fix)]
    if state.pending:
        return [CheckResult(what, "problem", f"{len(state.pending)} migrations are pending.", same_gateway("migrate"))]
    fine = CheckResult(what, "ok", f"{address_of(settings, name)}, migration {state.version}.")
    named = [msgspec.structs.replace(one, check=f"{what}: {one.check}") for one in inside]
    return [moving_check(what, moves) if moves else fine, *named]


def moving_check(what: str, moves: Sequence[UnfinishedMove]) -> CheckResult:
    """Return what `gatepost doctor` says about moves to other cells that are not finished."""
    first, account = moves[0], ids.format_id("acc", moves[0].account_id)
    paused = " Its requests get 503." if first.state == "fenced" else ""
    text = f"{account} has been moving to {first.cell} since {first.started_at:%Y-%m-%d %H:%M}.{paused}"
    more = f" {len(moves) - 1} more accounts are moving." if len(moves) > 1 else ""
    return CheckResult(
        what, "warning", text + more, f"If no command runs: gatepost cell move {account} --to {first.cell}"
    )


async def _read(settings: Settings, databases: CellDatabases, name: str) -> Cell:
    address = address_of(settings, name)
    if name in databases.down:
        return Cell(name, address, False, databases.down[name])
    try:
        found = await count_cell(databases.up[name])
    except FAILURES as error:
        return Cell(name, address, False, describe(error))
    return Cell(name, address, True, None, found.accounts, found.channels, found.oldest_work_seconds, found.migration)


async def _add(settings: Settings, name: str) -> AddedCell:
    if name not in settings.cells:
        raise invalid_field("name", f'is not in the settings; add to the section [cells]: {name} = "postgres://…"')
    url = settings.cells[name]
    try:
        async with opened_migrated(url, settings, 4) as db:
            new = await add_cell(db, name, lambda: migrate(url))
    except OSError as error:
        raise Unavailable(f"The database of {name} cannot be opened: {error}.", "database_unavailable") from None
    return AddedCell(name, address_of(settings, name), added=new)


def address_of(settings: Settings, name: str) -> str:
    """Return the address of a cell without user and password."""
    url = settings.database.url if name == MAIN else settings.cells[name]
    if not url:
        return f"embedded in {settings.data_folder}"
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2] or 'local socket'}{parts.path}"
