"""The gateway's role in the embedded server: owner of its own database, and no superuser."""

import os
import pwd
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from gatepost.store.embedded import EmbeddedPostgres, admin_dsn, device_dsn
from gatepost.store.embedded.conf import SUPERUSER
from gatepost.store.migrate import migrate
from tests.conftest import scratch_folder

# How a version that knew only the superuser left a data folder, up to a table of each kind.
OLDER = """
ALTER DATABASE gatepost OWNER TO gatepost;
CREATE TABLE public.parted (id bigint GENERATED ALWAYS AS IDENTITY, at int) PARTITION BY RANGE (at);
CREATE TABLE public.parted_1 PARTITION OF public.parted FOR VALUES FROM (1) TO (2);
CREATE TABLE public.serial (id bigserial, x text);
CREATE SEQUENCE public.alone;
CREATE VIEW public.seen AS SELECT x FROM public.serial;
CREATE FUNCTION public.one() RETURNS int LANGUAGE sql RETURN 1;
CREATE TYPE public.mood AS ENUM ('good');
CREATE TABLE qr_devices.baileys_keys (device text);
ALTER SCHEMA qr_devices OWNER TO gatepost;
DROP OWNED BY gatepost_qr;
DROP ROLE gatepost_qr;
"""


@pytest.fixture
async def data(initdb_once: None) -> AsyncIterator[Path]:
    folder = scratch_folder()
    yield folder
    shutil.rmtree(folder)


async def rows(url: str, query: str) -> list[asyncpg.Record]:
    conn = await asyncpg.connect(url)
    try:
        return list(await conn.fetch(query))
    finally:
        await conn.close()


async def run(url: str, statements: str) -> None:
    conn = await asyncpg.connect(url)
    try:
        await conn.execute(statements)
    finally:
        await conn.close()


async def test_the_gateway_is_no_superuser_and_owns_what_it_uses(database_url: str) -> None:
    [role] = await rows(
        database_url,
        """SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
           FROM pg_roles WHERE rolname = current_user""",
    )
    # The server of the tests may replicate, for cells.
    assert tuple(role) == ("gatepost_gateway", False, False, False, True, False)
    others = await rows(
        database_url,
        """SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
             AND relowner <> current_user::regrole""",
    )
    assert others == []
    for statement in ("ALTER SYSTEM SET work_mem = '1MB'", "COPY (SELECT 1) TO PROGRAM 'true'", "CREATE ROLE x"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await run(database_url, statement)


async def test_a_folder_of_an_older_version_is_handed_over(data: Path) -> None:
    server = EmbeddedPostgres(data)
    url = await server.start()
    await run(admin_dsn(url), OLDER)
    await server.stop()
    try:
        url = await server.start()
        owned = await rows(
            url,
            f"SELECT relname FROM pg_class WHERE relowner = '{SUPERUSER}'::regrole AND relnamespace::regnamespace::text"
            " IN ('public', 'qr_devices')",
        )
        assert owned == []
        await migrate(url)
        await run(url, "ALTER TABLE parted ADD COLUMN y int; DROP TABLE parted_1; DROP FUNCTION one(); DROP TYPE mood")
        await run(url, "ALTER TABLE serial ADD COLUMN y int; DROP VIEW seen; DROP SEQUENCE alone")
        await run(device_dsn(url) or "", "ALTER TABLE qr_devices.baileys_keys ADD COLUMN y int")
    finally:
        await server.stop()


async def test_a_server_that_an_older_version_left_running_learns_the_roles(data: Path) -> None:
    server, second = EmbeddedPostgres(data), EmbeddedPostgres(data)
    url = await server.start()
    try:
        (data / "postgres" / "pg_ident.conf").write_text(f"gatepost {pwd.getpwuid(os.geteuid()).pw_name} {SUPERUSER}\n")
        await run(admin_dsn(url), "SELECT pg_reload_conf()")
        assert await rows(await second.start(), "SELECT 1")
    finally:
        await second.stop()
        await server.stop()


async def test_the_gateway_may_replicate_only_with_cells(data: Path) -> None:
    for logical in (False, True, False):
        server = EmbeddedPostgres(data, logical=logical)
        try:
            url = await server.start()
            [role] = await rows(url, "SELECT rolreplication FROM pg_roles WHERE rolname = current_user")
            assert role["rolreplication"] is logical
        finally:
            await server.stop()
