"""An account that comes into this database from another cell.

copying   rows arrive without their channels, so that no process looks at them
copied    the changes since the copy follow; `position` is written in the commit that applies them
arrived   the account is here: the commit that writes its channels, keys and users decides
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from gatepost.model.errors import Conflict
from gatepost.store.backup.table_data import connect_for_copy
from gatepost.store.moves.change_stream import UNCHANGED, Gathered, Relation, RowState
from gatepost.store.moves.departure import OutgoingMove, lsn_text
from gatepost.store.moves.tables import RawConnection, columns_of

# A batch of changes is joined by keys, whatever the statistics say (`pool.py`).
_PLANS = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off"


class IncomingMove(msgspec.Struct, frozen=True):
    """A move as the new cell knows it."""

    state: str
    snapshot: str | None
    position: int


async def open_target(dsn: str) -> RawConnection:
    """Return a connection for copies and changes."""
    conn = await connect_for_copy(dsn)
    await conn.execute(_PLANS)
    return conn


async def find_incoming(conn: RawConnection, account_id: UUID) -> IncomingMove | None:
    """Return the move of an account that comes into this database."""
    row = await conn.fetchrow(
        """SELECT state, snapshot, coalesce(position - '0/0'::pg_lsn, 0)::bigint AS position FROM account_moves
           WHERE account_id = $1 AND direction = 'in'""",
        account_id,
    )
    return IncomingMove(**row) if row else None


async def begin_incoming(conn: RawConnection, move: OutgoingMove, source: str) -> None:
    """Begin to take an account. Raise Conflict if something of it is here already."""
    async with conn.transaction():
        await check_absent(conn, move)
        await conn.execute(
            """INSERT INTO account_moves (account_id, direction, cell, state, channels)
               VALUES ($1, 'in', $2, 'copying', $3)
               ON CONFLICT (account_id) DO UPDATE SET state = 'copying', channels = excluded.channels,
                   snapshot = NULL, position = NULL, changed_at = now()""",
            move.account_id,
            source,
            list(move.channels),
        )


async def check_absent(conn: RawConnection, move: OutgoingMove) -> None:
    """Raise Conflict if the account is here: the row of the move may be older, from a backup of the other cell."""
    if await conn.fetchval("SELECT 1 FROM accounts WHERE id = $1", move.account_id):
        raise Conflict(f"The cell {move.cell} has this account already.")


async def note_copied(conn: RawConnection, account_id: UUID, snapshot: str) -> None:
    """Write that all rows of a snapshot are here."""
    await conn.execute(
        "UPDATE account_moves SET state = 'copied', snapshot = $2, changed_at = now() WHERE account_id = $1",
        account_id,
        snapshot,
    )


async def emails_taken(conn: RawConnection, emails: Sequence[str]) -> list[str]:
    """Return those of the e-mail addresses that users here have."""
    rows = await conn.fetch(
        "SELECT email FROM users WHERE lower(email) = ANY (SELECT lower(one) FROM unnest($1::text[]) one)", list(emails)
    )
    return [row["email"] for row in rows]


async def has_owner(conn: RawConnection) -> bool:
    """Return whether a process works on the channels of this database."""
    return await conn.fetchval("SELECT EXISTS (SELECT FROM channel_owners WHERE expires_at > now())")  # type: ignore[no-any-return]


async def write_rows(conn: RawConnection, table: str, columns: Sequence[str], pieces: AsyncIterable[bytes]) -> int:
    """Write rows that are given as text. Return how many."""
    done = await conn.copy_to_table(table, columns=columns, source=pieces, format="text")
    return int(done.rpartition(" ")[2])


# -- changes -----------------------------------------------------------------------------------------------------------


_OF_BOTH = ("refused_requests",)  # tables that both cells write for a while; a row of the new cell has precedence


async def apply_changes(conn: RawConnection, account_id: UUID, gathered: Iterable[Gathered], position: int) -> None:
    """Bring rows to their last state, and write how far that is, in one commit."""
    async with conn.transaction():
        for one in gathered:
            await _apply(conn, one)
        await conn.execute(
            "UPDATE account_moves SET position = $2::text::pg_lsn, changed_at = now() WHERE account_id = $1",
            account_id,
            lsn_text(position),
        )


async def _apply(conn: RawConnection, gathered: Gathered) -> None:
    """Replace the rows of one table. All are deleted first: one may get a unique value that another one had."""
    relation = gathered.relation
    name, temporary = relation.name, f"changed_{relation.name}"
    keys = [relation.columns[place] for place in relation.key]
    origins = ", ".join(f"{key} AS from_{key}" for key in keys)
    await conn.execute(
        f"CREATE TEMP TABLE IF NOT EXISTS {temporary} ON COMMIT DELETE ROWS AS "
        f"SELECT *, 0 AS part, {origins} FROM {name} WITH NO DATA"
    )
    for part, (missing, rows) in enumerate(_by_missing(gathered).items()):
        columns = [column for column in relation.columns if column not in missing]
        targets = [*columns, "part", *(f"from_{key}" for key in keys)]
        source = _once(_copy_text(relation, rows, missing, part))
        await conn.copy_to_table(temporary, columns=targets, source=source, format="text", schema_name="pg_temp")
        if missing:
            values = ", ".join(f"{column} = old.{column}" for column in missing)
            same = " AND ".join(f"old.{key} = c.from_{key}" for key in keys)
            await conn.execute(f"UPDATE {temporary} c SET {values} FROM {name} old WHERE {same} AND c.part = {part}")
    gone = [key for key, state in gathered.rows.items() if state is None]
    if gone:
        lines = b"".join(b"\t".join([*map(_escaped, key), b"-1"]) + b"\n" for key in gone)
        await conn.copy_to_table(
            temporary, columns=[*keys, "part"], source=_once(lines), format="text", schema_name="pg_temp"
        )
    same = " AND ".join(f"old.{key} = c.{key}" for key in keys)
    await conn.execute(f"DELETE FROM {name} old USING {temporary} c WHERE {same}")
    columns_text = ", ".join(relation.columns)
    await conn.execute(
        f"INSERT INTO {name} ({columns_text}) SELECT {columns_text} FROM {temporary} WHERE part >= 0"
        f"{' ON CONFLICT DO NOTHING' if name in _OF_BOTH else ''}"
    )


def _by_missing(gathered: Gathered) -> dict[tuple[str, ...], list[RowState]]:
    """Return the rows that exist, by the columns whose values are not known."""
    found: dict[tuple[str, ...], list[RowState]] = {}
    for state in gathered.rows.values():
        if state is not None:
            pairs = zip(gathered.relation.columns, state.row, strict=True)
            found.setdefault(tuple(name for name, value in pairs if value is UNCHANGED), []).append(state)
    return found


def _copy_text(relation: Relation, rows: Iterable[RowState], missing: Sequence[str], part: int) -> bytes:
    kept = [place for place, column in enumerate(relation.columns) if column not in missing]
    lines = []
    for state in rows:
        values = [_escaped(state.row[place]) for place in kept]
        lines.append(b"\t".join([*values, b"%d" % part, *map(_escaped, state.origin)]))
    return b"\n".join(lines) + b"\n"


def _escaped(value: Any) -> bytes:
    """Return a value in the text format of COPY."""
    if value is None:
        return b"\\N"
    text: bytes = value
    return text.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n").replace(b"\r", b"\\r")


async def _once(piece: bytes) -> AsyncIterator[bytes]:
    yield piece


# -- the switch --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def arriving(conn: RawConnection, cell: str) -> AsyncIterator[None]:
    """The transaction by which an account arrives."""
    try:
        async with conn.transaction():
            yield
    except asyncpg.UniqueViolationError as error:
        raise Conflict(
            f"The cell {cell} has a record that only one account can have ({error.constraint_name}). The account stays "
            "where it is."
        ) from None


async def write_heads(conn: RawConnection, account_id: UUID, heads: str) -> None:
    """Write the heads of the channels that arrived, without owners, and note the arrival."""
    columns = ", ".join(await columns_of(conn, "channel_heads"))
    await conn.execute(
        f"""INSERT INTO channel_heads ({columns})
           SELECT {columns} FROM jsonb_populate_recordset(NULL::channel_heads, $1::jsonb) h
           WHERE h.channel_id IN (SELECT id FROM channels WHERE account_id = $2)""",
        heads,
        account_id,
    )
    await conn.execute(
        """UPDATE channel_heads SET owner = NULL, expires_at = NULL, epoch = epoch + 1, work_at = now()
           WHERE channel_id IN (SELECT id FROM channels WHERE account_id = $1)""",
        account_id,
    )
    await conn.execute(
        "UPDATE account_moves SET state = 'arrived', changed_at = now() WHERE account_id = $1", account_id
    )
