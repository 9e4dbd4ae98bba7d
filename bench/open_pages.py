"""Open pages of the inbox without a browser: the stream of each, and the requests that it makes.

    stream ─► an event makes channels out of date ─► asked again, not more often than the page does
    timers ─► presence and counts

The intervals are those of `dashboard/src/shared/live/` and `dashboard/src/pages/inbox/`. Each page has its own session
and an open conversation. The conversations of the events are taken as loaded: the page counts them itself. Of one that
is not loaded a real page asks for the list and the counts too, which is not part of the figures. Runs in its own
process: `python -m bench.open_pages`.
"""

import argparse
import asyncio
import random
import re
import time

import msgspec
import uvloop

from bench.load import header, quantile
from bench.processes import end_with_parent, say
from gatepost.model.session import csrf_token

POLLED = {"presence": 60.0, "counts": 60.0}  # seconds between two requests
PACE = {"channels": 30.0}  # seconds between two requests that events cause, and up to 30 % more
_SETTLE = 1.0  # seconds from the opening of the last page to the begin
_MESSAGE = b"event: message_notification"
_TIME = re.compile(rb'"id":"evt_([0-9a-f]{12})')  # an id begins with its time in milliseconds


class Tally:
    """What all pages together have got."""

    def __init__(self) -> None:
        self.requests = 0
        self.lags: list[float] = []
        self.failures = 0
        self.first_failure = ""

    def fail(self, words: str) -> None:
        self.failures += 1
        self.first_failure = self.first_failure or words


class OpenPage:
    """One page."""

    def __init__(self, tally: Tally, port: int, channel: str, conversation: str, token: str) -> None:
        self._tally = tally
        self._port = port
        self._head = f"host: 127.0.0.1:{port}\r\ncookie: gatepost_session={token}\r\naccept-encoding: gzip\r\n"
        self._requests = self._prepare(channel, conversation, token)
        self._again: dict[str, bool] = {}  # what was asked for lately, and whether something has changed since
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def _prepare(self, channel: str, conversation: str, token: str) -> dict[str, bytes]:
        base, of_channel = "/api/v1/", f"gatepost-channel: {channel}\r\n"
        presence = {"channel": channel, "conversation": conversation, "state": "viewing"}
        body = msgspec.json.encode(presence)
        changes = f"gatepost-csrf: {csrf_token(token)}\r\norigin: http://127.0.0.1:{self._port}\r\n"
        changes += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        return {
            "stream": self._request("GET", base + "account/stream"),
            "counts": self._request("GET", f"{base}conversations/counts", of_channel),
            "channels": self._request("GET", f"{base}account/channels"),
            "presence": self._request("PUT", f"{base}account/presence", changes) + body,
        }

    def _request(self, method: str, path: str, more: str = "") -> bytes:
        return f"{method} {path} HTTP/1.1\r\n{self._head}{more}\r\n".encode()

    async def open(self) -> None:
        """Open the page; return when its stream is ready."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        stream, self._kept = await asyncio.open_connection("127.0.0.1", self._port)
        self._kept.write(self._requests["stream"])
        await stream.readuntil(b"event: ready")
        self._start(self._follow(stream))
        for name, seconds in POLLED.items():
            self._start(self._poll(name, seconds))
        for name, seconds in PACE.items():  # as if it had been open for some time: not all pages ask at once
            self._again[name] = False
            self._start(self._refresh(name, random.random() * seconds))

    def _start(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End all requests of the page."""
        for task in (tasks := list(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._writer.close()
        self._kept.close()

    async def _follow(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(65_536):
            now = time.time()
            self._tally.lags += [now - int(found, 16) / 1000 for found in _TIME.findall(data)]
            if _MESSAGE in data:
                for name in PACE:
                    self._change(name)
        self._tally.fail("a stream has ended")

    async def _poll(self, name: str, seconds: float) -> None:
        await asyncio.sleep(random.random() * seconds)
        while True:
            await self._ask(name)
            await asyncio.sleep(seconds)

    def _change(self, name: str) -> None:
        """Ask for something again, but not too often."""
        if name in self._again:
            self._again[name] = True
        else:
            self._again[name] = True
            self._start(self._refresh(name, 0.0))

    async def _refresh(self, name: str, wait: float) -> None:
        await asyncio.sleep(wait)
        while self._again[name]:
            self._again[name] = False
            await self._ask(name)
            await asyncio.sleep(PACE[name] * (1 + random.random() * 0.3))
        del self._again[name]

    async def _ask(self, name: str) -> None:
        async with self._lock:
            try:
                head = await self._send(name)
            except (ConnectionError, asyncio.IncompleteReadError):  # the gateway has closed it: it was idle for long
                self._writer.close()
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
                head = await self._send(name)
            body = await self._reader.readexactly(int(header(head, b"content-length") or 0))
        self._tally.requests += 1
        if not head.startswith(b"HTTP/1.1 200"):
            self._tally.fail(f"{name}: {(head + body)[:400].decode(errors='replace')}")

    async def _send(self, name: str) -> bytes:
        """Send a request; return the head of its answer."""
        self._writer.write(self._requests[name])
        return await self._reader.readuntil(b"\r\n\r\n")


async def drive(options: argparse.Namespace) -> None:
    """Open the pages, and report what they got within some seconds."""
    tally = Tally()
    tokens, conversations = options.tokens.split(","), options.conversations.split(",")
    pages = [
        OpenPage(tally, options.port, options.channel, conversation, token)
        for token, conversation in zip(tokens, conversations, strict=True)
    ]
    for page in pages:
        await page.open()
    await asyncio.sleep(_SETTLE)
    tally.requests, tally.lags = 0, []
    say("begin")
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(options.seconds)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    lags = sorted(tally.lags)
    say(
        "end",
        count=tally.requests,
        seconds=seconds,
        cpu=cpu,
        p50=quantile(lags, 0.5),
        p99=quantile(lags, 0.99),
        failures=tally.failures,
        first_failure=tally.first_failure,
    )
    for page in pages:  # the gateway ends next
        await page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--channel", required=True)
    parser.add_argument("--tokens", required=True, help="of sessions, separated by commas: one page each")
    parser.add_argument("--conversations", required=True, help="that the pages show, separated by commas")
    parser.add_argument("--seconds", type=float, default=10.0)
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(drive(parser.parse_args()))


if __name__ == "__main__":
    main()
