"""Restores a backup: everything is checked first, files come before the database, and the database is one commit.

verify ─► level, key, target ─► files ─► database (one transaction) ─► secret key

Killed before the commit, the database is the old one, with some files more that the sweep of orphans deletes. Killed
after it, the new key waits beside the old one, and the next start uses it (`unlock.py`).
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO
from uuid import UUID

import msgspec

from gatepost.admin.key_passphrase import open_key
from gatepost.admin.unlock import opens_check
from gatepost.admin.vault import KEY_FILE, RESTORED_KEY, Vault, put_restored_key, read_key, write_key
from gatepost.model.errors import Conflict
from gatepost.store.backup.archive import ArchiveReader, Manifest, Progress
from gatepost.store.backup.load import LoadedDatabase, Waiting, check_target, known_migrations, open_load
from gatepost.store.backup.table_data import DatabaseContent
from gatepost.store.media.objects import ObjectStorage

_PIECE = 256 << 10
_OTHER_KEY = (
    "This backup was made with another secret key than that of the gateway, which all its cells use. Set "
    "security.secret_key to both, separated by a comma, that of the gateway first; restore again; then run "
    "'gatepost secret-key rotate'."
)


class RestoreRequest(msgspec.Struct, frozen=True):
    """How a backup is restored."""

    folder: Path
    setting: str  # security.secret_key
    objects: ObjectStorage | None = None  # None: without files
    passphrase: str = ""
    replace: bool = False
    without_key: bool = False
    waiting: Waiting = "fail"
    cell: str | None = None  # that the database must be
    elsewhere: frozenset[UUID] = frozenset()  # accounts that are in other cells now


async def restore_backup(
    dsn: str, archive: ArchiveReader, wanted: RestoreRequest, progress: Progress
) -> LoadedDatabase:
    """Restore a verified backup."""
    key = await find_key(archive, wanted)
    await check_target(dsn, replace=wanted.replace, cell=wanted.cell)
    if wanted.objects is not None:
        await _restore_files(archive, wanted.objects, progress)
    if key is not None:
        write_key(wanted.folder / RESTORED_KEY, key)
    loaded = await _restore_database(dsn, archive, wanted, progress)
    if key is not None:
        put_restored_key(wanted.folder)
    return loaded


async def find_key(archive: ArchiveReader, wanted: RestoreRequest) -> bytes | None:
    """Return the key that has to be written, if any. Raise Conflict if the backup cannot be restored here."""
    known_migrations(archive.manifest.migrations)
    return await asyncio.to_thread(_find_key, archive, wanted)


def _find_key(archive: ArchiveReader, wanted: RestoreRequest) -> bytes | None:
    """Return the key that has to be written; None if the one at hand is right. Raise Conflict if there is none."""
    manifest = archive.manifest
    if manifest.key_check is None or wanted.without_key:
        return None
    local = read_key(wanted.setting, wanted.folder)
    if local is not None and opens_check(Vault(local), manifest.key_check):
        return None
    if local is not None and wanted.cell is not None:
        raise Conflict(_OTHER_KEY)
    if not manifest.key or not wanted.passphrase:
        raise Conflict(_missing(manifest, wanted, local is not None))
    key = open_key(archive.sealed_key(), wanted.passphrase)
    if not opens_check(Vault(key), manifest.key_check):
        raise Conflict("The secret key in this backup is not the one that its secrets were encrypted with.")
    if wanted.setting:
        raise Conflict("security.secret_key is not the key of this backup. Remove the setting, or set it to that key.")
    return key


def _missing(manifest: Manifest, wanted: RestoreRequest, has_other: bool) -> str:
    where = "The setting security.secret_key" if wanted.setting else f"The file {wanted.folder / KEY_FILE}"
    found = f"{where} is not the secret key of this backup." if has_other else f"{where} is missing."
    how = (
        "The backup contains the key: give its passphrase with --passphrase-file."
        if manifest.key
        else "The backup does not contain the key: put the secret.key of the gateway that was backed up in its place."
    )
    return (
        f"{found} {how} To restore without it, add --without-key: tokens and signing secrets then have to be entered "
        "again (gatepost secret-key replace)."
    )


async def _restore_files(archive: ArchiveReader, objects: ObjectStorage, progress: Progress) -> None:
    done = 0
    async for key, content in archive.files():
        await objects.put(key, _pieces(content))
        done += 1
        progress("Files", done, archive.manifest.files)


async def _pieces(content: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(content.read, _PIECE):
        yield piece


async def _restore_database(
    dsn: str, archive: ArchiveReader, wanted: RestoreRequest, progress: Progress
) -> LoadedDatabase:
    manifest = archive.manifest
    total, done = sum(part.size for part in manifest.tables), 0
    async with open_load(dsn, content_of(manifest), replace=wanted.replace) as load:
        await load.prepare()
        async for part, text in archive.tables():
            rows = await load.copy(part.table, text)
            if rows != part.rows:
                raise Conflict(f"The backup is damaged: {part.table.name} has {rows} rows instead of {part.rows}.")
            done += part.size
            progress("Database", done, total)
        return await load.finish(wanted.waiting, wanted.cell, wanted.elsewhere)


def content_of(manifest: Manifest) -> DatabaseContent:
    """Return the tables of a backup."""
    tables = tuple(part.table for part in manifest.tables)
    return DatabaseContent(manifest.server, manifest.migrations, manifest.key_check, tables, manifest.device_tables)
