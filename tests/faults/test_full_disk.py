"""A full disk: the gateway says that it is not ready, and comes back when there is room again."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pyreqwest.client import ClientBuilder

from gatepost.store.embedded.postmaster import find_postmaster, shut_down
from tests.conftest import scratch_folder
from tests.faults.stage import SHORT, Node
from tests.patience import PATIENCE


@pytest.fixture
async def small_disk() -> AsyncIterator[Path]:
    """A file system of its own, with room for a database and little more."""
    folder = scratch_folder()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=0711", "tmpfs", folder], check=True)
    yield folder
    if (left := find_postmaster(folder / "postgres")) is not None:
        await shut_down(left, 10)
    subprocess.run(["umount", folder], check=True)
    folder.rmdir()


def fill(folder: Path) -> Path:
    """Takes all the room that is left."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 12))
        except OSError:
            return filler


async def test_no_room_is_not_ready(small_disk: Path, tmp_path: Path) -> None:
    node = Node(SHORT | {"data": str(small_disk)}, "api", None, tmp_path / "node.log")
    try:
        await node.ready()
        await watch_room(node, small_disk)
        assert await node.stop() == 0
    finally:
        await node.kill()


async def watch_room(node: Node, disk: Path) -> None:
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
