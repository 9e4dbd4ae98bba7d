"""One session: the life of its device, what it said that was not acknowledged yet, and its news in order.

open ─► run ─► codes ─► linked ─► connected ─► … ─► ended | closed
                 ╰──── news, one after the other ────╯─► frames, numbered, kept until acknowledged
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

from gatepost.networks.qr.phone import translate_link as link
from gatepost.networks.qr.phone.build_message import option_hashes
from gatepost.networks.qr.phone.engine import Callbacks, Engine, PollVote
from gatepost.networks.qr.phone.frame_size import FrameTooLarge, fit_frame
from gatepost.networks.qr.phone.protos import neo
from gatepost.networks.qr.phone.request_errors import reason_of_end
from gatepost.networks.qr.phone.translate_event import translate
from gatepost.networks.qr.phone.translate_message import message, unwrap

Frame = dict[str, Any]
_lives = count(1)
_UNNUMBERED = frozenset({"connection", "qr", "linked"})
_FINAL = frozenset({"logged_out", "banned", "replaced", "outdated_client", "scan_expired", "pair_failed", "closed"})


class DeviceSession:
    """A device that is linked or about to be. All but the callbacks happens on the loop's thread."""

    def __init__(
        self, name: str, engine: Engine, write: Callable[[Frame], None], before: "DeviceSession | None" = None
    ) -> None:
        self.name = name
        # The library may not be done with one life when the next begins, so that each has a name of its own there.
        self._life = f"{name}/{next(_lives)}"
        self.phone = engine.phone(self._life)
        self.codes = 0
        self.me: Any = None
        self.polls: dict[str, dict[str, str]] = {}  # id → hash → option, of the polls sent from here
        self.people: dict[str, Any] = {}  # phone → the JID that the network knows it by
        self._engine = engine
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[Any] = asyncio.Queue()
        self._telling = asyncio.create_task(self._tell())
        # What an earlier life did not get acknowledged; numbers go on rising, also when the process is started anew.
        self._unacknowledged: deque[Frame] = before._unacknowledged if before else deque()
        self._seq: int = before._seq if before else int(time.time()) << 20
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []  # who waits for what to be acknowledged
        self._standing: list[Frame] = []  # how the link stands, for whoever opens it again
        self._stopping = False
        self._running: asyncio.Task[None] | None = None
        self.waiting = asyncio.Event()  # the first code is there: the network can be asked for one to type
        self.ended = asyncio.Event()

    @property
    def connected(self) -> bool:
        return any(frame.get("state") == "connected" for frame in self._standing)

    @property
    def over(self) -> bool:
        """Whether nothing more comes of this life: whoever opens the link again needs a new one."""
        return self.ended.is_set() or self._is_final()

    @property
    def owes(self) -> bool:
        """Whether something was said that nobody acknowledged."""
        return bool(self._unacknowledged)

    def start(self, device: str | None) -> None:
        """Begins to connect."""
        self.emit(link.connection("connecting", "started"))
        for frame in self._unacknowledged:
            self._write(frame)
        self._running = asyncio.create_task(self._run(device))

    def repeat(self) -> None:
        """Says again how the link stands, and what was not acknowledged."""
        for frame in [*self._standing, *self._unacknowledged]:
            self._write(frame)

    def acknowledge(self, seq: int) -> None:
        while self._unacknowledged and self._unacknowledged[0]["seq"] <= seq:
            self._unacknowledged.popleft()
        for number, waiter in self._waiters:
            if number <= seq and not waiter.done():
                waiter.set_result(None)
        self._waiters = [one for one in self._waiters if not one[1].done()]

    async def stop(self) -> None:
        """Ends the connection; the device stays in the store."""
        self._stopping = True
        if not self.ended.is_set():
            await self._engine.stop(self._life)
        self._telling.cancel()
        for _, waiter in self._waiters:
            waiter.cancel()

    def emit(self, frame: Frame) -> None:
        """Writes a frame, with a number where it is kept until acknowledged."""
        frame = {**frame, "session": self.name}
        if frame["event"] in _UNNUMBERED:
            self._stand(frame)
        else:
            try:
                frame = fit_frame({**frame, "seq": self._seq + 1})
            except FrameTooLarge as error:  # those beside it are carried
                print(f"event passed over: {error}", flush=True)  # noqa: T201
                return
            self._seq += 1
            self._unacknowledged.append(frame)
        self._write(frame)

    def _stand(self, frame: Frame) -> None:
        if frame["event"] == "connection":
            kept = [one for one in self._standing if one["event"] == "linked"]
            self._standing = [*kept, frame]
        else:
            self._standing = [one for one in self._standing if one["event"] != frame["event"]] + [frame]

    # -- the connection --------------------------------------------------------------------------------------------

    async def _run(self, device: str | None) -> None:
        said = Callbacks(self._on_loop, self._on_loop, lambda word: self._on_loop(("login", word)), self._told)
        try:
            if device and not await self._engine.holds(device):
                failed: Any = link.connection("logged_out", "logged_out", "The store no longer holds this device.")
            elif self._stopping:  # while the store was asked: nobody would end what begins now
                failed = ""
            else:
                failed = await self._engine.run(self._life, device, said)
        except Exception as error:
            failed = str(error) or repr(error)
        finally:
            await self._engine.stop(self._life)  # also where it was stopped before the library had come to connect
        self._news.put_nowait(("ended", failed))

    def _on_loop(self, news: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.put_nowait, news)

    async def _told(self, event: Any) -> None:
        acknowledged = self._loop.create_future()
        self._news.put_nowait(("told", event, acknowledged))
        await acknowledged

    # -- news, in order --------------------------------------------------------------------------------------------

    async def _tell(self) -> None:
        while True:
            news = await self._news.get()
            try:
                await self._take(news)
            except Exception as error:  # one event that cannot be told must not silence those after it
                # Not its repr, which may hold the message itself.
                print(f"event passed over: {type(news).__name__}: {type(error).__name__}: {error}", flush=True)  # noqa: T201

    async def _take(self, news: Any) -> None:
        match news:
            case str():
                self.emit(link.connection("waiting_for_scan", "started"))
                self.emit(link.code(news, self.codes))
                self.codes += 1
                self.waiting.set()
            case ("login", word):
                await self._end_codes(word)
            case ("told", event, acknowledged):
                await self._tell_and_wait(event, acknowledged)
            case ("ended", failed):
                self._end(failed)
            case _:
                await self._event(news)

    async def _tell_and_wait(self, event: Any, acknowledged: "asyncio.Future[None]") -> None:
        before = self._seq
        try:
            await self._event(event)
        finally:
            if self._seq > before:
                self._waiters.append((self._seq, acknowledged))
            elif not acknowledged.done():  # nothing of it is for the gateway
                acknowledged.set_result(None)

    async def _event(self, event: Any) -> None:
        if isinstance(event, neo.Connected):
            await self._introduce()
        if isinstance(event, neo.Disconnected) and self._is_final():
            return
        for frame in await self._frames(event):
            self.emit(frame)

    async def _frames(self, event: Any) -> list[Frame]:
        if isinstance(event, list):
            return event
        now = int(time.time())
        if not isinstance(event, neo.Message) or not unwrap(event.Message)[0].HasField("pollUpdateMessage"):
            return translate(event, now)
        vote = await self._decrypted(event)
        return [self._named(frame, vote.options if vote else []) for frame in message(event, now, vote)]

    async def _decrypted(self, event: Any) -> PollVote | None:
        try:
            return await self.phone.vote(event)
        except Exception as error:  # a vote in a poll whose secret is not here stays sealed
            print(f"vote not decrypted: {error}", flush=True)  # noqa: T201
            return None

    def _named(self, frame: Frame, words: list[str]) -> Frame:
        """A vote with the words of its options, where the poll was sent from here."""
        options = option_hashes(words) if words else self.polls.get(frame.get("target", ""), {})
        poll = frame["content"]["poll"]
        named = [options[hash_] for hash_ in poll.get("hashes", ()) if hash_ in options]
        if len(named) == len(poll.get("hashes", (None,))):
            return frame | {"content": {"poll": {"options": named}}}
        return frame | {"content": {"poll": {**poll, "options": named}}}

    async def _introduce(self) -> None:
        self.me = await self.phone.me()
        self.emit(link.linked(self.me))

    async def _end_codes(self, word: str) -> None:
        for frame in link.login(word):
            self.emit(frame)
            await self._engine.stop(self._life)

    def _end(self, failed: Any) -> None:
        self.ended.set()
        if isinstance(failed, dict):
            self.emit(failed)
        elif not self._stopping and not self._is_final():
            self.emit(link.connection("disconnected", reason_of_end(failed), failed[:500] or None))

    def _is_final(self) -> bool:
        return any(frame.get("reason") in _FINAL for frame in self._standing)
