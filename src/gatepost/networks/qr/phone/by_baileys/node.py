"""The Node process that runs the library: starts it, and exchanges requests and answers with it.

─► {n, op, …}   ◄─ {re: n, ok} | {re: n, error}
◄─ {q, ask, …}  ─► {a: q, ok} | {a: q, error}
◄─ {update, …}
"""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec

from gatepost.networks.json_cleanup import clean_json
from gatepost.networks.qr.phone.engine import EngineError

Fields = dict[str, Any]
_LONGEST_LINE = 64 << 20  # all keys of a device may be sent in one line
_END_WITHIN = 1.0
_LOOK_EVERY, _ANSWER_WITHIN = 15.0, 30.0  # the library may block for a while under load
_read: msgspec.json.Decoder[Fields] = msgspec.json.Decoder(Fields)
_write = msgspec.json.Encoder().encode


class Node:
    """One running process. When it ends, every open request fails and `gone` is set."""

    def __init__(self, process: asyncio.subprocess.Process, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]):
        self.gone = asyncio.Event()
        self.pid = process.pid
        self._process = process
        self._reader, self._writer = streams
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}

    async def ask(self, op: str, life: str, **fields: Any) -> Any:
        """Send a request and return its answer; raises EngineError."""
        if self.gone.is_set():
            raise EngineError("The program that holds the links ended.", sure=True)
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._put({"n": number, "op": op, "life": life, **fields})
        try:
            return await answer
        finally:
            del self._asked[number]

    def answer(self, number: int, **fields: Any) -> None:
        """Answer a request of the process."""
        self._put({"a": number, **fields})

    async def listen(self, take: Callable[[Fields], None]) -> None:
        """Read until the process ends; `take` receives everything that is not an answer."""
        try:
            while line := await self._line():
                try:
                    self._route(_read.decode(clean_json(line)), take)
                except Exception as error:  # one bad line must not block all links
                    print(f"update skipped: {type(error).__name__}: {error}", flush=True)  # noqa: T201
        except OSError:
            pass
        finally:
            self._end()

    async def watch(self, every: float = _LOOK_EVERY, within: float = _ANSWER_WITHIN) -> None:
        """Kill the process if it no longer answers; its links would otherwise appear connected."""
        while not await self._gone_within(every):
            try:
                async with asyncio.timeout(within):
                    await self.ask("ping", "")
            except TimeoutError:
                print("the program that holds the links does not answer", flush=True)  # noqa: T201
                self._kill()
            except EngineError:
                pass
            except Exception as error:  # this check must go on: nothing else detects a process that hangs
                print(f"ping failed: {type(error).__name__}: {error}", flush=True)  # noqa: T201

    async def _gone_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.gone.wait()
        return self.gone.is_set()

    async def close(self) -> None:
        """End the process: it exits when its socket closes; otherwise it is killed."""
        self._writer.close()
        try:
            # Not asyncio.timeout: before Python 3.11.3 it raises CancelledError in a task that is being cancelled.
            await asyncio.wait_for(self._process.wait(), _END_WITHIN)
        except TimeoutError:
            self._kill()
            await self._process.wait()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def _line(self) -> bytes:
        while True:
            try:
                return await self._reader.readline()
            except ValueError:  # too long; the rest of the line is skipped too
                print("update skipped: too long", flush=True)  # noqa: T201

    def _route(self, frame: Fields, take: Callable[[Fields], None]) -> None:
        if "re" in frame:
            self._settle(frame)
        else:
            take(frame)

    def _put(self, frame: Fields) -> None:
        if not self._writer.is_closing():
            self._writer.write(_write(frame) + b"\n")

    def _settle(self, frame: Fields) -> None:
        waiting = self._asked.get(frame["re"])
        if waiting is None or waiting.done():
            return
        error = frame.get("error")
        if error is None:
            waiting.set_result(frame.get("ok"))
        else:
            waiting.set_exception(EngineError(error["text"], error.get("code"), sure=error.get("sure")))

    def _end(self) -> None:
        self.gone.set()
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(EngineError("The program that holds the links ended.", sure=False))


async def start(program: Sequence[str]) -> Node:
    """Start the process with one end of a socket pair as its last argument. It exits when the socket closes."""
    ours, theirs = socket.socketpair()
    try:
        process = await asyncio.create_subprocess_exec(
            *program,
            str(theirs.fileno()),
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env=_environment(),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    ours.setblocking(False)
    return Node(process, await asyncio.open_connection(sock=ours, limit=_LONGEST_LINE))


def _environment() -> dict[str, str]:
    """Return our environment without the database address and the encryption key."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
