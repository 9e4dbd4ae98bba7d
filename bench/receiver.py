"""A customer's endpoint: answers 200 to everything and counts the webhook ids, each once.

Runs in a process of its own: `python -m bench.receiver`.
"""

import asyncio
import gc
import time
from typing import cast

import uvloop

from bench.load import answer_end, header
from bench.processes import end_with_parent, say

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_TELL_EVERY = 0.1


class Tally:
    """What has come so far."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.requests = 0
        self.last = 0.0

    def count(self, request: bytes) -> None:
        self.requests += 1
        self.last = time.time()
        webhook_id = header(request, b"webhook-id")
        if webhook_id:
            self.seen.add(webhook_id)


class Door(asyncio.Protocol):
    """One connection of a sender."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class has no common ancestor

    def data_received(self, data: bytes) -> None:
        data = self._held + data if self._held else data
        while end := answer_end(data):
            self._tally.count(data[:end])
            self._transport.write(_ANSWER)
            data = data[end:]
        self._held = data


async def receive() -> None:
    """Answers until the bench ends us, and tells of every change."""
    tally = Tally()
    server = await asyncio.get_running_loop().create_server(lambda: Door(tally), "127.0.0.1", 0)
    gc.freeze()
    gc.disable()
    say("ready", port=server.sockets[0].getsockname()[1])
    told = 0
    while True:
        await asyncio.sleep(_TELL_EVERY)
        if tally.requests != told:
            told = tally.requests
            say("count", requests=tally.requests, distinct=len(tally.seen), last=tally.last)


def main() -> None:
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(receive())


if __name__ == "__main__":
    main()
