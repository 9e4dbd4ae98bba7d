"""`gatepost secret-key`: the key that encrypts stored secrets."""

from contextlib import AsyncExitStack
from pathlib import Path

from gatepost.admin.rotate_key import Rotation, begin_rotation, finish_rotation, reencrypt
from gatepost.admin.unlock import open_vault, opens, replace_key
from gatepost.admin.vault import KEY_BYTES, KEY_FILE, Vault, read_key
from gatepost.api.contract.operations import ReplacedKey, RotatedKey
from gatepost.cli.cell_databases import FAILURES, describe, opened_cell
from gatepost.cli.command import CommandSession, check_database, command, new_group
from gatepost.cli.options import Yes
from gatepost.cli.output import CommandResult, confirm
from gatepost.cli.progress_bar import progress_bar
from gatepost.cli.run_command import run_command
from gatepost.database_lifecycle import opened_at, reached, reserved
from gatepost.model import ids
from gatepost.model.databases import MAIN
from gatepost.model.errors import Conflict, NotFound
from gatepost.settings import Settings
from gatepost.store.backup.load import check_unused
from gatepost.store.checks import StoredSecret, list_secrets, read_key_proof
from gatepost.store.embedded import DataFolderInUse
from gatepost.store.pool import Database

group = new_group()

_ONE_KEY = (
    "security.secret_key has one key. Generate another (openssl rand -base64 32), and set both on all nodes, separated "
    "by a comma: first old,new and restart all; then new,old and restart all. Then run this command again."
)


@command(group, "rotate")
def rotate(settings: Settings) -> CommandResult:
    """Change the key: encrypt everything with a new one, in all cells. An interrupted rotation is continued.

    With a key in a file, all gateways must be stopped. With keys in security.secret_key they can run.
    """
    keys = read_key(settings.security.secret_key, settings.data_folder)
    if keys is None:
        raise NotFound(f"There is no secret key: {settings.data_folder / KEY_FILE} is missing.")
    if settings.security.secret_key and len(keys) == KEY_BYTES:
        raise Conflict(_ONE_KEY)
    check_database(settings)
    done, previous = run_command(_rotate(settings, keys))
    return CommandResult(
        RotatedKey(done.encrypted, done.unreadable, str(previous) if previous else None),
        note=_after_rotation(previous, done),
    )


async def _rotate(settings: Settings, keys: bytes) -> tuple[Rotation, Path | None]:
    in_file = not settings.security.secret_key
    try:
        async with (reserved if in_file else reached)(settings) as dsn, AsyncExitStack() as stack:
            dsns = {MAIN: dsn, **settings.cells}
            dbs = [await _opened(stack, name, one, settings, unused=in_file) for name, one in dsns.items()]
            vault = begin_rotation(settings.data_folder, keys) if in_file else Vault(keys)
            done = Rotation()
            with progress_bar() as progress:
                for db in dbs:
                    own = await reencrypt(db, vault, settings.qr.device_store, lambda step: progress(step, 0, 1))
                    done = Rotation(done.encrypted + own.encrypted, done.unreadable + own.unreadable)
            return done, finish_rotation(settings.data_folder, vault) if in_file else None
    except DataFolderInUse as error:
        raise Conflict(f"The gateway is running. Stop it, run this command again, and start it. {error}") from None


async def _opened(stack: AsyncExitStack, name: str, dsn: str, settings: Settings, *, unused: bool) -> Database:
    """Open one of the databases, all of them before the first is changed. Raise unless it has the secret key."""
    try:
        if unused:
            await check_unused(dsn)
        opening = opened_cell(name, dsn, settings) if settings.cells else opened_at(dsn, settings)
        db = await stack.enter_async_context(opening)
        open_vault(await read_key_proof(db), settings.security.secret_key, settings.data_folder)
    except FAILURES as error:
        if not settings.cells:
            raise
        raise Conflict(f"The cell {name} cannot be used: {describe(error)} Nothing was changed.") from error
    return db


def _after_rotation(previous: Path | None, done: Rotation) -> str:
    lost = f" {done.unreadable} secrets cannot be decrypted with any key, and were left as they are." * (
        done.unreadable > 0
    )
    if previous is None:
        return f"Now remove the old key from security.secret_key on all nodes, and restart them.{lost}"
    return (
        f"Start the gateway; if there are others, copy {KEY_FILE} to them first. Backups made before need the old key: "
        f"it is in {previous}. Delete that file when you have deleted those backups.{lost}"
    )


@command(group, "replace")
async def replace(session: CommandSession, yes: Yes = False) -> CommandResult:
    """Replace a lost key. What it encrypted has to be entered again."""
    if not yes:
        confirm("Use the current key, or a new one, from now on? What the old key encrypted stays unreadable.")
    lost: list[StoredSecret] = []
    for db in session.all_databases().values():
        vault = await replace_key(db, session.settings.security.secret_key, session.settings.data_folder)
        lost += [secret for secret in await list_secrets(db) if not opens(vault, secret)]
    return CommandResult(
        ReplacedKey(
            replaced=True,
            channels=[ids.format_id("ch", secret.id) for secret in lost if secret.kind == "channel"],
            endpoints=[ids.format_id("we", secret.id) for secret in lost if secret.kind == "endpoint"],
        ),
        note="Restart the gateway. Then give these channels their token and app secret again (gatepost channel token), "
        "rotate the secrets of these endpoints and set their headers again (gatepost webhook rotate-secret, change). "
        "Phones that were linked with the engine baileys have to be linked again.",
    )
