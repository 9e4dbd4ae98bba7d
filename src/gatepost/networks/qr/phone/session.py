"""One session: the connection of its device, its events in order, and its unacknowledged frames.

open ─► run ─► codes ─► linked ─► connected ─► … ─► ended | closed
                 ╰────── events, in order ───────────╯─► frames, numbered, kept until acknowledged
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

from gatepost.networks.qr.phone import translate_link as link
from gatepost.networks.qr.phone.build_message import option_hashes
from gatepost.networks.qr.phone.engine import Engine, EngineListener, PollVote
from gatepost.networks.qr.phone.frame_size import FrameTooLarge, fit_frame
from gatepost.networks.qr.phone.protos import neo
from gatepost.networks.qr.phone.request_errors import reason_of_end
from gatepost.networks.qr.phone.translate_event import translate
from gatepost.networks.qr.phone.translate_message import message, unwrap

Frame = dict[str, Any]
_lives = count(1)
_UNNUMBERED = frozenset({"connection", "qr", "linked"})
_AHEAD = 1000  # unacknowledged frames that the gateway gets at once: it closes a link that sends more than it stores
_END_WITHIN = 2.0
_FINAL = frozenset({"logged_out", "banned", "replaced", "outdated_client", "scan_expired", "pair_failed", "closed"})


class DeviceSession:
    """A device that is linked, or is being linked. Only the callbacks may run outside the event loop's thread."""

    def __init__(
        self, name: str, engine: Engine, write: Callable[[Frame], None], before: "DeviceSession | None" = None
    ) -> None:
        self.name = name
        # The library may still be closing one connection when the next begins, so each has its own name there.
        self._life = f"{name}/{next(_lives)}"
        self.phone = engine.phone(self._life)
        self.codes = 0
        self.me: Any = None
        self.polls: dict[str, dict[str, str]] = {}  # id → hash → option, of the polls sent by this session
        self.people: dict[str, Any] = {}  # phone → its JID on the network
        self._engine = engine
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._updates: asyncio.Queue[Any] = asyncio.Queue()
        self._emitting = asyncio.create_task(self._emit_updates())
        # The unacknowledged frames of the previous session. Numbers keep rising, also across restarts of the process.
        self._unacknowledged: deque[Frame] = before._unacknowledged if before else deque()
        self._seq: int = before._seq if before else int(time.time()) << 20
        self._written = 0  # how many of the unacknowledged frames were written
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []  # by the number that they wait for
        self._standing: list[Frame] = []  # the frames of the link's current state, for `repeat`
        self._stopping = False
        self._running: asyncio.Task[None] | None = None
        self.waiting = asyncio.Event()  # the first code arrived; a code to type can be requested now
        self.ended = asyncio.Event()

    @property
    def connected(self) -> bool:
        return any(frame.get("state") in ("connected", "limited") for frame in self._standing)

    @property
    def over(self) -> bool:
        """Whether this session has ended. Opening the link again needs a new one."""
        return self.ended.is_set() or self._is_final()

    @property
    def owes(self) -> bool:
        """Whether there are unacknowledged frames."""
        return bool(self._unacknowledged)

    def start(self, device: str | None) -> None:
        """Start to connect, and write the unacknowledged frames of the previous session again."""
        self.emit(link.connection("connecting", "started"))
        self._write_unacknowledged(_AHEAD)
        self._running = asyncio.create_task(self._run(device))

    def repeat(self) -> None:
        """Write the link's current state and the unacknowledged frames again."""
        for frame in self._standing:
            self._write(frame)
        self._written = 0
        self._write_unacknowledged(_AHEAD)

    def acknowledge(self, seq: int) -> None:
        while self._unacknowledged and self._unacknowledged[0]["seq"] <= seq:
            self._unacknowledged.popleft()
            self._written = max(0, self._written - 1)  # a gateway may acknowledge what an earlier session wrote
        if not self._stopping:
            self._write_unacknowledged(_AHEAD)
        for number, waiter in self._waiters:
            if number <= seq and not waiter.done():
                waiter.set_result(None)
        self._waiters = [one for one in self._waiters if not one[1].done()]

    async def stop(self) -> None:
        """End the connection; the device stays in the store.

        What the library reported before its end is written first: it may be a phone that was linked at the last moment.
        """
        self._stopping = True
        if not self.ended.is_set():
            await self._engine.stop(self._life)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), _END_WITHIN)
        self._emitting.cancel()
        for _, waiter in self._waiters:
            waiter.cancel()

    async def end_unlinked(self) -> None:
        """Report that the phone was unlinked from here, and end the connection. Not every library does that itself."""
        if not self._is_final():
            self.emit(link.connection("logged_out", "logged_out"))
        await self._engine.stop(self._life)

    def emit(self, frame: Frame) -> None:
        """Write a frame. Frames that are kept until acknowledged get a number."""
        frame = {**frame, "session": self.name}
        if frame["event"] in _UNNUMBERED:
            self._stand(frame)
            if self._is_final():
                self._write_unacknowledged(len(self._unacknowledged))  # the gateway reads nothing after this frame
            self._write(frame)
        else:
            try:
                frame = fit_frame({**frame, "seq": self._seq + 1})
            except FrameTooLarge as error:  # the other frames are still written
                print(f"event passed over: {error}", flush=True)  # noqa: T201
                return
            self._seq += 1
            self._unacknowledged.append(frame)
            self._write_unacknowledged(_AHEAD)

    def _write_unacknowledged(self, most: int) -> None:
        """Write the unacknowledged frames that were not written yet, up to this number in total."""
        while self._written < min(len(self._unacknowledged), most):
            self._write(self._unacknowledged[self._written])
            self._written += 1

    def _stand(self, frame: Frame) -> None:
        if frame["event"] == "connection":
            kept = [one for one in self._standing if one["event"] == "linked"]
            self._standing = [*kept, frame]
        else:
            self._standing = [one for one in self._standing if one["event"] != frame["event"]] + [frame]

    # -- the connection --------------------------------------------------------------------------------------------

    async def _run(self, device: str | None) -> None:
        said = EngineListener(self._on_loop, self._on_loop, lambda word: self._on_loop(("login", word)), self._on_event)
        try:
            if device and not await self._engine.holds(device):
                failed: Any = link.connection("logged_out", "logged_out", "The store no longer has this device.")
            elif self._stopping:  # stopped during the store lookup: nothing would end a new connection
                failed = ""
            else:
                failed = await self._engine.run(self._life, device, said)
        except Exception as error:
            failed = str(error) or repr(error)
        finally:
            await self._engine.stop(self._life)  # also if it was stopped before the library began to connect
        self._updates.put_nowait(("ended", failed))

    def _on_loop(self, update: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._updates.put_nowait, update)

    async def _on_event(self, event: Any) -> None:
        acknowledged = self._loop.create_future()
        self._updates.put_nowait(("event", event, acknowledged))
        await acknowledged

    # -- events, in order ------------------------------------------------------------------------------------------

    async def _emit_updates(self) -> None:
        while True:
            update = await self._updates.get()
            try:
                await self._take(update)
            except Exception as error:  # one bad event must not block those after it
                # Not the event's repr, which may hold the message itself.
                print(f"event passed over: {type(update).__name__}: {type(error).__name__}: {error}", flush=True)  # noqa: T201

    async def _take(self, update: Any) -> None:
        match update:
            case str():
                self.emit(link.connection("waiting_for_scan", "started"))
                self.emit(link.code(update, self.codes))
                self.codes += 1
                self.waiting.set()
            case ("login", word):
                await self._end_codes(word)
            case ("event", event, acknowledged):
                await self._emit_and_wait(event, acknowledged)
            case ("ended", failed):
                self._end(failed)
            case _:
                await self._event(update)

    async def _emit_and_wait(self, event: Any, acknowledged: "asyncio.Future[None]") -> None:
        before = self._seq
        try:
            await self._event(event)
        finally:
            if self._seq > before:
                self._waiters.append((self._seq, acknowledged))
            elif not acknowledged.done():  # it became no frame
                acknowledged.set_result(None)

    async def _event(self, event: Any) -> None:
        if isinstance(event, neo.Connected) and not self._stopping:
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
        except Exception as error:  # the secret of the poll may be missing
            print(f"vote not decrypted: {error}", flush=True)  # noqa: T201
            return None

    def _named(self, frame: Frame, words: list[str]) -> Frame:
        """Return a vote with the texts of its options, as far as they are known."""
        options = option_hashes(words) if words else self.polls.get(frame.get("target", ""), {})
        poll = frame["content"]["poll"]
        named = [options[hash_] for hash_ in poll.get("hashes", ()) if hash_ in options]
        if len(named) == len(poll.get("hashes", (None,))):
            return frame | {"content": {"poll": {"options": named}}}
        return frame | {"content": {"poll": {**poll, "options": named}}}

    async def _introduce(self) -> None:
        """Report whose phone it is. Not of a connection that is closed: the library's call would end the process."""
        try:
            self.me = await self.phone.me()
        except Exception as error:  # the link is connected nevertheless
            print(f"own account not read: {error}", flush=True)  # noqa: T201
        else:
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
