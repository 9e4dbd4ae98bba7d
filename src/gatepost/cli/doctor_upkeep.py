"""The checks of `gatepost doctor` about what an operator has to keep: backups, the secret key, partitions, files."""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from gatepost.admin.make_backup import read_last_backup
from gatepost.admin.vault import KEY_BYTES, VaultError, read_key
from gatepost.api.contract.operations import CheckResult
from gatepost.cli.command import same_gateway
from gatepost.model import times
from gatepost.model.errors import GatepostError
from gatepost.services.media import NOT_OWN, read_owner
from gatepost.settings import Settings
from gatepost.store.checks import identity
from gatepost.store.embedded.data_folder import NOTE as MOVED
from gatepost.store.media.objects import ObjectStorage, StorageSetupError
from gatepost.store.partitions import read_ends
from gatepost.store.pool import Database

_OLD_BACKUP = timedelta(days=7)
_AHEAD = timedelta(days=2)
_LATE = timedelta(days=2)


def check_backup(settings: Settings, now: datetime) -> CheckResult:
    """Check the age of the last backup that was made with this data folder."""
    last, fix = read_last_backup(settings.data_folder), f"{same_gateway('backup FILE')}; see docs/how-to/back-up.md"
    if last is None:
        found = "No backup was made with `gatepost backup` from this data folder."
        return CheckResult("backup", "warning", found, f"{fix}. Ignore this if you back up by other means.")
    found = f"The last one was made at {times.format_time(last.created_at)}: {last.file}."
    if now - last.created_at > _OLD_BACKUP:
        return CheckResult("backup", "warning", found, fix)
    return CheckResult("backup", "ok", found)


def check_keys(settings: Settings) -> Iterator[CheckResult]:
    """Check whether a rotation of the secret key was interrupted, and whether the database was moved."""
    folder = settings.data_folder
    try:
        keys = read_key(settings.security.secret_key, folder)
    except (VaultError, OSError, UnicodeDecodeError) as error:
        yield CheckResult("secret key", "problem", f"It cannot be read: {error}", "Restore the key from a copy.")
        return
    if keys is not None and len(keys) > KEY_BYTES:
        found = f"There are {len(keys) // KEY_BYTES} keys: a rotation is not finished."
        yield CheckResult("secret key", "warning", found, same_gateway("secret-key rotate"))
    if not settings.database.url and (folder / MOVED).exists():
        found = f"The database was moved to {(folder / MOVED).read_text('utf-8').strip()}."
        yield CheckResult("database address", "problem", found, "Set database.url to it.")


async def check_partitions(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    """Check that partitions exist for the next days, and that old ones are dropped."""
    now, retention = datetime.now(UTC), settings.retention
    ends = await read_ends(db)
    if not ends:
        return  # no gateway has run yet
    last = min(newest for _, newest in ends.values())
    if last < now + _AHEAD:
        found = f"The partitions of the big tables end at {times.format_time(last)}: then nothing can be stored."
        yield CheckResult("partitions", "problem", found, "Keep a gateway running: it creates them ahead of time.")
    kept = f"messages {retention.messages_days}, events {retention.events_days}, files {settings.media.days or 'all'}"
    found = f"Days that are kept: {kept}. Partitions exist until {times.format_time(last)}."
    days = {name: retention.messages_days if name == "messages" else retention.events_days for name in ends}
    late = sorted(name for name, (oldest, _) in ends.items() if oldest < now - timedelta(days=days[name]) - _LATE)
    if late:
        fix = "Keep a gateway running, and see its log for 'housekeeping'. Messages that wait to be sent are kept."
        yield CheckResult("retention", "warning", f"{found} Older data is still there: {', '.join(late)}.", fix)
    else:
        yield CheckResult("retention", "ok", found)


async def check_owner_of_media(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    """Check that the files are those of this database."""
    if not settings.media.url and not (settings.data_folder / "media").exists():
        return
    with suppress(GatepostError, StorageSetupError):  # `check_media` has reported it
        first = await read_owner(ObjectStorage.open(settings.media.url, settings.data_folder / "media"))
        if first not in (None, await identity(db)):
            found = "The storage of files belongs to another database: files without a message are kept."
            yield CheckResult("owner of files", "warning", found, NOT_OWN)


async def check_media(settings: Settings) -> CheckResult:
    """Check that files can be written, read and deleted where the gateway stores them."""
    folder = settings.data_folder / "media"
    if not settings.media.url:
        if not folder.exists() or os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return CheckResult("files", "ok", f"They are stored in {folder}.")
        return CheckResult("files", "problem", f"{folder} cannot be written.", "Give it to the gateway's user.")
    key, content = f"doctor/{secrets.token_hex(8)}", secrets.token_bytes(16)
    fix = "Check media.url, the AWS_ variables and the rights on the bucket; see docs/reference/media.md."
    try:
        objects = ObjectStorage.open(settings.media.url, folder)
        await objects.put(key, _once(content))
        same = await objects.read_all(key) == content
        await objects.delete([key])
    except (GatepostError, StorageSetupError) as error:
        reason = " ".join(str(error.__cause__ or error).split())[:300]
        return CheckResult("files", "problem", f"{settings.media.url} cannot be used: {reason}", fix)
    if not same:
        return CheckResult("files", "problem", f"{settings.media.url} returned other bytes than were stored.", fix)
    return CheckResult("files", "ok", f"They are stored in {settings.media.url}.")


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
