"""`gatepost doctor`: what is wrong with this gateway, and how to fix it.

settings, files, disk, backup ─► database ─► secrets, partitions, channels, endpoints, accounts ─► the running gateway
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from http.client import HTTPException
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.error import URLError
from urllib.parse import urlsplit

from gatepost.admin.unlock import open_vault
from gatepost.admin.vault import VaultError
from gatepost.api.contract.operations import CheckResult
from gatepost.cli.cells import check_cells, moving_check
from gatepost.cli.channels import gateway_url
from gatepost.cli.command import command, new_group, same_gateway
from gatepost.cli.doctor_upkeep import (
    check_backup,
    check_keys,
    check_media,
    check_owner_of_media,
    check_partitions,
)
from gatepost.cli.gateway_clock import gateway_clock
from gatepost.cli.http_call import HttpError, call
from gatepost.cli.output import CommandResult
from gatepost.cli.run_command import run_command
from gatepost.clock import SystemClock
from gatepost.model import ids, times
from gatepost.model.account import API_ACCESS
from gatepost.model.databases import MAIN
from gatepost.model.errors import GatepostError
from gatepost.model.number_status import CONNECTED
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.settings import Settings
from gatepost.store.accounts import list_accounts
from gatepost.store.channels import list_channels
from gatepost.store.checks import clock_offset, list_failing, list_unowned, read_key_proof
from gatepost.store.embedded import EmbeddedPostgresError, find_cluster, running_dsn
from gatepost.store.migrate import MigrationError, check
from gatepost.store.moves.departure import unfinished_moves
from gatepost.store.pool import DRIVER_ERRORS, Database
from gatepost.store.pooling import TransactionPooling, check_sessions

group = new_group()

_LOW, _VERY_LOW = 5 * 2**30, 2**30  # bytes free
_SKEW = 2.0  # seconds between our clock and the database's
_DUE = 30.0  # seconds after which a gateway should own a channel that has work
_LIMIT = 20  # findings of one kind
_PRIVATE = ("secret.key", "quickstart.json")


@command(group, "doctor")
def doctor(settings: Settings) -> CommandResult:
    """Find what is wrong with this gateway, and say how to fix it. The exit code is 1 if something has to be fixed."""
    results = run_command(_check(settings))
    problems = sum(result.state == "problem" for result in results)
    note = f"{problems} to fix." if problems else "Nothing has to be fixed."
    return CommandResult(results, ("state", "check", "found", "fix"), note=note, failed=problems > 0)


async def _check(settings: Settings) -> list[CheckResult]:
    results = [*_files(settings), *_disks(settings), check_backup(settings, SystemClock().now()), *check_keys(settings)]
    results.append(await check_media(settings))
    results += [result async for result in _database(settings)]
    return [*results, *await check_cells(settings, _look_inside), await _gateway(settings)]


# -- files ------------------------------------------------------------------------------------------------------------


def _files(settings: Settings) -> Iterator[CheckResult]:
    folder = settings.data_folder
    if not folder.is_dir() and settings.database.url and settings.media.url and settings.security.secret_key:
        yield CheckResult("data folder", "ok", "None is needed: the database, the files and the key are elsewhere.")
        return
    if not folder.is_dir():
        yield CheckResult("data folder", "problem", f"There is no folder {folder.resolve()}.", "Give it with --data.")
        return
    yield CheckResult("data folder", "ok", str(folder.resolve()))
    for name in _PRIVATE:
        path = folder / name
        if path.exists() and path.stat().st_mode & 0o077:
            yield CheckResult(name, "problem", f"Other users can read {path}.", f"chmod 600 {path}")


def _disks(settings: Settings) -> Iterator[CheckResult]:
    data = settings.data_folder.resolve()
    folder = next(path for path in (data, *data.parents) if path.exists())
    yield _disk(folder)
    with suppress(OSError, EmbeddedPostgresError):  # `_database` reports it
        cluster = None if settings.database.url else find_cluster(data)
        if cluster is not None and cluster.stat().st_dev != folder.stat().st_dev:
            yield _disk(cluster)


def _disk(folder: Path) -> CheckResult:
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB are free at {folder}."
    if free >= _LOW:
        return CheckResult("disk", "ok", found)
    state: Literal["problem", "warning"] = "problem" if free < _VERY_LOW else "warning"
    return CheckResult("disk", state, found, "Free disk space, or shorten retention.messages_days and media.days.")


# -- the database -----------------------------------------------------------------------------------------------------


async def _database(settings: Settings) -> AsyncIterator[CheckResult]:
    """Check the database without changing it: it is neither started nor migrated."""
    try:
        dsn = settings.database.url or running_dsn(settings.data_folder)
        if dsn is None:
            there = find_cluster(settings.data_folder) is not None
            found = "The embedded database is not running." if there else "There is no embedded database yet."
            yield CheckResult("database", "problem", found, _start())
            return
        await check_sessions(dsn)
        db = await Database.connect(dsn, connections=4)
    except TransactionPooling as error:
        yield CheckResult("database", "problem", _text(error), "Correct database.url.")
        return
    except (OSError, EmbeddedPostgresError, GatepostError, *DRIVER_ERRORS) as error:
        fix = "Start PostgreSQL, or correct database.url." if settings.database.url else _start()
        yield CheckResult("database", "problem", f"It cannot be reached: {_text(error)}", fix)
        return
    try:
        async for result in _inside(settings, db):
            yield result
    except (GatepostError, MigrationError, *DRIVER_ERRORS) as error:
        yield CheckResult("database", "problem", _text(error), "See the log of the gateway and of PostgreSQL.")
    finally:
        await db.close()


async def _inside(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    async with db.connection() as conn:
        state = await check(conn)  # type: ignore[arg-type]
        server = await conn.fetchval("SHOW server_version")
    if state.pending:
        yield CheckResult(
            "database", "problem", f"{len(state.pending)} migrations are pending.", same_gateway("migrate")
        )
        return
    if state.newer:
        found = f"A newer version has migrated it to {state.version}; this one knows migrations up to {state.known}."
        yield CheckResult("database", "warning", found, "Finish the upgrade: install the newer version here too.")
    else:
        yield CheckResult("database", "ok", f"PostgreSQL {server}, migration {state.version}.")
    if settings.cells and (moves := await unfinished_moves(db)):
        yield moving_check(f"cell {MAIN}", moves)
    offset = await clock_offset(db)
    if abs(offset) > _SKEW:
        found = f"This machine's clock differs by {abs(offset):.1f} s from the database's."
        yield CheckResult("clock", "warning", found, "Synchronize both clocks with NTP.")
    async for result in check_owner_of_media(settings, db):
        yield result
    async for result in _look_inside(settings, db):
        yield result


async def _look_inside(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    """Check what a migrated database has: the only one, or that of a cell."""
    for look in (_secrets, check_partitions, _channels, _waiting, _endpoints, _accounts):
        async for result in look(settings, db):
            yield result


async def _secrets(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    """Check that the secret key decrypts what is stored; no key is created."""
    proof = await read_key_proof(db)
    if not proof.exists:
        return
    try:
        open_vault(proof, settings.security.secret_key, settings.data_folder)
    except VaultError as error:
        yield CheckResult(
            "secret key", "problem", error.message, "Restore the key: without it, no message can be sent."
        )


async def _channels(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    channels = await list_channels(db)
    for channel in channels:
        name = f"channel {ids.format_id('ch', channel.id)}"
        if channel.connection not in CONNECTED:
            linked = NETWORK_KINDS[channel.kind].linked
            fix = same_gateway(f"channel link {ids.format_id('ch', channel.id)}") if linked else "See the reason."
            yield CheckResult(name, "warning", f"It is {channel.connection}. {channel.reason or ''}".strip(), fix)
    if not channels and not settings.cells:
        yield CheckResult("channels", "warning", "There are none.", "gatepost channel create --help")
    callbacks = any(NETWORK_KINDS[channel.kind].callbacks for channel in channels)
    if callbacks and not settings.server.public_url and not _is_loopback(gateway_url(settings)):
        found = "server.public_url is not set: the network cannot reach this gateway's callbacks."
        yield CheckResult("public address", "warning", found, "Set it to the https address of this gateway.")


def _is_loopback(url: str) -> bool:
    """Return whether the gateway can be reached from this machine only."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _waiting(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    for one in await list_unowned(db, _DUE, _LIMIT):
        found = f"Work of {ids.format_id('ch', one.channel_id)} has been waiting since {times.format_time(one.since)}."
        yield CheckResult("work", "problem", found, "Run a gateway with --role all or worker, and check its log.")


async def _endpoints(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    for one in await list_failing(db, _LIMIT):
        id_ = ids.format_id("we", one.id)
        fix = f"Fix the receiver; then: {same_gateway(f'webhook show {id_}')}"
        yield CheckResult(f"webhook {id_}", "warning", f"It is {one.state}. {one.reason or ''}".strip(), fix)


async def _accounts(settings: Settings, db: Database) -> AsyncIterator[CheckResult]:
    now = (await gateway_clock(settings, db)).now()
    for account in await list_accounts(db):
        name = ids.format_id("acc", account.id)
        if account.suspended:
            yield CheckResult(f"account {name}", "warning", "It is suspended.", same_gateway(f"account resume {name}"))
        elif account.trial_ends_at <= now and API_ACCESS not in account.addons:
            fix = same_gateway(f'account addon add {name} "{API_ACCESS}"')
            yield CheckResult(f"account {name}", "warning", "Its trial has ended: the API rejects its keys.", fix)
        if account.plan not in settings.plans:
            plans = ", ".join(settings.plans)
            yield CheckResult(f"account {name}", "problem", f"The plan {account.plan} is not in the settings: {plans}.")


# -- the gateway ------------------------------------------------------------------------------------------------------


async def _gateway(settings: Settings) -> CheckResult:
    url = gateway_url(settings)
    try:
        await asyncio.to_thread(call, f"{url}/readyz", timeout=5.0)
    except HttpError as error:
        found, fix = f"{url}/readyz responds with {error.status}.", "See its response and the log of the gateway."
        return CheckResult("gateway", "problem", found, fix)
    except (OSError, ValueError, HTTPException) as error:
        fix = same_gateway("serve")
        if settings.server.public_url:
            fix += "; if it runs, check server.public_url, the proxy, and whether this machine can reach that address."
        return CheckResult("gateway", "problem", f"{url} does not respond: {_text(error)}", fix)
    return CheckResult("gateway", "ok", f"{url} is ready.")


def _start() -> str:
    return f"Start the gateway: {same_gateway('serve')}"


def _text(error: Exception) -> str:
    cause = error.reason if isinstance(error, URLError) else error
    return " ".join(str(cause).split()) or type(error).__name__
