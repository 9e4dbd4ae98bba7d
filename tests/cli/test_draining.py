"""A gateway that is told to stop: open streams end with it, and it does not wait for their readers to leave."""

import asyncio
import os
import re
import signal
import socket
import sys
from pathlib import Path

from tests.cli.conftest import Run
from tests.patience import PATIENCE


async def test_open_streams_do_not_hold_up_the_end(run: Run, channel: str, database_url: str, tmp_path: Path) -> None:
    key = await asyncio.to_thread(lambda: run("key", "create", channel, "test", "--json").json()["key"])
    places = ("--database-url", database_url, "--data", str(tmp_path), "--port", "0", "--role", "api")
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gatepost.cli", "serve", *places),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "GATEPOST_SERVER__DRAIN_SECONDS": "600", "NO_COLOR": "1"},
    )
    try:
        assert program.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while not (found := re.search(rb"http://127\.0\.0\.1:([0-9]+)", await program.stdout.readline())):
                pass
        reader, writer = await asyncio.open_connection("127.0.0.1", int(found.group(1)), family=socket.AF_INET)
        head = f"GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
        writer.write(head.encode())
        assert b"retry: 2000" in await asyncio.wait_for(reader.readuntil(b"\n\n"), PATIENCE)
        program.send_signal(signal.SIGTERM)
        rest = await asyncio.wait_for(reader.read(), PATIENCE)
        assert rest.endswith(b"0\r\n\r\n")  # a clean end, not a cut
        assert await asyncio.wait_for(program.wait(), PATIENCE) == 0
        writer.close()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
