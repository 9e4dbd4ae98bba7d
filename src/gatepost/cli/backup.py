"""`gatepost backup`: the database, the files and, on request, the secret key in one file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gatepost import __version__
from gatepost.admin.make_backup import BackupRequest, make_backup, note_backup
from gatepost.admin.unlock import make_check
from gatepost.admin.vault import KEY_FILE, Vault, read_key
from gatepost.api.contract.operations import BackupFile
from gatepost.cli.cell_databases import check_cell, only_cell
from gatepost.cli.command import check_database, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.progress_bar import progress_bar
from gatepost.cli.run_command import run_command
from gatepost.database_lifecycle import reached
from gatepost.model import times
from gatepost.model.databases import MAIN
from gatepost.model.errors import Conflict, NotFound, invalid_field
from gatepost.settings import Settings
from gatepost.store.backup.archive import Manifest
from gatepost.store.embedded.data_folder import make_data_folder
from gatepost.store.media.objects import ObjectStorage, media_place

group = new_group()

PassphraseFile = Annotated[
    Path | None, typer.Option(help="A file whose first line is the passphrase of the secret key in the backup.")
]
OneCell = Annotated[str | None, typer.Option("--cell", help="The database of this cell, if there are several.")]
WithoutMedia = Annotated[bool, typer.Option("--without-media", help="Leave the files of messages out.")]


@command(group, "backup")
def backup(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    *,
    without_media: WithoutMedia = False,
    passphrase_file: PassphraseFile = None,
    cell: OneCell = None,
) -> CommandResult:
    """Write a backup of the database and the files, also while the gateway runs.

    The secret key is left out, unless a passphrase encrypts it. Keep a copy of it elsewhere.
    """
    settings = only_cell(settings, cell)
    check_database(settings)
    if not file.absolute().parent.is_dir():
        raise NotFound(f"There is no folder {file.absolute().parent}.")
    key = read_key(settings.security.secret_key, settings.data_folder)
    if passphrase_file and key is None:
        raise Conflict(f"There is no secret key to back up: {settings.data_folder / KEY_FILE} is missing.")
    wanted = BackupRequest(
        path=file.absolute(),
        version=__version__,
        now=datetime.now(UTC),
        objects=None if without_media else media_of(settings, cell),
        key=key if passphrase_file else None,
        check=make_check(Vault(key)) if key else None,
        passphrase=read_passphrase(passphrase_file),
    )
    manifest = run_command(_back_up(settings, wanted, cell))
    if cell in (None, MAIN):
        note_backup(settings.data_folder, manifest, wanted.path)
    return CommandResult(_describe(manifest, wanted.path), note=_note(settings, manifest))


async def _back_up(settings: Settings, wanted: BackupRequest, cell: str | None) -> Manifest:
    with progress_bar() as progress:
        async with reached(settings) as dsn:
            await check_cell(dsn, settings, cell)
            return await make_backup(dsn, wanted, progress)


def media_of(settings: Settings, cell: str | None) -> ObjectStorage:
    """Return the storage of files that the gateway uses, for one of its cells."""
    make_data_folder(settings.data_folder)
    return ObjectStorage.open(*media_place(settings.media.url, settings.data_folder, cell or MAIN))


def read_passphrase(path: Path | None) -> str:
    """Return the first line of a file; empty if there is none."""
    if path is None:
        return ""
    passphrase = path.read_text("utf-8").partition("\n")[0].strip("\r")
    if not passphrase:
        raise invalid_field("passphrase_file", "is empty")
    return passphrase


def _describe(manifest: Manifest, path: Path) -> BackupFile:
    return BackupFile(
        file=str(path),
        bytes=path.stat().st_size,
        created_at=times.format_time(manifest.created_at),
        version=manifest.gatepost,
        migration=max(manifest.migrations),
        tables=len(manifest.tables),
        rows=sum(part.rows for part in manifest.tables),
        files=manifest.files,
        files_bytes=manifest.files_size,
        files_missing=manifest.files_missing,
        media=manifest.media,
        secret_key=manifest.key,
    )


def _note(settings: Settings, manifest: Manifest) -> str:
    if manifest.key:
        return "The secret key is in the backup, encrypted: without the passphrase nobody can use it."
    where = "the setting security.secret_key" if settings.security.secret_key else settings.data_folder / KEY_FILE
    return f"The secret key is not in the backup. Keep a copy of {where} elsewhere: without it, no secret can be read."
