"""Backups: the database in one snapshot, then the files that it knows, then the secret key if that was asked for."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO
from uuid import UUID

import msgspec

from gatepost.admin.key_passphrase import seal_key
from gatepost.model.errors import Conflict, NotFound
from gatepost.store.backup.archive import FORMAT, KEY, ArchiveWriter, Manifest, Progress, written_file
from gatepost.store.backup.snapshot import DatabaseSnapshot, open_snapshot
from gatepost.store.media.files import object_key
from gatepost.store.media.objects import ObjectStorage

NOTE = "last-backup.json"
_IN_MEMORY = 4 << 20
_ID = 16


class BackupRequest(msgspec.Struct, frozen=True):
    """What a backup contains, and where it is written."""

    path: Path
    version: str
    now: datetime
    objects: ObjectStorage | None  # None: without files
    key: bytes | None = None  # None: without it
    passphrase: str = ""
    check: bytes | None = None  # tells which key is needed, if the database does not


class LastBackup(msgspec.Struct, frozen=True):
    """The note about the last backup, in the data folder."""

    file: str
    created_at: datetime


class _Files(msgspec.Struct):
    count: int = 0
    size: int = 0
    missing: int = 0


async def make_backup(dsn: str, wanted: BackupRequest, progress: Progress) -> Manifest:
    """Write a backup. It has its name only when it is complete."""
    # Checked before anything is read. Key derivation takes a while, and a thread.
    sealed = await asyncio.to_thread(seal_key, wanted.key, wanted.passphrase) if wanted.key else None
    with written_file(wanted.path) as file, tempfile.TemporaryFile(dir=wanted.path.parent) as listed:
        archive = ArchiveWriter(file)
        async with open_snapshot(dsn) as snapshot:
            if not snapshot.content.migrations:
                raise Conflict("The database is empty: there is nothing to back up.")
            await _write_tables(snapshot, archive, progress)
            if wanted.objects is not None:
                await _list_files(snapshot, listed)
        files = _Files()
        if wanted.objects is not None:
            await _write_files(wanted, listed, archive, files, progress)
        if sealed:
            archive.add_bytes(KEY, sealed)
        manifest = _describe(snapshot, archive, wanted, files)
        await asyncio.to_thread(archive.finish, manifest)
    return manifest


def _describe(snapshot: DatabaseSnapshot, archive: ArchiveWriter, wanted: BackupRequest, files: _Files) -> Manifest:
    content = snapshot.content
    return Manifest(
        format=FORMAT,
        gatepost=wanted.version,
        server=content.server,
        created_at=wanted.now,
        migrations=content.migrations,
        key_check=content.key_check or wanted.check,
        tables=archive.parts,
        device_tables=content.device_tables,
        media=wanted.objects is not None,
        files=files.count,
        files_size=files.size,
        files_missing=files.missing,
        key=wanted.key is not None,
    )


async def _write_tables(snapshot: DatabaseSnapshot, archive: ArchiveWriter, progress: Progress) -> None:
    total = sum(table.size for table in snapshot.content.tables)
    done = 0
    for table in snapshot.content.tables:
        progress("Database", done, total)
        writer = archive.begin_table(table)
        await writer.end(await snapshot.copy(table, writer.write))
        done += table.size
    progress("Database", total, total)


async def _list_files(snapshot: DatabaseSnapshot, listed: IO[bytes]) -> None:
    """Write the ids of all files into a temporary file, so that the snapshot can end before the bytes are read."""
    async for some in snapshot.files():
        pieces = [channel.bytes + id_.bytes for channel, id_, _ in some]
        await asyncio.to_thread(listed.write, b"".join(pieces))


async def _write_files(
    wanted: BackupRequest, listed: IO[bytes], archive: ArchiveWriter, files: _Files, progress: Progress
) -> None:
    assert wanted.objects is not None
    total = listed.tell() // (2 * _ID)
    listed.seek(0)
    while pair := listed.read(2 * _ID):
        key = object_key(UUID(bytes=pair[:_ID]), UUID(bytes=pair[_ID:]))
        try:
            pieces = await wanted.objects.read(key)
        except NotFound:  # deleted since the snapshot, or lost before
            files.missing += 1
            continue
        with tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(wanted.path.parent)) as spooled:
            size, sha256 = await _spool(pieces, spooled)
            await asyncio.to_thread(partial(archive.add, f"media/{key}", spooled, size, sha256))
        files.count, files.size = files.count + 1, files.size + size
        progress("Files", files.count + files.missing, total)


async def _spool(pieces: AsyncIterator[bytes], file: IO[bytes]) -> tuple[int, str]:
    """Store a file temporarily: its size and hash precede it in the archive."""
    size, digest = 0, hashlib.sha256()
    async for piece in pieces:
        await asyncio.to_thread(file.write, piece)
        digest.update(piece)
        size += len(piece)
    file.seek(0)
    return size, digest.hexdigest()


def note_backup(folder: Path, manifest: Manifest, path: Path) -> None:
    """Record a backup in the data folder, where `gatepost doctor` finds it."""
    if folder.is_dir():
        note = LastBackup(str(path), manifest.created_at)
        draft = folder / f"{NOTE}.new"
        draft.write_bytes(msgspec.json.encode(note) + b"\n")
        draft.replace(folder / NOTE)


def read_last_backup(folder: Path) -> LastBackup | None:
    """Return the last backup; None if there is none, or none is recorded."""
    try:
        return msgspec.json.decode((folder / NOTE).read_bytes(), type=LastBackup)
    except (OSError, msgspec.DecodeError):
        return None
