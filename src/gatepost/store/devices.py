"""Linked devices: who may use their tables, and what remains of those of deleted channels.

The process that links phones has a database role that may use the schema qr_devices and nothing else:

embedded server ─► gatepost_qr, created with the server (embedded/roles)
other server ────► <database>_qr, created here if the gateway's role may create roles; otherwise the gateway's own role

The rows of a deleted channel's device are deleted wherever devices are stored:

delete a channel ─► its device into forgotten_devices (same commit) ─► rows of the device deleted, at once and for an
hour after: the process that held the link stops a moment later, and may write until then
"""

import base64
import hashlib
import hmac
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit
from uuid import UUID

import asyncpg
import structlog

from gatepost.model.errors import GatepostError
from gatepost.store.embedded import device_dsn
from gatepost.store.pool import DRIVER_ERRORS, Connection, Database

log = structlog.get_logger("gatepost.store")

_POSTGRESQL = ("postgresql://", "postgres://")
# Each engine creates its own tables, whose rows name their device in one of these columns.
_DELETIONS = """
SELECT format('DELETE FROM %s WHERE %I = $1', c.oid::regclass, a.attname)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = to_regnamespace('qr_devices') AND c.relkind = 'r' AND NOT a.attisdropped
  AND a.attname IN ('device', 'jid', 'our_jid') AND a.atttypid = 'text'::regtype
ORDER BY c.relname <> 'whatsmeow_device'"""


async def record_device(conn: "Connection[Any]", account_id: UUID, channel_id: UUID) -> None:
    """Record the linked device of a channel that is about to be deleted."""
    await conn.execute(
        """INSERT INTO forgotten_devices (device)
           SELECT l.device FROM channels c JOIN channel_links l ON l.channel_id = c.id
           WHERE c.account_id = $1 AND c.id = $2 AND l.device IS NOT NULL
           ON CONFLICT (device) DO UPDATE SET deleted_at = now()""",
        account_id,
        channel_id,
    )


async def forget_devices(db: Database, device_store: str) -> None:
    """Delete the rows of recorded devices in the device store: the address given, or with "" the database itself."""
    devices = await _noted(db)
    if not devices:
        return
    try:
        async with open_device_store(db, device_store) as conn:
            if conn is not None:
                for device in devices:
                    await _delete_rows(conn, device)
    except (GatepostError, OSError, *DRIVER_ERRORS) as error:
        log.warning("rows of deleted linked devices could not be deleted; they are tried again", reason=str(error))
        return
    async with db.connection() as own:
        await own.execute("DELETE FROM forgotten_devices WHERE deleted_at < now() - interval '1 hour'")


async def _noted(db: Database) -> list[str]:
    """Return the recorded devices, except one that a channel has again."""
    rows = await db.fetch(
        """SELECT device FROM forgotten_devices f
           WHERE NOT EXISTS (SELECT FROM channel_links l WHERE l.device = f.device) ORDER BY device"""
    )
    return [row["device"] for row in rows]


@asynccontextmanager
async def open_device_store(
    db: Database, device_store: str
) -> AsyncIterator["Connection[Any] | asyncpg.Connection[Any] | None"]:
    """Return a connection to the device store; none if it is a file, which only its engine can open."""
    if not device_store:
        async with db.connection() as conn:
            yield conn
    elif not device_store.startswith(_POSTGRESQL):
        yield None
    else:
        other = await asyncpg.connect(device_store, timeout=5)
        try:
            yield other
        finally:
            await other.close()


async def _delete_rows(conn: Any, device: str) -> None:
    async with conn.transaction():
        for row in await conn.fetch(_DELETIONS):
            await conn.execute(row[0], device)


# -- the role ----------------------------------------------------------------------------------------------------------

_ONE_AT_A_TIME = int.from_bytes(b"gp_roles", "big")
_ITERATIONS = 4096
_LONGEST_NAME = 63
# Tables that were created before the role, or by the gateway's role.
_TABLES = """
SELECT format('ALTER TABLE %s OWNER TO %I', oid::regclass, $1::text) FROM pg_class
WHERE relnamespace = to_regnamespace('qr_devices') AND relkind = 'r'
  AND relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)"""


async def device_address(dsn: str, secret: bytes) -> str:
    """Return the address for the process that links phones, given the gateway's; the same if there is no role."""
    try:
        conn = await asyncpg.connect(dsn, timeout=5)
        try:
            async with conn.transaction():
                await conn.execute("SELECT pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
                address = await _prepared(conn, dsn, secret)
        finally:
            await conn.close()
        await (await asyncpg.connect(address, timeout=5)).close()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        if isinstance(error, OSError | TimeoutError) and (own := device_dsn(dsn)):
            return own  # the server is unavailable for a moment; the role was created with it
        log.warning(
            "the process that links phones uses the gateway's own database role: it could not have one of its own",
            reason=str(error) or type(error).__name__,
            docs="docs/explanation/linked-phones.md",
        )
        return dsn
    return address


async def _prepared(conn: "asyncpg.Connection[Any]", dsn: str, secret: bytes) -> str:
    own = device_dsn(dsn)
    if own is not None:
        await _hand_over(conn, urlsplit(own).username or "")
        return own
    role = f"{await conn.fetchval('SELECT current_database()')}"[: _LONGEST_NAME - 3] + "_qr"
    password = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    await _make_role(conn, role, scram_verifier(password, os.urandom(16)))
    await _hand_over(conn, role)
    return with_user(dsn, role, password)


async def _make_role(conn: "asyncpg.Connection[Any]", role: str, verifier: str) -> None:
    """Create the role, or set the password that all nodes with this key know. Half of the connections are for others.

    Links take several connections each while their network cannot be reached.
    """
    known = await conn.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", role)
    limit = await conn.fetchval("SELECT current_setting('max_connections')::int / 2")
    name = '"' + role.replace('"', '""') + '"'
    word = "ALTER" if known else "CREATE"
    await conn.execute(f"{word} ROLE {name} LOGIN PASSWORD '{verifier}' CONNECTION LIMIT {limit}")
    await conn.execute(f"GRANT {name} TO CURRENT_USER")


async def _hand_over(conn: "asyncpg.Connection[Any]", role: str) -> None:
    owner = await conn.fetchval("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'qr_devices'")
    name = '"' + role.replace('"', '""') + '"'
    if owner not in (role, name):
        await conn.execute(f"ALTER SCHEMA qr_devices OWNER TO {name}")
    for row in await conn.fetch(_TABLES, role):
        await conn.execute(row[0])
    if not await conn.fetchval("SELECT has_schema_privilege('qr_devices', 'CREATE')"):
        raise asyncpg.InsufficientPrivilegeError("the gateway's role does not inherit the rights of its roles")


def with_user(dsn: str, user: str, password: str) -> str:
    """Return the address of the same database for another user."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2]
    asked = [(key, value) for key, value in parse_qsl(parts.query) if key not in ("user", "password", "passfile")]
    named = f"{quote(user, safe='')}:{quote(password, safe='')}@{host}"
    return urlunsplit(parts._replace(netloc=named, query=urlencode(asked)))


def scram_verifier(password: str, salt: bytes) -> str:
    """Return a password's verifier, so that no statement and no log of statements holds the password."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    shown = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${_ITERATIONS}:{shown[0]}${shown[1]}:{shown[2]}"
