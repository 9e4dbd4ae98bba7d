"""The blocking transport: runs the steps of a call in the calling thread. All decisions are in `retry.py`."""

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import Self, TypeVar

from pyreqwest.client import SyncClientBuilder
from pyreqwest.exceptions import ClientClosedError, RequestError
from pyreqwest.request import SyncRequestBuilder

from gatepost_client.errors import BadAnswer, GatepostError, NoAnswer
from gatepost_client.events import Event
from gatepost_client.http import OpenResponse, check_process, dress, explain, headers_of, open_line, set_up
from gatepost_client.retry import PATIENT, Retry, run_persistently, run_steps, send_with_retries
from gatepost_client.stream import EventReader
from gatepost_client.wire import Answer, Call, Listing, Lost, Outcome, Plan, Request, Step, Wait, following

T = TypeVar("T")


class BlockingTransport:
    """Runs calls one at a time. It may be shared by threads; close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retry: Retry = PATIENT,
        timeout: float = 30.0,
        use_proxy: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line = open_line(url, timeout, use_proxy)
        self._client = set_up(SyncClientBuilder(), self._line, key).build()
        self._uploads = set_up(SyncClientBuilder(), self._line, key, uploads=True).build()
        self._process = os.getpid()
        self._retry, self._sleep, self._now = retry, sleep, now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._uploads.close()

    def run(self, plan: Call[T] | Plan[T]) -> T:
        """Run a call, or a plan of several calls."""
        with ExitStack() as kept:
            return self._drive(run_steps(plan, self._retry, self._now), kept)

    def items(self, listing: Listing[T]) -> Iterator[T]:
        """Yield all items of a list, read page by page."""
        page, cursor = self.run(listing.call), listing.start
        yield from page.items
        while (step := following(listing, page, cursor)) is not None:
            call, cursor = step
            page = self._follow(call) if listing.endless else self.run(call)
            yield from page.items

    def _follow(self, call: Call[T]) -> T:
        with ExitStack() as kept:
            return self._drive(run_persistently(call, self._retry, self._now), kept)

    def follow_stream(self, call: Call[None]) -> Iterator[Event]:
        """Yield events as they happen. A broken stream is resumed after its last event, whenever that is possible."""
        reader = EventReader()
        while True:
            try:
                for piece in self.pieces(reader.resume(call)):
                    yield from reader.read(piece)
                wait = reader.wait_after(BadAnswer("The answer is not an event stream; check the address."))
            except GatepostError as error:
                wait = reader.wait_after(error)
            self._sleep(wait)

    def pieces(self, call: Call[None]) -> Iterator[bytes]:
        """Yield the body of an answer, piece by piece."""
        with ExitStack() as kept:
            answer = self._drive(send_with_retries(call.request, self._retry, self._now), kept)
            assert isinstance(answer, OpenResponse)
            try:
                while (piece := answer.reader.read_chunk()) is not None:
                    yield bytes(piece)
            except RequestError as error:
                raise NoAnswer(f"The file broke off: {error.message}", sent=True) from None

    def _drive(self, steps: Generator[Step, Outcome, T], kept: ExitStack) -> T:
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = self._sleep(step.seconds) if isinstance(step, Wait) else self._exchange(step, kept)
        except StopIteration as end:
            result: T = end.value
            return result

    def _exchange(self, request: Request, kept: ExitStack) -> Answer | Lost:
        check_process(self._process)
        client = self._uploads if request.upload_size else self._client
        dressed = dress(client.request(request.method, self._line.target(request)), request, self._line)
        try:
            if request.streamed:
                return self._open(dressed, kept)
            response = dressed.build().send()
            return Answer(response.status, headers_of(response), bytes(response.bytes()))
        except ClientClosedError:
            raise
        except RequestError as error:
            return explain(error)

    def _open(self, dressed: SyncRequestBuilder, kept: ExitStack) -> Answer:
        with ExitStack() as stack:
            response = stack.enter_context(dressed.build_streamed())
            if response.status >= 300:
                return Answer(response.status, headers_of(response), bytes(response.bytes()))
            kept.enter_context(stack.pop_all())
            return OpenResponse(response.status, headers_of(response), b"", response.body_reader)
