"""Migrations: once whatever the crowd, whole or not at all, and never backwards."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from structlog.testing import capture_logs

from gatepost.store import migrate as migrations
from gatepost.store.migrate import (
    DatabaseTooNew,
    MigrationFailed,
    ServerTooOld,
    check,
    check_server,
    migrate,
    read_migrations,
    shipped,
)
from tests.patience import PATIENCE


def write(folder: Path, **sql: str) -> Path:
    for name, text in sql.items():
        (folder / f"{name.removeprefix('m')}.sql").write_text(text)
    return folder


async def fetch(url: str, query: str) -> list[tuple[object, ...]]:
    conn = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await conn.fetch(query)]
    finally:
        await conn.close()


async def test_files_are_applied_in_order_and_recorded(empty_database_url: str, tmp_path: Path) -> None:
    source = write(tmp_path, m0002_more="ALTER TABLE a ADD y int", m0001_first="CREATE TABLE a (x int); SELECT 1;")
    assert await migrate(empty_database_url, source) == 2
    rows = await fetch(
        empty_database_url, "SELECT version, name, applied_at <= now() FROM schema_migrations ORDER BY 1"
    )
    assert rows == [(1, "first", True), (2, "more", True)]
    assert await fetch(empty_database_url, "SELECT x, y FROM a") == []


async def test_a_second_run_finds_nothing_to_do_and_a_later_file_is_added(
    empty_database_url: str, tmp_path: Path
) -> None:
    source = write(tmp_path, m0001_first="CREATE TABLE a (x int)")
    assert [await migrate(empty_database_url, source) for _ in range(2)] == [1, 0]
    write(tmp_path, m0002_more="CREATE TABLE b (x int)")
    assert await migrate(empty_database_url, source) == 1


async def test_eight_nodes_at_once_apply_each_file_once(empty_database_url: str, tmp_path: Path) -> None:
    slow = "SELECT pg_sleep(0.05); CREATE TABLE a (x int); INSERT INTO a VALUES (1)"
    source = write(tmp_path, m0001_first=slow, m0002_more="INSERT INTO a VALUES (2)")
    counts = await asyncio.gather(*(migrate(empty_database_url, source) for _ in range(8)))
    assert sorted(counts) == [0, 0, 0, 0, 0, 0, 0, 2]
    assert await fetch(empty_database_url, "SELECT x FROM a ORDER BY x") == [(1,), (2,)]


async def test_a_newer_database_is_refused_with_both_versions(empty_database_url: str, tmp_path: Path) -> None:
    source = write(tmp_path, m0001_first="SELECT 1", m0007_later="SELECT 1")
    await migrate(empty_database_url, source)
    (tmp_path / "0007_later.sql").unlink()
    write(tmp_path, m0003_third="CREATE TABLE never (x int)")
    with pytest.raises(DatabaseTooNew, match=r"at version 7, .* up to 3: .* Upgrade this Gatepost"):
        await migrate(empty_database_url, source)
    assert await fetch(empty_database_url, "SELECT to_regclass('never')::text") == [(None,)]


@pytest.mark.parametrize(("oldest", "starts"), [(2, True), (3, True), (4, False)])
async def test_a_newer_database_says_which_programs_can_use_it(
    empty_database_url: str, tmp_path: Path, oldest: int, starts: bool
) -> None:
    level = f"CREATE TABLE oldest_program (level int NOT NULL); INSERT INTO oldest_program VALUES ({oldest})"
    source = write(tmp_path, m0003_third=level, m0007_later="SELECT 1")
    await migrate(empty_database_url, source)
    (tmp_path / "0007_later.sql").unlink()
    conn = await asyncpg.connect(empty_database_url)
    try:
        if starts:
            with capture_logs() as logs:
                assert await migrate(empty_database_url, source) == 0
            [line] = logs
            assert (line["event"], line["database"], line["known"]) == (
                "the database was migrated by a newer version",
                7,
                3,
            )
            state = await check(conn, source)
            assert (state.newer, state.version, state.known, state.pending) == (True, 7, 3, ())
        else:
            with pytest.raises(DatabaseTooNew):
                await migrate(empty_database_url, source)
            with pytest.raises(DatabaseTooNew):
                await check(conn, source)
    finally:
        await conn.close()


async def test_a_failing_file_leaves_nothing_and_says_where(empty_database_url: str, tmp_path: Path) -> None:
    broken = "CREATE TABLE b (x int);\n\nINSERT INTO nowhere VALUES (1);"
    source = write(tmp_path, m0001_first="CREATE TABLE a (x int)", m0002_broken=broken, m0003_after="SELECT 1")
    with pytest.raises(MigrationFailed, match=r'0002_broken failed at line 3: relation "nowhere" does not exist'):
        await migrate(empty_database_url, source)
    state = "SELECT to_regclass('a')::text, to_regclass('b')::text, (SELECT max(version) FROM schema_migrations)"
    assert await fetch(empty_database_url, state) == [("a", None, 1)]
    write(tmp_path, m0002_broken="CREATE TABLE b (x int)")
    assert await migrate(empty_database_url, source) == 2


async def test_the_lock_ends_with_a_failed_run(empty_database_url: str, tmp_path: Path) -> None:
    source = write(tmp_path, m0001_broken="SELEC 1")
    with pytest.raises(MigrationFailed):
        await migrate(empty_database_url, source)
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    async with asyncio.timeout(PATIENCE):
        while await fetch(empty_database_url, locks) != [(0,)]:
            await asyncio.sleep(0.01)


async def test_a_start_that_waits_for_the_lock_reports_who_holds_it(
    empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "REPORT_EVERY", 2 * migrations.LOCK_POLL)
    holder = await asyncpg.connect(empty_database_url, server_settings={"application_name": "left behind"})
    await holder.execute("SELECT pg_advisory_lock($1)", migrations.LOCK_KEY)
    with capture_logs() as logs:
        running = asyncio.create_task(migrate(empty_database_url, write(tmp_path, m0001_first="SELECT 1")))
        async with asyncio.timeout(PATIENCE):
            while not logs:
                await asyncio.sleep(0.01)
        line = logs[0]
        assert (line["event"], line["log_level"]) == ("waiting for the lock of migrations", "warning")
        assert (line["pid"], line["application"]) == (holder.get_server_pid(), "left behind")
        assert "pg_terminate_backend" in line["fix"]
        assert not running.done()
        await holder.close()
        assert await asyncio.wait_for(running, PATIENCE) == 1


async def test_others_do_not_wait_behind_a_migration_that_waits_for_a_lock(
    empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as during a dump of the database, which reads all tables for hours."""
    monkeypatch.setattr(migrations, "LOCKED_PAUSE", 0.1)
    source = write(tmp_path, m0001_first="CREATE TABLE a (x int)")
    await migrate(empty_database_url, source)
    write(tmp_path, m0002_more="ALTER TABLE a ADD y int")
    dump = await asyncpg.connect(empty_database_url)
    try:
        with capture_logs() as logs:
            async with dump.transaction():
                await dump.execute("LOCK TABLE a IN ACCESS SHARE MODE")
                running = asyncio.create_task(migrate(empty_database_url, source))
                async with asyncio.timeout(PATIENCE):
                    while not any(line["event"] == "migration waits for a lock" for line in logs):
                        await asyncio.sleep(0.01)
                    assert await fetch(empty_database_url, "SELECT x FROM a") == []
            assert await running == 1
    finally:
        await dump.close()


async def test_a_long_migration_is_not_limited_by_the_role(empty_database_url: str, tmp_path: Path) -> None:
    name = urlsplit(empty_database_url).path.removeprefix("/")
    await fetch(empty_database_url, f'ALTER DATABASE "{name}" SET statement_timeout = 50')
    assert await migrate(empty_database_url, write(tmp_path, m0001_first="SELECT pg_sleep(0.2)")) == 1


async def test_check_lists_what_is_pending_and_changes_nothing(empty_database_url: str, tmp_path: Path) -> None:
    source = write(tmp_path, m0001_first="SELECT 1", m0002_more="SELECT 1")
    conn = await asyncpg.connect(empty_database_url)
    try:
        before = await check(conn, source)
        assert (before.version, before.known, before.pending) == (0, 2, ("0001_first", "0002_more"))
        assert await conn.fetchval("SELECT to_regclass('schema_migrations')") is None
        await migrate(empty_database_url, source)
        assert (await check(conn, source)).pending == ()
    finally:
        await conn.close()


async def test_what_ships_is_applied_already_in_the_tests_database(database_url: str) -> None:
    assert await migrate(database_url) == 0
    rows = await fetch(database_url, "SELECT version FROM schema_migrations ORDER BY version")
    assert rows == [(migration.version,) for migration in read_migrations(shipped())]


@pytest.mark.parametrize("major", [9, 14])
def test_an_old_server_is_refused(major: int) -> None:
    with pytest.raises(ServerTooOld, match=rf"PostgreSQL {major}\.3; Gatepost needs 15 or newer"):
        check_server(major, f"{major}.3")


def test_a_server_of_fifteen_or_newer_is_welcome() -> None:
    def is_refused(major: int) -> bool:
        try:
            check_server(major, f"{major}.0")
        except ServerTooOld:
            return True
        return False

    assert [major for major in (13, 14, 15, 16, 30) if is_refused(major)] == [13, 14]


def test_a_misnamed_file_and_a_doubled_number_are_refused(tmp_path: Path) -> None:
    write(tmp_path, m0001_first="SELECT 1", m0001_other="SELECT 1")
    with pytest.raises(ValueError, match="share a number"):
        read_migrations(tmp_path)
    write(tmp_path, mfirst="SELECT 1")
    with pytest.raises(ValueError, match=r"not first\.sql"):
        read_migrations(tmp_path)
