"""Waiting for a server until it answers, and seeing to it that our database and its roles are there."""

import asyncio
import time
from pathlib import Path
from urllib.parse import quote

import asyncpg
import psutil

from gatepost.store.embedded.account import OsUser
from gatepost.store.embedded.conf import DEVICE_ROLE, GATEWAY_ROLE, SUPERUSER, write_identities
from gatepost.store.embedded.errors import EmbeddedPostgresError
from gatepost.store.embedded.postmaster import lives
from gatepost.store.embedded.roles import settle_roles

DATABASE = "gatepost"
POLL = 0.01


def dsn_for(sockets: Path, database: str = DATABASE, role: str = GATEWAY_ROLE) -> str:
    """Return the address of a database behind a socket, deaf to PGPORT and its like."""
    return f"postgresql://{role}@/{database}?host={quote(str(sockets))}&port=5432"


def admin_dsn(dsn: str) -> str:
    """Return the address for administration, given that of the gateway: no part of the gateway itself uses it."""
    return _with_role(dsn, SUPERUSER)


def device_dsn(dsn: str) -> str | None:
    """Return the address for the process that links phones, given that of the gateway; none for another server."""
    return _with_role(dsn, DEVICE_ROLE) if dsn.startswith(f"postgresql://{GATEWAY_ROLE}@/") else None


def _with_role(dsn: str, role: str) -> str:
    return dsn.replace(f"//{GATEWAY_ROLE}@", f"//{role}@", 1)


async def answering(
    cluster: Path, account: OsUser, postmaster: psutil.Process, sockets: Path, patience: float
) -> str | None:
    """Return the database's address as soon as it answers; nothing when the server ends before."""
    give_up = time.monotonic() + patience
    while time.monotonic() < give_up:
        try:
            if await greet(cluster, account, sockets):
                return dsn_for(sockets)
        except asyncpg.CannotConnectNowError:
            # It is replaying its log after a crash, or still leaving: both end, so neither counts as silence.
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
    """Connect once as the gateway does, making the database and its roles where they are missing."""
    try:
        conn = await asyncpg.connect(dsn_for(sockets, role=SUPERUSER))
    except asyncpg.InvalidCatalogNameError:
        await _make_database(sockets)
        conn = await asyncpg.connect(dsn_for(sockets, role=SUPERUSER))
    try:
        await settle_roles(conn)
        if await _admitted(sockets):
            return True
        # A server that an older version started does not know the role yet.
        write_identities(cluster, account)
        await conn.execute("SELECT pg_reload_conf()")
        return False
    finally:
        await conn.close()


async def _make_database(sockets: Path) -> None:
    conn = await asyncpg.connect(dsn_for(sockets, "postgres", SUPERUSER))
    try:
        await conn.execute(f"CREATE DATABASE {DATABASE}")
    except asyncpg.DuplicateDatabaseError:
        pass  # another command was faster
    finally:
        await conn.close()


async def _admitted(sockets: Path) -> bool:
    """Tell whether the gateway's role may connect."""
    try:
        await (await asyncpg.connect(dsn_for(sockets))).close()
    except asyncpg.InvalidAuthorizationSpecificationError:
        return False
    return True
