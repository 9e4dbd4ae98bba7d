"""Waits until a server accepts connections, and creates our database and its roles if they are missing."""

import asyncio
import time
from pathlib import Path
from urllib.parse import quote

import asyncpg
import psutil

from gatepost.store.embedded.account import OsUser
from gatepost.store.embedded.conf import DEVICE_ROLE, GATEWAY_ROLE, SUPERUSER, write_identities
from gatepost.store.embedded.data_folder import EmbeddedPostgresError
from gatepost.store.embedded.postmaster import lives
from gatepost.store.embedded.roles import settle_roles

DATABASE = "gatepost"
POLL = 0.01


def dsn_for(sockets: Path, database: str = DATABASE, role: str = GATEWAY_ROLE) -> str:
    """Return the address of a database on a socket. It names the port, so that PGPORT has no effect."""
    return f"postgresql://{role}@/{database}?host={quote(str(sockets))}&port=5432"


def admin_dsn(dsn: str) -> str:
    """Return the address for administration, given the gateway's. The gateway itself does not use it."""
    return _with_role(dsn, SUPERUSER)


def device_dsn(dsn: str) -> str | None:
    """Return the address for the process that links phones, given the gateway's; None for an external server."""
    return _with_role(dsn, DEVICE_ROLE) if dsn.startswith(f"postgresql://{GATEWAY_ROLE}@/") else None


def _with_role(dsn: str, role: str) -> str:
    return dsn.replace(f"//{GATEWAY_ROLE}@", f"//{role}@", 1)


async def answering(
    cluster: Path, account: OsUser, postmaster: psutil.Process, sockets: Path, patience: float
) -> str | None:
    """Return the database's address as soon as it accepts connections; None if the server ends before."""
    give_up = time.monotonic() + patience
    while time.monotonic() < give_up:
        try:
            if await greet(cluster, account, sockets):
                return dsn_for(sockets)
        except asyncpg.CannotConnectNowError:
            # The server is in crash recovery or shutting down. Both end, so the time limit starts again.
            give_up = time.monotonic() + patience
        except (OSError, asyncpg.TooManyConnectionsError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError):
            pass
        except asyncpg.PostgresError as error:
            raise EmbeddedPostgresError(f"The embedded PostgreSQL refuses us: {error}") from error
        if not lives(postmaster):
            return None
        await asyncio.sleep(POLL)
    raise EmbeddedPostgresError(
        f"The embedded PostgreSQL (process {postmaster.pid}) gave no answer for {patience:.0f} s."
    )


async def greet(cluster: Path, account: OsUser, sockets: Path) -> bool:
    """Create the database and its roles if they are missing; return whether the gateway's role can connect."""
    try:
        conn = await asyncpg.connect(dsn_for(sockets, role=SUPERUSER))
    except asyncpg.InvalidCatalogNameError:
        await _make_database(sockets)
        conn = await asyncpg.connect(dsn_for(sockets, role=SUPERUSER))
    try:
        await settle_roles(conn)
        if await _admitted(sockets):
            return True
        # A server that an older version started does not have the role in pg_ident.conf yet.
        write_identities(cluster, account)
        await conn.execute("SELECT pg_reload_conf()")
        return False
    finally:
        await conn.close()


async def _make_database(sockets: Path) -> None:
    conn = await asyncpg.connect(dsn_for(sockets, "postgres", SUPERUSER))
    try:
        await conn.execute(f"CREATE DATABASE {DATABASE}")
    except (asyncpg.DuplicateDatabaseError, asyncpg.UniqueViolationError):
        pass  # another command has created it, or creates it at the same time
    finally:
        await conn.close()


async def _admitted(sockets: Path) -> bool:
    """Return whether the gateway's role can connect."""
    try:
        await (await asyncpg.connect(dsn_for(sockets))).close()
    except asyncpg.InvalidAuthorizationSpecificationError:
        return False
    return True
