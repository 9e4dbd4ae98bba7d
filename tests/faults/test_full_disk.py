"""On a full disk the gateway is not ready. When there is space again, it is."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from pyreqwest.client import ClientBuilder

from gatepost.model.errors import Unavailable
from gatepost.store.checks import check_writes
from gatepost.store.embedded.postmaster import find_postmaster, shut_down
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, administer, copied_database, scratch_folder
from tests.faults.stage import SHORT, Node
from tests.patience import PATIENCE


@contextmanager
def mounted(options: str) -> Iterator[Path]:
    """Mount a file system in memory with these options."""
    folder = scratch_folder()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


@pytest.fixture
async def small_disk() -> AsyncIterator[Path]:
    """Yield a file system that is little larger than a new database."""
    with mounted("size=160m,mode=0711") as folder:
        yield folder
        if (left := find_postmaster(folder / "postgres")) is not None:
            await shut_down(left, 10)


def fill(folder: Path) -> Path:
    """Use all the space that is left."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 12))
        except OSError:
            return filler


async def test_a_gateway_on_a_full_disk_is_not_ready(small_disk: Path, tmp_path: Path) -> None:
    node = Node(SHORT | {"data": str(small_disk)}, "api", None, tmp_path / "node.log")
    try:
        await node.ready()
        await check_readiness(node, small_disk)
        assert await node.stop() == 0
    finally:
        await node.kill()


async def check_readiness(node: Node, disk: Path) -> None:
    async with ClientBuilder().no_proxy().build() as client:

        async def until(status: int) -> dict[str, object]:
            async with asyncio.timeout(PATIENCE):
                while (answer := await client.get(f"{node.url}/readyz").build().send()).status != status:
                    await asyncio.sleep(0.1)
            body: dict[str, object] = await answer.json()
            return body

        await until(200)
        filler = fill(disk)
        body = await until(503)
        assert body["success"] is False
        assert isinstance(body["data"], dict)
        assert body["data"]["writes"] is False
        filler.unlink()
        await until(200)


async def test_a_disk_on_which_no_file_can_grow_accepts_no_writes(postgres_server: PostgresServer) -> None:
    """The disk of the check's temporary table is nearly full. The row of the check needs no more space."""
    owner = (postgres_server.data / "postgres").stat()
    with mounted(f"size=16k,mode=0700,uid={owner.st_uid},gid={owner.st_gid}") as disk:
        await administer(postgres_server, f"CREATE TABLESPACE nearly_full LOCATION '{disk}'")
        await administer(postgres_server, "GRANT CREATE ON TABLESPACE nearly_full TO PUBLIC")
        async with copied_database(postgres_server, "gatepost") as url:
            name = urlsplit(url).path[1:]
            await administer(postgres_server, f"ALTER DATABASE {name} SET temp_tablespaces = nearly_full")
            db = await Database.connect(url, connections=1)
            with pytest.raises(Unavailable) as refused:
                await check_writes(db)
            assert isinstance(refused.value.__cause__, asyncpg.DiskFullError)
            await db.close()
        await administer(postgres_server, "DROP TABLESPACE nearly_full")
