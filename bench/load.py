"""Load generator: keep-alive connections that each send the next request as soon as the last one is answered.

It shares the machine with what it measures, so it does as little as possible: requests are prepared bytes, and only
the status and the length of a response are read. Runs in its own process: `python -m bench.load`.
"""

import argparse
import asyncio
import gc
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice
from typing import cast

import uvloop

from bench.processes import end_with_parent, say

PHONE = "PHONE"  # placeholder of the recipient in a body or a header
FIRST = 551190000000
RECIPIENTS = 10_000


def make_requests(
    port: int, path: str, keys: str, body: str, first: int, recipients: int, *, method: str = "POST", headers: str = ""
) -> list[bytes]:
    """Return one request per recipient. Several keys, separated by commas, alternate. Only a POST has a body."""
    body = body if method == "POST" else ""
    length = len(body.replace(PHONE, str(first)).encode())
    more = "".join(f"{name}: {value}\r\n" for name, value in json.loads(headers or "{}").items())
    start = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{more}"
    end = f"content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    heads = [start + (f"authorization: Bearer {key}\r\n" if key else "") + end for key in keys.split(",")]
    return [(heads[i % len(heads)] + body).replace(PHONE, str(first + i)).encode() for i in range(recipients)]


def answer_end(data: bytes) -> int:
    """Return where the first HTTP message in the bytes ends; 0 if it is incomplete."""
    head = data.find(b"\r\n\r\n")
    if head < 0:
        return 0
    whole = head + 4 + int(header(data[: head + 2], b"content-length") or 0)
    return whole if len(data) >= whole else 0


def header(head: bytes, name: bytes) -> bytes:
    """Return the value of a header, by its case-insensitive name; empty if there is none."""
    at = head.lower().find(b"\r\n" + name + b": ")
    return head[at + len(name) + 4 : head.index(b"\r\n", at + 2)] if at >= 0 else b""


def quantile(values: list[float], share: float) -> float:
    """Return the quantile of sorted values."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0


class Run:
    """One measurement: the responses within the measured time."""

    def __init__(self, rate: float = 0.0) -> None:
        self._rate = rate
        self._slots = 0
        self.counting = False
        self.latencies: list[float] = []
        self.failures = 0
        self.first_failure = ""
        self.open = 0
        self.done = asyncio.get_running_loop().create_future()
        self._began = self._cpu = 0.0

    def begin(self) -> None:
        self.counting = True
        self._began, self._cpu = time.perf_counter(), time.process_time()
        say("begin")

    def end(self) -> None:
        if not self.counting:
            return
        self.counting = False
        seconds, cpu = time.perf_counter() - self._began, time.process_time() - self._cpu
        ordered = sorted(self.latencies)
        say(
            "end",
            count=len(ordered),
            seconds=seconds,
            cpu=cpu,
            p50=quantile(ordered, 0.5),
            p99=quantile(ordered, 0.99),
            failures=self.failures,
            first_failure=self.first_failure,
        )
        self.done.set_result(None)

    def wait(self) -> float:
        """Return the seconds until the next request is due; 0 if there is no rate."""
        if not self._rate:
            return 0.0
        self._slots += 1
        return max(0.0, self._began + self._slots / self._rate - time.perf_counter())

    def failed(self, words: str) -> None:
        self.failures += 1
        self.first_failure = self.first_failure or words


class Connection(asyncio.Protocol):
    """A connection that sends requests without pause."""

    def __init__(self, run: Run, requests: Iterator[bytes]) -> None:
        self._run = run
        self._requests = requests
        self._held = b""
        self._asked = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class has no common ancestor
        self._run.open += 1
        self._ask()

    def data_received(self, data: bytes) -> None:
        if self._held:
            data = self._held + data
        end = answer_end(data)
        if not end:
            self._held = data
            return
        self._held = data[end:]
        if self._run.counting:
            self._run.latencies.append(time.perf_counter() - self._asked)
        if not data.startswith(b"HTTP/1.1 200"):
            self._run.failed(data[:400].decode(errors="replace"))
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._run.open -= 1
        if not self._run.open:
            self._run.end()

    def _ask(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
        elif wait := self._run.wait():
            asyncio.get_running_loop().call_later(wait, self._send, request)
        else:
            self._send(request)

    def _send(self, request: bytes) -> None:
        self._asked = time.perf_counter()
        self._transport.write(request)


async def drive(options: argparse.Namespace) -> None:
    """Send a number of requests, or send for a number of seconds after a warm-up."""
    made = make_requests(
        options.port,
        options.path,
        options.key,
        options.body,
        options.first,
        min(options.recipients, 100_000),
        method=options.method,
        headers=options.headers,
    )
    gc.freeze()
    gc.disable()
    run, shared = Run(options.rate), islice(cycle(made), options.requests or sys.maxsize)
    keys = len(options.key.split(","))
    loop = asyncio.get_running_loop()
    if options.requests:
        run.begin()
    else:
        loop.call_later(options.warm_up, run.begin)
        loop.call_later(options.warm_up + options.seconds, run.end)
    for number in range(options.connections):
        own = cycle(made[number % keys :: keys]) if options.own_keys else shared
        await loop.create_connection(partial(Connection, run, own), "127.0.0.1", options.port)
    await run.done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", default="/api/v1/message/send")
    parser.add_argument("--method", default="POST")
    parser.add_argument("--headers", default="", help="more headers, as a JSON object")
    parser.add_argument("--key", default="", help="an API key, or several, separated by commas, that take turns")
    parser.add_argument("--body", required=True, help=f"the JSON to send, with {PHONE} for the recipient")
    parser.add_argument("--own-keys", type=int, default=0, help="1: each connection uses one of the keys only")
    parser.add_argument("--first", type=int, default=FIRST)
    parser.add_argument("--recipients", type=int, default=RECIPIENTS)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.0, help="requests per second; 0: as fast as possible")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=0.5)
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(drive(parser.parse_args()))


if __name__ == "__main__":
    main()
