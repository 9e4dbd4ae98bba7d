"""The client after a fork."""

import sys
from pathlib import Path

from tests.client.test_docs import run
from tests.conftest import Receiver

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


async def test_a_client_that_was_made_before_a_fork_says_so(receiver: Receiver, tmp_path: Path) -> None:
    """Without its threads, which are in the other process, it would wait forever."""
    said = await run(sys.executable, "-W", "ignore", "-c", FORKING, receiver.url, folder=tmp_path)
    assert "made before the process was forked" in said
