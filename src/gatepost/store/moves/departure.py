"""An account that leaves this database for another cell.

copying    its rows are copied as they were at one moment, while it is in use; a slot of logical replication keeps what
           happens meanwhile
streaming  the changes since then follow; at the end, this process owns the channels: nobody sends or delivers
fenced     the heads of its channels are taken away, so that nobody can write: requests get 503 for a moment
moved      it is in the other cell. What is left here is deleted
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from gatepost.model.errors import Conflict, NotFound
from gatepost.store.backup.load import LOST_EVENTS
from gatepost.store.backup.snapshot import begin_reading
from gatepost.store.backup.table_data import connect_for_copy
from gatepost.store.moves.change_stream import Transaction, read_transactions
from gatepost.store.moves.tables import DECISIVE, LOCKED, STREAMED, RawConnection, columns_of
from gatepost.store.pool import Database

_AT_ONCE = 5_000  # changes that are read together; transactions are not divided
_LOCK = int.from_bytes(b"gp_m", "big")


class OutgoingMove(msgspec.Struct, frozen=True):
    """A move as the old cell knows it."""

    account_id: UUID
    cell: str
    state: str
    channels: Sequence[UUID]
    heads: str | None

    @property
    def slot(self) -> str:
        """The name of its replication slot, and of its publication."""
        return f"gatepost_move_{self.account_id.hex}"

    @property
    def owners(self) -> list[UUID]:
        """What rows have as their `channel_id`: a channel, or the account (idempotency keys of its users' requests)."""
        return [*self.channels, self.account_id]


async def open_source(dsn: str, account_id: UUID) -> RawConnection:
    """Return a connection that is the only one to move this account, until it is closed."""
    conn = await connect_for_copy(dsn)
    if not await conn.fetchval("SELECT pg_try_advisory_lock($1, hashtext($2))", _LOCK, account_id.hex):
        await conn.close()
        raise Conflict("Another command moves this account right now.")
    return conn


async def find_move(conn: RawConnection, account_id: UUID) -> OutgoingMove | None:
    """Return the move of an account that leaves this database."""
    row = await conn.fetchrow(
        """SELECT account_id, cell, state, channels, heads FROM account_moves
           WHERE account_id = $1 AND direction = 'out'""",
        account_id,
    )
    return OutgoingMove(**row) if row else None


async def find_outgoing(db: Database, account_id: UUID) -> str | None:
    """Return the cell that an account is moving to from this one."""
    return await db.fetchval(  # type: ignore[no-any-return]
        "SELECT cell FROM account_moves WHERE account_id = $1 AND direction = 'out'", account_id
    )


class UnfinishedMove(msgspec.Struct, frozen=True):
    """An account that leaves this database."""

    account_id: UUID
    cell: str
    state: str
    started_at: datetime


async def unfinished_moves(db: Database) -> list[UnfinishedMove]:
    """Return the accounts that leave this database, those first that have been moving longest."""
    rows = await db.fetch(
        """SELECT account_id, cell, state, started_at FROM account_moves WHERE direction = 'out'
           ORDER BY started_at"""
    )
    return [UnfinishedMove(**row) for row in rows]


async def check_source(conn: RawConnection) -> None:
    """Raise Conflict if this server cannot replicate."""
    level = await conn.fetchval("SHOW wal_level")
    if level != "logical":
        raise Conflict(
            f"The PostgreSQL of the account's cell has wal_level = {level}. Set wal_level = logical there, restart it, "
            "and run this command again."
        )


async def begin(conn: RawConnection, account_id: UUID, cell: str) -> OutgoingMove:
    """Begin to copy an account, or begin again with the channels that it has now."""
    async with conn.transaction():
        if await conn.fetchval("SELECT 1 FROM accounts WHERE id = $1 FOR SHARE", account_id) is None:
            raise NotFound("There is no such account any more.")
        await conn.execute(
            """INSERT INTO account_moves (account_id, direction, cell, state, channels)
               VALUES ($1, 'out', $2, 'copying', ARRAY(SELECT id FROM channels WHERE account_id = $1 ORDER BY id))
               ON CONFLICT (account_id) DO UPDATE
               SET state = 'copying', channels = excluded.channels, changed_at = now()""",
            account_id,
            cell,
        )
    move = await find_move(conn, account_id)
    assert move is not None
    return move


async def set_state(conn: RawConnection, move: OutgoingMove, state: str) -> None:
    """Write how far a move is."""
    await conn.execute(
        "UPDATE account_moves SET state = $2, changed_at = now() WHERE account_id = $1", move.account_id, state
    )


async def forget_move(conn: RawConnection, account_id: UUID) -> None:
    """Delete the row of a move that has ended, in either cell."""
    await conn.execute("DELETE FROM account_moves WHERE account_id = $1", account_id)


# -- the stream of changes ---------------------------------------------------------------------------------------------


async def begin_stream(conn: RawConnection, move: OutgoingMove) -> None:
    """Keep the changes of the account's rows from now on."""
    await end_stream(conn, move)
    owners = ",".join(str(one) for one in move.owners)
    wanted = {"channel_id": f"ANY ('{{{owners}}}'::uuid[])", "account_id": f"'{move.account_id}'::uuid"}
    tables = ", ".join(f"{table} WHERE ({column} = {wanted[column]})" for table, column in STREAMED.items())
    await conn.execute(
        f"CREATE PUBLICATION {move.slot} FOR TABLE {tables} "
        "WITH (publish = 'insert, update, delete', publish_via_partition_root = true)"
    )
    try:
        await conn.execute("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", move.slot)
    except asyncpg.InsufficientPrivilegeError:
        raise Conflict(
            "The gateway's role may not replicate. Run as an administrator of the account's cell: "
            f"ALTER ROLE {await conn.fetchval('SELECT quote_ident(current_user)')} REPLICATION"
        ) from None


async def end_stream(conn: RawConnection, move: OutgoingMove) -> None:
    """Keep no more changes."""
    await conn.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1", move.slot
    )
    await conn.execute(f"DROP PUBLICATION IF EXISTS {move.slot}")


async def has_stream(conn: RawConnection, move: OutgoingMove) -> bool:
    """Return whether changes are kept. A server may drop them when they need too much space."""
    return await conn.fetchval(  # type: ignore[no-any-return]
        "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1 AND wal_status <> 'lost')", move.slot
    )


async def log_end(conn: RawConnection) -> int:
    """Return the position at which the log of this server ends now."""
    return await conn.fetchval("SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint")  # type: ignore[no-any-return]


async def read_changes(conn: RawConnection, move: OutgoingMove) -> list[Transaction]:
    """Return the next transactions that changed the account's rows. They are kept until `pass_changes`."""
    rows = await conn.fetch(
        """SELECT data FROM pg_logical_slot_peek_binary_changes(
               $1, NULL, $2, 'proto_version', '1', 'publication_names', $3)""",
        move.slot,
        _AT_ONCE,
        move.slot,
    )
    return list(read_transactions(row["data"] for row in rows))


async def pass_changes(conn: RawConnection, move: OutgoingMove, position: int) -> None:
    """Forget the changes up to a position of the log: they are in the other cell."""
    await conn.execute("SELECT pg_replication_slot_advance($1, $2::text::pg_lsn)", move.slot, lsn_text(position))


def lsn_text(position: int) -> str:
    """Return a position of the log as PostgreSQL writes it."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


# -- rows --------------------------------------------------------------------------------------------------------------

Write = Callable[[bytes], Awaitable[None]]


async def begin_snapshot(conn: RawConnection) -> str:
    """Begin a transaction that sees one moment, and return its snapshot. No partition is dropped before its end."""
    await begin_reading(conn)
    text: str = await conn.fetchval("SELECT pg_current_snapshot()::text")
    return text


async def copy_streamed(conn: RawConnection, move: OutgoingMove, table: str, write: Write) -> int:
    """Pass on the rows of a table as text. Return how many there are."""
    of_account = STREAMED[table] == "account_id"
    wanted: Any = [move.account_id] if of_account else move.owners
    return await _copy(conn, table, f"{STREAMED[table]} = ANY ($1::uuid[])", wanted, write)


async def copy_decisive(conn: RawConnection, move: OutgoingMove, table: str, write: Write) -> int:
    """Pass on the rows of a table by which the account is found and served."""
    return await _copy(conn, table, DECISIVE[table], move.account_id, write)


async def _copy(conn: RawConnection, table: str, condition: str, wanted: Any, write: Write) -> int:
    columns = ", ".join(await columns_of(conn, table))
    done = await conn.copy_from_query(f"SELECT {columns} FROM {table} WHERE {condition}", wanted, output=write)
    return int(done.rpartition(" ")[2])


async def estimate(conn: RawConnection, move: OutgoingMove) -> int:
    """Return about how many rows an account has, for a progress bar: its messages and events."""
    return await conn.fetchval(  # type: ignore[no-any-return]
        "SELECT coalesce(sum(seq % $2), 0)::bigint * 3 FROM channel_heads WHERE channel_id = ANY ($1::uuid[])",
        list(move.channels),
        LOST_EVENTS,
    )


async def files_of(conn: RawConnection, move: OutgoingMove) -> list[tuple[UUID, UUID]]:
    """Return channel and id of the account's stored files."""
    rows = await conn.fetch(
        "SELECT channel_id, id FROM media WHERE channel_id = ANY ($1::uuid[]) AND state = 'ready' ORDER BY id",
        list(move.channels),
    )
    return [(row["channel_id"], row["id"]) for row in rows]


async def devices_of(conn: RawConnection, move: OutgoingMove) -> list[str]:
    """Return the linked devices of the account's channels."""
    rows = await conn.fetch(
        "SELECT device FROM channel_links WHERE channel_id = ANY ($1::uuid[]) AND device IS NOT NULL",
        list(move.channels),
    )
    return [row["device"] for row in rows]


async def emails_of(conn: RawConnection, account_id: UUID) -> list[str]:
    """Return the e-mail addresses of the account's users."""
    rows = await conn.fetch("SELECT email FROM users WHERE account_id = $1 ORDER BY email", account_id)
    return [row["email"] for row in rows]


# -- the switch --------------------------------------------------------------------------------------------------------


async def not_owned(conn: RawConnection, move: OutgoingMove, owner: UUID) -> list[UUID]:
    """Return the channels whose leases this owner does not have."""
    rows = await conn.fetch(
        """SELECT channel_id FROM channel_heads WHERE channel_id = ANY ($1::uuid[])
           AND (owner IS DISTINCT FROM $2 OR expires_at <= now()) ORDER BY channel_id""",
        list(move.channels),
        owner,
    )
    return [row["channel_id"] for row in rows]


async def fence(conn: RawConnection, move: OutgoingMove, owner: UUID) -> bool:
    """Take the heads of the channels away, so that no transaction can write. Return False if the channels changed.

    Every writer locks the head first and finds none. The caller owns the channels, so that nothing is being sent.
    """
    async with conn.transaction():
        heads = await conn.fetch(
            "SELECT owner, expires_at > now() AS valid FROM channel_heads WHERE channel_id = ANY ($1::uuid[]) "
            "ORDER BY channel_id FOR UPDATE",
            list(move.channels),
        )
        await conn.execute("SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE", move.account_id)  # no channel is added
        now = {row["id"] for row in await conn.fetch("SELECT id FROM channels WHERE account_id = $1", move.account_id)}
        if now - set(move.channels):
            return False
        if not all(head["owner"] == owner and head["valid"] for head in heads):
            raise Conflict("A process took a channel of this account back. Nothing was changed; try again.")
        await conn.execute(
            """WITH taken AS (DELETE FROM channel_heads WHERE channel_id = ANY ($2::uuid[]) RETURNING *)
               UPDATE account_moves SET state = 'fenced', changed_at = now(),
                      heads = (SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM taken t)
               WHERE account_id = $1""",
            move.account_id,
            list(move.channels),
        )
    return True


async def undo_fence(conn: RawConnection, move: OutgoingMove) -> None:
    """Give the heads of the channels back: the account goes on here."""
    async with conn.transaction():
        columns = await columns_of(conn, "channel_heads")
        values = ", ".join(f"h.{column}" for column in columns)
        await conn.execute(
            f"""INSERT INTO channel_heads ({", ".join(columns)}) SELECT {values} FROM account_moves m,
                      jsonb_populate_recordset(NULL::channel_heads, m.heads) h
               WHERE m.account_id = $1 AND m.state = 'fenced' AND h.channel_id IN (SELECT id FROM channels)""",
            move.account_id,
        )
        await conn.execute(
            """UPDATE channel_heads SET owner = NULL, expires_at = NULL, epoch = epoch + 1, work_at = now()
               WHERE channel_id = ANY ($1::uuid[])""",
            list(move.channels),
        )
        await conn.execute(
            """UPDATE account_moves SET state = 'streaming', heads = NULL, changed_at = now()
               WHERE account_id = $1 AND state = 'fenced'""",
            move.account_id,
        )


async def lock_decisive(conn: RawConnection, move: OutgoingMove) -> None:
    """Let nobody change the account, its users, keys, policies or endpoints until the end of the transaction."""
    for table in LOCKED:
        await conn.execute(f"SELECT 1 FROM {table} WHERE {DECISIVE[table]} FOR UPDATE", move.account_id)


async def remove_account(conn: RawConnection, move: OutgoingMove) -> None:
    """Delete the rows by which the account is found: it is in the other cell. Part of a transaction."""
    await set_state(conn, move, "moved")
    await conn.execute("DELETE FROM accounts WHERE id = $1", move.account_id)


async def running_before(conn: RawConnection) -> int:
    """Return the number of the next transaction."""
    return await conn.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")  # type: ignore[no-any-return]


async def all_ended(conn: RawConnection, before: int) -> bool:
    """Return whether all transactions before this number have ended."""
    return await conn.fetchval(  # type: ignore[no-any-return]
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= $1", before
    )
