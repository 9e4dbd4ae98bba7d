"""The file of a backup: a tar archive with a hash for every part, whose last part describes all others.

database/0007-public.messages_20261109_20261116/0000.gz   COPY text of a table, in members of a few MiB
media/<channel>/<id>                                      the bytes of a file
secret.key.sealed                                         the secret key, encrypted with a passphrase; only on request
manifest.json                                             versions, tables, counts, and a hash over all members

A member's sha256 is in its header (GATEPOST.sha256). Without the manifest the file is incomplete. Neither writing nor
reading holds more than one member of the database in memory.
"""

import asyncio
import fcntl
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec

from gatepost.model.errors import Conflict
from gatepost.store.backup.table_data import DeviceTable, TableData
from gatepost.store.embedded.data_folder import put_in_place

FORMAT = 1
MANIFEST, KEY = "manifest.json", "secret.key.sealed"
_HASH = "GATEPOST.sha256"
_MEMBER = 4 << 20
_PIECE = 1 << 20
_LEVEL = 3
Progress = Callable[[str, int, int], None]  # what, bytes done, bytes in all


class TablePart(msgspec.Struct, frozen=True):
    """A table of the archive: the hash and size of its text, and its members."""

    table: TableData
    rows: int
    size: int
    sha256: str
    members: int


class Manifest(msgspec.Struct, frozen=True):
    """The last part of an archive."""

    format: int
    gatepost: str
    server: str
    created_at: datetime
    migrations: tuple[int, ...]
    key_check: bytes | None
    tables: tuple[TablePart, ...]
    device_tables: tuple[DeviceTable, ...]
    media: bool
    files: int
    files_size: int
    files_missing: int
    key: bool
    members: int = 0
    sha256: str = ""


class ArchiveWriter:
    """Writes the members of an archive one after the other."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.TarFile(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)
        self._chain = hashlib.sha256()
        self._members = 0
        self._parts: list[TablePart] = []

    @property
    def parts(self) -> tuple[TablePart, ...]:
        """The tables that were written."""
        return tuple(self._parts)

    def add(self, name: str, content: IO[bytes], size: int, sha256: str) -> None:
        """Write a member from a file that has all of it."""
        self._chain.update(f"{name}\n{size}\n{sha256}\n".encode())
        self._members += 1
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.pax_headers = size, 0o600, {_HASH: sha256}
        self._tar.addfile(info, content)
        _forget_members(self._tar)

    def add_bytes(self, name: str, content: bytes) -> None:
        """Write a small member."""
        self.add(name, io.BytesIO(content), len(content), hashlib.sha256(content).hexdigest())

    def begin_table(self, table: TableData) -> "TableWriter":
        """Return the writer of the next table."""
        return TableWriter(self, table, f"database/{len(self._parts):04}-{table.schema}.{table.name}")

    def end_table(self, part: TablePart) -> None:
        """Record a table whose members are written."""
        self._parts.append(part)

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest and the end of the archive."""
        whole = msgspec.structs.replace(manifest, members=self._members, sha256=self._chain.hexdigest())
        self.add_bytes(MANIFEST, msgspec.json.format(msgspec.json.encode(whole), indent=1))
        self._tar.close()


class TableWriter:
    """Compresses the rows of a table into members."""

    def __init__(self, archive: ArchiveWriter, table: TableData, path: str) -> None:
        self._archive, self._table, self._path = archive, table, path
        self._gathered = bytearray()
        self._packed = bytearray()
        self._packer = zlib.compressobj(_LEVEL, wbits=31)
        self._hash = hashlib.sha256()
        self._members = 0
        self.size = 0

    async def write(self, piece: bytes) -> None:
        """Add a piece of the table's text."""
        self._gathered += piece
        if len(self._gathered) >= _PIECE:
            await asyncio.to_thread(self._pack)

    async def end(self, rows: int) -> None:
        """Write what is left."""
        await asyncio.to_thread(self._end, rows)

    def _pack(self) -> None:
        text, self._gathered = bytes(self._gathered), bytearray()
        self.size += len(text)
        self._hash.update(text)
        self._packed += self._packer.compress(text)
        if len(self._packed) >= _MEMBER:
            self._flush()

    def _flush(self) -> None:
        self._archive.add_bytes(f"{self._path}/{self._members:04}.gz", bytes(self._packed))
        self._packed.clear()
        self._members += 1

    def _end(self, rows: int) -> None:
        self._pack()
        self._packed += self._packer.flush()
        self._flush()
        self._archive.end_table(TablePart(self._table, rows, self.size, self._hash.hexdigest(), self._members))


class ArchiveReader:
    """Reads an archive that was verified."""

    def __init__(self, file: IO[bytes], manifest: Manifest) -> None:
        self._file = file
        self.manifest = manifest

    async def tables(self) -> AsyncIterator[tuple[TablePart, AsyncIterator[bytes]]]:
        """Return the tables in their order, each with its text, which has to be read to its end."""
        with _members(self._file) as members:
            for number, part in enumerate(self.manifest.tables):
                prefix = f"database/{number:04}-{part.table.schema}.{part.table.name}/"
                yield part, _text(members, prefix, part.members)

    async def files(self) -> AsyncIterator[tuple[str, IO[bytes]]]:
        """Return the key of each file, and its bytes."""
        with _members(self._file) as members:
            for name, content, _ in members:
                if name.startswith("media/"):
                    yield name.removeprefix("media/"), content

    def sealed_key(self) -> bytes:
        """Return the encrypted secret key."""
        with _members(self._file) as members:
            return next(content.read() for name, content, _ in members if name == KEY)


def verify(file: IO[bytes], progress: Progress) -> Manifest:
    """Read the whole archive, and return its manifest; raise Conflict if anything is damaged or missing."""
    size = os.fstat(file.fileno()).st_size
    chain, count, last = hashlib.sha256(), 0, b""
    try:
        with _members(file) as members:
            for name, content, info in members:
                found, last = _read_hash(content, keep=name == MANIFEST)
                if found != info.pax_headers.get(_HASH):
                    raise Conflict(f"The backup is damaged: the part {name} is not what was written.")
                progress("Verifying", info.offset_data + info.size, size)
                if name == MANIFEST:
                    break
                chain.update(f"{name}\n{info.size}\n{found}\n".encode())
                count += 1
        if not last:
            raise Conflict("The backup is incomplete: its last part, the manifest, is missing.")
        manifest = msgspec.json.decode(last, type=Manifest)
    except (tarfile.TarError, EOFError, msgspec.DecodeError) as error:
        raise Conflict(f"The file is not a backup of Gatepost, or it is damaged: {error}.") from None
    if manifest.format != FORMAT:
        raise Conflict(f"The backup has the format {manifest.format}, which a newer Gatepost wrote. Upgrade this one.")
    if (manifest.members, manifest.sha256) != (count, chain.hexdigest()):
        raise Conflict("The backup is damaged: parts of it are missing or in another order.")
    progress("Verifying", size, size)
    return manifest


@contextmanager
def written_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that has its name only when it is complete; until then it ends with .partial."""
    draft = path.with_name(f"{path.name}.partial")
    if path.exists():
        raise Conflict(f"{path} exists. Choose another name, or remove it first.")
    with open(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"Another backup is being written to {path}.") from None
        if not _is_at(draft, file):  # another backup was completed since the file was opened: it is that one now
            raise Conflict(f"Another backup was just written to {path}.")
        file.truncate(0)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            try:
                put_in_place(draft, path)
            except FileExistsError:
                raise Conflict(f"{path} exists. Choose another name, or remove it first.") from None
        finally:
            draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def _members(file: IO[bytes]) -> Iterator[Iterator[tuple[str, IO[bytes], tarfile.TarInfo]]]:
    file.seek(0)
    with tarfile.open(fileobj=file, mode="r:") as tar:
        yield _each(tar)


def _forget_members(tar: tarfile.TarFile) -> None:
    """Keep memory constant: the library collects all members that it has seen."""
    tar.members.clear()  # type: ignore[attr-defined]


def _each(tar: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes], tarfile.TarInfo]]:
    while (info := tar.next()) is not None:
        _forget_members(tar)
        content = tar.extractfile(info)
        if content is None:
            raise tarfile.TarError(f"{info.name} is not a file")
        yield info.name, content, info


def _read_hash(content: IO[bytes], *, keep: bool) -> tuple[str, bytes]:
    digest, kept = hashlib.sha256(), b""
    while piece := content.read(_PIECE):
        digest.update(piece)
        kept += piece if keep else b""
    return digest.hexdigest(), kept


async def _text(
    members: Iterator[tuple[str, IO[bytes], tarfile.TarInfo]], prefix: str, count: int
) -> AsyncIterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    for number in range(count):
        found = await asyncio.to_thread(next, members, None)
        if found is None or found[0] != f"{prefix}{number:04}.gz":
            raise Conflict(f"The backup is damaged: the part {prefix}{number:04}.gz is not in its place.")
        while piece := await asyncio.to_thread(_unpack, unpacker, found[1]):
            yield piece


def _unpack(unpacker: "zlib._Decompress", content: IO[bytes]) -> bytes:
    """Return the next piece of text, of a limited size: a few bytes may be compressed from very many."""
    while True:
        packed = unpacker.unconsumed_tail or content.read(_PIECE)
        piece = unpacker.decompress(packed, _PIECE)
        if piece or not packed:
            return piece
