"""A webhook receiver: responds 200 to everything, and counts distinct webhook ids and the events in them.

With `--certificate` it uses TLS. With `--lag` it also reports how long after its event each POST arrived: the id of an
event begins with its time in milliseconds. With `--silent` it accepts connections and never responds. Runs in its own
process: `python -m bench.receiver`.
"""

import argparse
import asyncio
import gc
import ssl
import time
from typing import cast

import uvloop

from bench.load import answer_end, header
from bench.processes import end_with_parent, say

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_REPORT_EVERY = 0.1
_LAGS = 4000  # per line, which has a maximum length


class Tally:
    """Counts what has arrived."""

    def __init__(self, *, timed: bool = False) -> None:
        self.seen: set[bytes] = set()
        self.requests = 0
        self.events = 0
        self.last = 0.0
        self.lags: list[int] = []
        self._timed = timed

    def count(self, request: bytes) -> None:
        self.requests += 1
        self.last = time.time()
        webhook_id = header(request, b"webhook-id")
        if webhook_id:
            self.seen.add(webhook_id)
            self.events += request.count(b'"sequence":')
            if self._timed and webhook_id.startswith(b"evt_"):
                self.lags.append(max(0, round(self.last * 1000) - int(webhook_id[4:16], 16)))

    def take_lags(self) -> list[int]:
        """Return lags, in milliseconds, that were not reported yet."""
        some, self.lags = self.lags[:_LAGS], self.lags[_LAGS:]
        return some


class ReceiverConnection(asyncio.Protocol):
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


async def receive(options: argparse.Namespace) -> None:
    """Respond until the benchmark ends this process, and report every change."""
    tally = Tally(timed=options.lag)
    protocol = asyncio.Protocol if options.silent else lambda: ReceiverConnection(tally)
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=_context(options.certificate))
    gc.freeze()
    gc.disable()
    say("ready", port=server.sockets[0].getsockname()[1])
    reported = 0
    while True:
        await asyncio.sleep(_REPORT_EVERY)
        if tally.requests != reported or tally.lags:
            reported = tally.requests
            found = {"requests": tally.requests, "events": tally.events, "distinct": len(tally.seen)}
            say("count", **found, last=tally.last, lags=tally.take_lags())


def _context(certificate: str | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--certificate")
    parser.add_argument("--lag", action="store_true")
    parser.add_argument("--silent", action="store_true")
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(receive(parser.parse_args()))


if __name__ == "__main__":
    main()
