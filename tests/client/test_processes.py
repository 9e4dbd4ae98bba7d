"""The client in a program: at its end, and after a fork."""

import asyncio
import sys
from pathlib import Path

from tests.client.test_docs import run
from tests.conftest import Answer, Receiver

AWAITING = """
import asyncio, sys
from gatepost_client import AsyncGatepost

async def main():
    async with AsyncGatepost(sys.argv[1], "gpk_x") as gp:
        print(await gp.labels())

asyncio.run(main())
"""
FORKING = """
import os, sys
from gatepost_client import Gatepost

gp = Gatepost(sys.argv[1], "gpk_x", timeout=5)
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    try:
        gp.labels()
    except RuntimeError as error:
        print(error, flush=True)
        os._exit(0)
"""


async def test_a_short_program_ends_without_an_error(receiver: Receiver, tmp_path: Path) -> None:
    """A program that has sent its messages and then seems to have failed is run again."""
    receiver.answer = Answer(body=b'{"success": true, "data": []}')
    runs = (run(sys.executable, "-c", AWAITING, receiver.url, folder=tmp_path) for _ in range(4))
    assert await asyncio.gather(*runs) == ["[]\n"] * 4


async def test_a_client_that_was_made_before_a_fork_says_so(receiver: Receiver, tmp_path: Path) -> None:
    """Without its threads, which are in the other process, it would wait forever."""
    said = await run(sys.executable, "-W", "ignore", "-c", FORKING, receiver.url, folder=tmp_path)
    assert "made before the process was forked" in said
