"""The process that links phones reaches its own tables, and no others."""

import shutil
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg
import pytest

from gatepost.store.devices import device_address, with_user
from gatepost.store.embedded import EmbeddedPostgres, admin_dsn, device_dsn
from gatepost.store.migrate import migrate
from tests.conftest import scratch_folder

CLOSED = ["messages", "api_keys", "channels", "endpoints", "key_check", "schema_migrations", "events"]
# Passwords for roles of linked devices, and nobody else is asked anything: a server of somebody else's.
HBA = "local all shop_qr scram-sha-256\nlocal all all trust\n"


@pytest.fixture
async def foreign() -> AsyncIterator[str]:
    """Give the superuser's address of a server that asks for passwords."""
    data = scratch_folder()
    server = EmbeddedPostgres(data)
    await server.start()
    await server.stop()
    hba = data / "postgres" / "foreign_hba.conf"
    hba.write_text(HBA)
    hba.chmod(0o644)
    custom = data / "postgres" / "custom.conf"
    custom.write_text(f"hba_file = '{hba}'\n")
    custom.chmod(0o644)
    try:
        yield admin_dsn(await server.start())
    finally:
        await server.stop()
        shutil.rmtree(data)


async def run(url: str, *statements: str) -> None:
    conn = await asyncpg.connect(url)
    try:
        for statement in statements:
            await conn.execute(statement)
    finally:
        await conn.close()


async def make_database(foreign: str, attributes: str) -> str:
    """A database with an owner of its own, as an operator would make it; returns the owner's address."""
    await run(foreign, f"CREATE ROLE shop LOGIN {attributes}", "CREATE DATABASE shop OWNER shop")
    url = foreign.replace("//gatepost@/gatepost", "//shop@/shop")
    await migrate(url)
    return url


async def check_limits(url: str) -> None:
    """It has its schema, and every other door is closed."""
    await run(url, "CREATE TABLE qr_devices.mine (x int)", "INSERT INTO qr_devices.mine VALUES (1)")
    for table in CLOSED:
        for statement in (f"SELECT 1 FROM {table}", f"DELETE FROM {table}"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await run(url, statement)
    for statement in ("CREATE TABLE public.theirs (x int)", "CREATE SCHEMA theirs", "CREATE ROLE theirs"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await run(url, statement)


async def check_half_of_the_connections(url: str) -> None:
    """Links that cannot reach their network open many, and must leave some for the gateway."""
    conn = await asyncpg.connect(url)
    try:
        limit = await conn.fetchval("SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user")
        assert limit == int(await conn.fetchval("SHOW max_connections")) // 2
    finally:
        await conn.close()


async def test_the_embedded_role_has_its_schema_only(database_url: str) -> None:
    await run(database_url, "CREATE TABLE qr_devices.older (x int)")
    address = await device_address(database_url, b"x" * 32)
    assert address == device_dsn(database_url)
    await run(address, "ALTER TABLE qr_devices.older ADD COLUMN y int")
    await check_limits(address)
    await check_half_of_the_connections(address)
    await run(database_url, "DELETE FROM qr_devices.mine")  # the gateway reaches both


async def test_a_role_is_made_where_the_gateway_may_make_roles(foreign: str) -> None:
    url = await make_database(foreign, "CREATEROLE")
    await run(url, "CREATE TABLE qr_devices.older (x int)")
    address = await device_address(url, b"x" * 32)
    assert urlsplit(address).username == "shop_qr"
    await check_limits(address)
    await check_half_of_the_connections(address)
    await run(url, "DELETE FROM qr_devices.mine")
    assert await device_address(url, b"x" * 32) == address  # another node with the same key
    with pytest.raises(asyncpg.InvalidPasswordError):
        await run(with_user(address, "shop_qr", "guess"), "SELECT 1")


async def test_without_that_right_the_gateways_role_is_used(foreign: str, caplog: pytest.LogCaptureFixture) -> None:
    url = await make_database(foreign, "NOCREATEROLE")
    assert await device_address(url, b"x" * 32) == url
    await run(url, "CREATE TABLE qr_devices.mine (x int)")


def test_an_address_keeps_all_but_its_user() -> None:
    given = "postgresql://a:b@db1:5432,db2/shop?sslmode=require&user=a&password=b"
    assert with_user(given, "shop_qr", "p/w") == "postgresql://shop_qr:p%2Fw@db1:5432,db2/shop?sslmode=require"
    assert with_user("postgresql:///shop?host=/run", "q", "p") == "postgresql://q:p@/shop?host=%2Frun"
