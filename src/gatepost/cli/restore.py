"""`gatepost restore`: a backup is verified, and then replaces an empty database, or all of one on request."""

import asyncio
import shlex
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gatepost.admin.restore_backup import RestoreRequest, find_key, restore_backup
from gatepost.api.contract.operations import RestoredBackup
from gatepost.cli.backup import OneCell, PassphraseFile, WithoutMedia, media_of, read_passphrase
from gatepost.cli.cell_databases import accounts_elsewhere, only_cell
from gatepost.cli.command import command, new_group, same_gateway
from gatepost.cli.output import CommandResult
from gatepost.cli.progress_bar import progress_bar
from gatepost.cli.run_command import run_command
from gatepost.cli.stop_gateway import stop_gateway
from gatepost.database_lifecycle import reserved
from gatepost.model import times
from gatepost.model.errors import Conflict, NotFound, invalid_field
from gatepost.settings import Settings
from gatepost.store.backup.archive import ArchiveReader, Manifest, verify
from gatepost.store.backup.load import LoadedDatabase, Waiting, accounts_in
from gatepost.store.embedded import DataFolderInUse, running_dsn
from gatepost.store.embedded.handover import hand_over_media

group = new_group()

WAITING: dict[str, Waiting] = {"fail": "fail", "on-unknown": "on_unknown", "send": "send"}


@command(group, "restore")
def restore(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="The backup.")],
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Replace everything in a database with data.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the gateway that runs in the data folder.")] = False,
    waiting: Annotated[
        str,
        typer.Option(
            help="Messages that were not sent yet when the backup was made: fail them, decide by the on_unknown of "
            "each, or send them (only if the gateway has not run since)."
        ),
    ] = "fail",
    passphrase_file: PassphraseFile = None,
    without_key: Annotated[bool, typer.Option("--without-key", help="Restore although the key is missing.")] = False,
    without_media: WithoutMedia = False,
    cell: OneCell = None,
) -> CommandResult:
    """Restore a backup. The gateway must be stopped; nothing is changed before the whole file is verified."""
    whole, settings = settings, only_cell(settings, cell)
    if waiting not in WAITING:
        raise invalid_field("waiting", f"must be one of: {', '.join(WAITING)}")
    if not file.is_file():
        raise NotFound(f"There is no file {file}.")
    wanted = RestoreRequest(
        folder=settings.data_folder,
        setting=settings.security.secret_key,
        passphrase=read_passphrase(passphrase_file),
        replace=replace,
        without_key=without_key,
        waiting=WAITING[waiting],
        cell=cell,
        elsewhere=run_command(accounts_elsewhere(whole, cell)),
    )
    manifest, loaded = run_command(_restore(settings, file, wanted, stop=stop, media=not without_media))
    return CommandResult(_describe(file, manifest, loaded), note=_note(manifest, loaded, wanted))


async def _restore(
    settings: Settings, file: Path, wanted: RestoreRequest, *, stop: bool, media: bool
) -> tuple[Manifest, LoadedDatabase]:
    with progress_bar() as progress, file.open("rb") as opened:
        manifest = await asyncio.to_thread(verify, opened, progress)
        archive = ArchiveReader(opened, manifest)
        if stop:
            await _stop(settings, archive, wanted)
        try:
            async with reserved(settings) as dsn:
                whole = msgspec.structs.replace(wanted, objects=media_of(settings, wanted.cell) if media else None)
                loaded = await restore_backup(dsn, archive, whole, progress)
                await asyncio.to_thread(hand_over_media, settings.data_folder)
        except DataFolderInUse:
            raise Conflict(_running(settings, file)) from None
    return manifest, loaded


async def _stop(settings: Settings, archive: ArchiveReader, wanted: RestoreRequest) -> None:
    """Stop the gateway, unless the restore would be refused then."""
    await find_key(archive, wanted)
    dsn = None if wanted.replace or settings.database.url else running_dsn(settings.data_folder)
    if dsn and await accounts_in(dsn):
        raise Conflict(
            f"The database in {settings.data_folder} is not empty. To replace everything in it, add --replace."
        )
    await stop_gateway(settings.data_folder)


def _running(settings: Settings, file: Path) -> str:
    folder = shlex.quote(str(settings.data_folder))
    return (
        f"The gateway of {settings.data_folder} is running. Stop it with Ctrl-C, or let this command do it: "
        f"gatepost restore {shlex.quote(str(file))} --data {folder} --replace --stop"
    )


def _describe(file: Path, manifest: Manifest, loaded: LoadedDatabase) -> RestoredBackup:
    return RestoredBackup(
        file=str(file),
        created_at=times.format_time(manifest.created_at),
        version=manifest.gatepost,
        migration=max(manifest.migrations),
        migrated=loaded.migrated,
        rows=sum(part.rows for part in manifest.tables),
        files=manifest.files,
        unknown=loaded.unknown,
        moved=loaded.moved,
    )


def _note(manifest: Manifest, loaded: LoadedDatabase, wanted: RestoreRequest) -> str:
    lines = [f"Start the gateway: {same_gateway('serve')}. People have to sign in again."]
    if loaded.unknown:
        rule = "fail" if wanted.waiting == "fail" else "are decided by their on_unknown"
        lines.append(
            f"{loaded.unknown:,} messages were not sent yet when the backup was made: without a status they {rule}."
        )
    if loaded.moved:
        lines.append(f"{loaded.moved:,} accounts were left out: they have been moved to another cell since.")
    if wanted.without_key:
        lines.append("The secret key was not restored: run gatepost secret-key replace.")
    if manifest.files_missing:
        lines.append(f"{manifest.files_missing:,} files were missing when the backup was made.")
    return "\n".join(lines)
