"""Waiting for a server until it answers, and seeing to it that our database is there."""

import asyncio
import time
from pathlib import Path
from urllib.parse import quote

import asyncpg
import psutil

from gatepost.store.embedded.conf import SUPERUSER
from gatepost.store.embedded.errors import EmbeddedPostgresError
from gatepost.store.embedded.postmaster import lives

DATABASE = "gatepost"
POLL = 0.01


def dsn_for(sockets: Path, database: str = DATABASE) -> str:
    """Return the address of a database behind a socket, deaf to PGPORT and its like."""
    return f"postgresql://{SUPERUSER}@/{database}?host={quote(str(sockets))}&port=5432"


async def answering(postmaster: psutil.Process, sockets: Path, patience: float) -> str | None:
    """Return the database's address as soon as it answers; nothing when the server ends before."""
    give_up = time.monotonic() + patience
    while time.monotonic() < give_up:
        try:
            await greet(sockets)
            return dsn_for(sockets)
        except asyncpg.CannotConnectNowError:
            # It is replaying its log after a crash, or still leaving: both end, so neither counts as silence.
            give_up = time.monotonic() + patience
        except (OSError, asyncpg.TooManyConnectionsError, asyncpg.ConnectionDoesNotExistError):
            pass
        except asyncpg.PostgresError as error:
            raise EmbeddedPostgresError(f"The embedded PostgreSQL refuses us: {error}") from error
        if not lives(postmaster):
            return None
        await asyncio.sleep(POLL)
    raise EmbeddedPostgresError(
        f"The embedded PostgreSQL (process {postmaster.pid}) gave no answer for {patience:.0f} s."
    )


async def greet(sockets: Path) -> None:
    """Connect once to our database, making it where a new cluster has none yet."""
    try:
        conn = await asyncpg.connect(dsn_for(sockets))
    except asyncpg.InvalidCatalogNameError:
        conn = await asyncpg.connect(dsn_for(sockets, "postgres"))
        await conn.execute(f"CREATE DATABASE {DATABASE}")
    await conn.close()
