"""The real gateway in its own process, which kills or stops itself at a named point. Nothing in src/ knows of it.

point = "<name>:<when>:<n>", e.g. "mark_sending:before:3"; with ":SIGSTOP" at the end, it stops instead

    <name>  a store function, by its own name    before   its COMMIT, or its one statement
                                                 after    the same
            CloudNetwork.send, Poster.send       before   the call
                                                 after    its answer has come
    <n>     the n-th time, counted from 1

point = "loop:<name>": when it listens, the background loop of that name is cancelled
point = "clock:<seconds>:<period>": the machine's clock is wrong by so much; with a period, only every other so many
        seconds, so that it leaps forth and back
point = "poison:<phone>": the adapter of the network raises an error for each message to this phone
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

import uvloop

from gatepost.clock import SystemClock
from gatepost.networks.base import Outgoing, Receipt
from gatepost.networks.cloud.send import CloudNetwork
from gatepost.serving import serve
from gatepost.settings import load
from gatepost.store import pool
from gatepost.store.channel_head import channel_transaction, fetch_with_heads, owner_transaction
from gatepost.store.messages.progress import write_progress
from gatepost.store.pool import Database
from gatepost.webhooks.http_post import Poster

HELPER_FILES = {contextlib.__file__, pool.__file__}
HELPERS = {
    channel_transaction.__name__,
    owner_transaction.__name__,
    fetch_with_heads.__name__,
    write_progress.__name__,
    "_write_intents",
}


class KillPoint:
    """The point at which this process is killed or stopped."""

    def __init__(self, point: str) -> None:
        self._name, self._when, count, *how = point.split(":")
        self._left = int(count)
        self._signal = signal.Signals[how[0]] if how else signal.SIGKILL

    def reach(self, name: str, when: str) -> None:
        """Kill or stop the process, if this is the point."""
        if (name, when) == (self._name, self._when):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), self._signal)


def run(overrides: dict[str, Any], role: str, point: str | None, log: str, channel: Connection) -> None:
    """Serve until it is killed or stopped. Send the address when it listens."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
    kind, _, what = (point or "").partition(":")
    ended = what if kind == "loop" else None
    if point is not None and ended is None:
        INSTALL.get(kind, install_kill_point)(what if kind in INSTALL else point)

    async def report(url: str) -> None:
        channel.send(url)
        for task in asyncio.all_tasks():
            if task.get_name() == ended:
                task.cancel()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(load(environ={}, overrides=overrides), role=role, on_ready=report))


def install_clock(what: str) -> None:
    """Make the machine's clock wrong."""
    seconds, period = map(float, what.split(":"))
    now = SystemClock.now

    def wrong(clock: SystemClock) -> datetime:
        wrong_now = not period or clock.monotonic() % (2 * period) < period
        return now(clock) + timedelta(seconds=seconds if wrong_now else 0.0)

    setattr(SystemClock, "now", wrong)  # noqa: B010


def install_poison(phone: str) -> None:
    """Make the adapter of the network fail for a phone."""
    send = CloudNetwork.send

    async def poisoned(network: CloudNetwork, message: Outgoing) -> Receipt:
        if message.phone == phone:
            raise RuntimeError("this message breaks the adapter")
        return await send(network, message)

    setattr(CloudNetwork, "send", poisoned)  # noqa: B010


def install_kill_point(point: str) -> None:
    """Wrap every commit, every single statement, and every call to the network and to webhooks."""
    kill_point = KillPoint(point)
    begin, connect, send, post = Database.transaction, Database.connection, CloudNetwork.send, Poster.send

    def transaction(db: Database, **options: Any) -> AbstractAsyncContextManager[Any]:
        return around_commit(kill_point, store_function(), begin(db, **options))

    def connection(db: Database, **options: Any) -> AbstractAsyncContextManager[Any]:
        return around_statement(kill_point, store_function(), connect(db, **options))

    setattr(Database, "transaction", transaction)  # noqa: B010
    setattr(Database, "connection", connection)  # noqa: B010
    setattr(CloudNetwork, "send", around_call(kill_point, "CloudNetwork.send", send))  # noqa: B010
    setattr(Poster, "send", around_call(kill_point, "Poster.send", post))  # noqa: B010


def store_function() -> str:
    """Return the name of the function that uses the database; helpers between it and the database do not count."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (frame.f_code.co_filename in HELPER_FILES or frame.f_code.co_name in HELPERS):
        frame = frame.f_back
    return frame.f_code.co_name if frame else ""


@asynccontextmanager
async def around_commit(
    kill_point: KillPoint, name: str, transaction: AbstractAsyncContextManager[Any]
) -> AsyncIterator[Any]:
    """Run a transaction with points before and after its COMMIT."""
    async with transaction as conn:
        yield conn
        kill_point.reach(name, "before")
    kill_point.reach(name, "after")


@asynccontextmanager
async def around_statement(
    kill_point: KillPoint, name: str, connection: AbstractAsyncContextManager[Any]
) -> AsyncIterator[Any]:
    """Run a single statement with points before and after it."""
    async with connection as conn:
        kill_point.reach(name, "before")
        yield conn
        kill_point.reach(name, "after")


def around_call(kill_point: KillPoint, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a call with points before and after it."""

    async def called(*given: Any) -> Any:
        kill_point.reach(name, "before")
        answer = await call(*given)
        kill_point.reach(name, "after")
        return answer

    return called


INSTALL = {"clock": install_clock, "poison": install_poison}
