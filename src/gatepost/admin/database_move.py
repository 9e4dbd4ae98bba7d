"""Moves a database to another server: read in one snapshot, written in one transaction, without a file between."""

from datetime import UTC, datetime
from functools import partial

import msgspec

from gatepost.admin.row_pipe import pipe_rows
from gatepost.model.errors import Conflict
from gatepost.store.backup.archive import Progress
from gatepost.store.backup.load import check_alone, check_other, keep_unused, open_load
from gatepost.store.backup.snapshot import open_snapshot
from gatepost.store.migrate import mark_moved


class MovedDatabase(msgspec.Struct, frozen=True):
    """What was moved."""

    tables: int
    rows: int
    migration: int


async def move_database(
    source: str, target: str, *, replace: bool, progress: Progress, mark: str | None = None
) -> MovedDatabase:
    """Copy everything to another database, and compare the numbers of rows. Messages that wait are sent from there.

    With `mark`, the target as it may be shown, no gateway uses the source by mistake afterwards.
    """
    await check_other(source, target)
    async with open_snapshot(source, keep_unused) as snapshot:
        content = snapshot.content
        if not content.migrations:
            raise Conflict("The database is empty: there is nothing to move.")
        total, done, rows = sum(table.size for table in content.tables), 0, 0
        async with open_load(target, content, replace=replace) as load:
            await load.prepare()
            for table in content.tables:
                rows += await pipe_rows(table.name, partial(snapshot.copy, table), partial(load.copy, table))
                done += table.size
                progress("Database", done, total)
            await load.finish(None)
            await snapshot.check(check_alone)
        if mark is not None:
            await mark_moved(source, mark, datetime.now(UTC))
    return MovedDatabase(len(content.tables), rows, content.level)
