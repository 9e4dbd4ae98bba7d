"""A database as a cell: its name, and the credentials that it has. Each function reads one database."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from gatepost.store.pool import Database


class CellCounts(msgspec.Struct, frozen=True):
    """What a cell has, and its migration."""

    accounts: int
    channels: int
    oldest_work_seconds: float  # since when work of a channel has been due
    migration: int


async def read_cell_name(db: Database) -> str | None:
    """Return the name of the cell that a database is; None if it has none yet."""
    async with db.connection() as conn:
        if await conn.fetchval("SELECT to_regclass('cell')") is None:  # an older migration, or an empty database
            return None
        name: str | None = await conn.fetchval("SELECT name FROM cell WHERE id = 1")
        return name


async def name_cell(db: Database, name: str) -> str:
    """Name a database that has no name. Return the name that it has now, which is an earlier one if it had one."""
    await db.execute("INSERT INTO cell (id, name) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", name)
    return await read_cell_name(db) or name


async def count_cell(db: Database) -> CellCounts:
    """Count the accounts and channels of a cell."""
    row = await db.fetchrow(
        """SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM channels),
                  COALESCE(extract(epoch FROM now() - (SELECT min(work_at) FROM channel_heads
                                                       WHERE has_work AND work_at < now())), 0)::float8,
                  (SELECT max(version) FROM schema_migrations)"""
    )
    return CellCounts(*row)


async def has_accounts(db: Database) -> bool:
    """Return whether a database has an account; it need not be migrated."""
    async with db.connection() as conn:
        if await conn.fetchval("SELECT to_regclass('accounts')") is None:
            return False
        return bool(await conn.fetchval("SELECT EXISTS (SELECT FROM accounts)"))


# -- which of the credentials a cell has, by unique indexes; False: the account is moving to another cell ------------


def _live(account: str) -> str:
    """Return SQL for whether an account is here, and not on its way to another cell at this moment."""
    return f"""NOT EXISTS (SELECT FROM account_moves m WHERE m.account_id = {account} AND m.state = 'fenced') AS live"""


async def known_keys(db: Database, hashes: Sequence[bytes]) -> dict[bytes, bool]:
    """Return those of the hashes that are of API keys, including revoked and expired ones."""
    rows = await db.fetch(
        f"""SELECT k.hash, {_live("c.account_id")} FROM api_keys k JOIN channels c ON c.id = k.channel_id
            WHERE k.hash = ANY ($1::bytea[])""",
        list(hashes),
    )
    return {row["hash"]: row["live"] for row in rows}


async def known_sessions(db: Database, hashes: Sequence[bytes]) -> dict[bytes, bool]:
    """Return those of the hashes that are of sessions."""
    return await _known_of_users(db, "sessions", hashes)


async def known_links(db: Database, hashes: Sequence[bytes]) -> dict[bytes, bool]:
    """Return those of the hashes that are of one-time links."""
    return await _known_of_users(db, "one_time_links", hashes)


async def _known_of_users(db: Database, table: str, hashes: Sequence[bytes]) -> dict[bytes, bool]:
    rows = await db.fetch(
        f"""SELECT k.hash, {_live("u.account_id")} FROM {table} k JOIN users u ON u.id = k.user_id
            WHERE k.hash = ANY ($1::bytea[])""",
        list(hashes),
    )
    return {row["hash"]: row["live"] for row in rows}


async def known_channels(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, bool]:
    """Return those of the ids that are of channels."""
    rows = await db.fetch(
        f"SELECT c.id, {_live('c.account_id')} FROM channels c WHERE c.id = ANY ($1::uuid[])", list(channel_ids)
    )
    return {row["id"]: row["live"] for row in rows}


async def known_emails(db: Database, emails: Sequence[str]) -> dict[str, bool]:
    """Return those of the e-mail addresses that are of users, in any case of letters."""
    rows = await db.fetch(
        f"""SELECT given.email, {_live("u.account_id")} FROM unnest($1::text[]) AS given (email)
            CROSS JOIN LATERAL (SELECT account_id FROM users WHERE lower(email) = lower(given.email) LIMIT 1) u""",
        list(emails),
    )
    return {row["email"]: row["live"] for row in rows}
