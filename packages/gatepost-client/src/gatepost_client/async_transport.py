"""The asynchronous transport: runs the steps of a call in the running loop. All decisions are in `retry.py`."""

import asyncio
import atexit
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack
from functools import cache
from typing import Self, TypeVar

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import ClientClosedError, RequestError
from pyreqwest.request import RequestBuilder

from gatepost_client.errors import BadAnswer, GatepostError, NoAnswer
from gatepost_client.events import Event
from gatepost_client.http import OpenResponse, check_process, dress, explain, headers_of, open_line, set_up
from gatepost_client.retry import PATIENT, Retry, run_persistently, run_steps, send_with_retries
from gatepost_client.stream import EventReader
from gatepost_client.wire import Answer, Call, Listing, Lost, Outcome, Plan, Request, Step, Wait, following

T = TypeVar("T")
_FINISHING = 0.05  # seconds


@cache
def _end_in_order() -> None:
    """Let the threads of the HTTP library finish before the interpreter ends, which aborts if one is in Python code."""
    atexit.register(time.sleep, _FINISHING)


class AsyncTransport:
    """Runs calls in one event loop, any number at a time; close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retry: Retry = PATIENT,
        timeout: float = 30.0,
        use_proxy: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line = open_line(url, timeout, use_proxy)
        self._client = set_up(ClientBuilder(), self._line, key).build()
        self._uploads = set_up(ClientBuilder(), self._line, key, uploads=True).build()
        self._process = os.getpid()
        _end_in_order()
        self._retry, self._sleep, self._now = retry, sleep, now

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._uploads.close()

    async def run(self, plan: Call[T] | Plan[T]) -> T:
        """Run a call, or a plan of several calls."""
        async with AsyncExitStack() as kept:
            return await self._drive(run_steps(plan, self._retry, self._now), kept)

    async def items(self, listing: Listing[T]) -> AsyncIterator[T]:
        """Yield all items of a list, read page by page."""
        page, cursor = await self.run(listing.call), listing.start
        for item in page.items:
            yield item
        while (step := following(listing, page, cursor)) is not None:
            call, cursor = step
            page = await (self._follow(call) if listing.endless else self.run(call))
            for item in page.items:
                yield item

    async def _follow(self, call: Call[T]) -> T:
        async with AsyncExitStack() as kept:
            return await self._drive(run_persistently(call, self._retry, self._now), kept)

    async def follow_stream(self, call: Call[None]) -> AsyncIterator[Event]:
        """Yield events as they happen. A broken stream is resumed after its last event, whenever that is possible."""
        reader = EventReader()
        while True:
            try:
                async for piece in self.pieces(reader.resume(call)):
                    for event in reader.read(piece):
                        yield event
                wait = reader.wait_after(BadAnswer("The answer is not an event stream; check the address."))
            except GatepostError as error:
                wait = reader.wait_after(error)
            await self._sleep(wait)

    async def pieces(self, call: Call[None]) -> AsyncIterator[bytes]:
        """Yield the body of an answer, piece by piece."""
        async with AsyncExitStack() as kept:
            answer = await self._drive(send_with_retries(call.request, self._retry, self._now), kept)
            assert isinstance(answer, OpenResponse)
            try:
                while (piece := await answer.reader.read_chunk()) is not None:
                    yield bytes(piece)
            except RequestError as error:
                raise NoAnswer(f"The file broke off: {error.message}", sent=True) from None

    async def _drive(self, steps: Generator[Step, Outcome, T], kept: AsyncExitStack) -> T:
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = await (self._sleep(step.seconds) if isinstance(step, Wait) else self._exchange(step, kept))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _exchange(self, request: Request, kept: AsyncExitStack) -> Answer | Lost:
        check_process(self._process)
        client = self._uploads if request.upload_size else self._client
        dressed = dress(client.request(request.method, self._line.target(request)), request, self._line)
        try:
            if request.streamed:
                return await self._open(dressed, kept)
            response = await dressed.build().send()
            return Answer(response.status, headers_of(response), bytes(await response.bytes()))
        except ClientClosedError:
            raise
        except RequestError as error:
            return explain(error)

    async def _open(self, dressed: RequestBuilder, kept: AsyncExitStack) -> Answer:
        async with AsyncExitStack() as stack:
            response = await stack.enter_async_context(dressed.build_streamed())
            if response.status >= 300:
                return Answer(response.status, headers_of(response), bytes(await response.bytes()))
            await kept.enter_async_context(stack.pop_all())
            return OpenResponse(response.status, headers_of(response), b"", response.body_reader)
