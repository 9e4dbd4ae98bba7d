"""Handles the requests of all sessions, and writes their answers and events."""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable
from typing import Any

from gatepost.networks.qr.phone import request_errors
from gatepost.networks.qr.phone.commands import COMMANDS, get, put
from gatepost.networks.qr.phone.engine import Engine
from gatepost.networks.qr.phone.session import DeviceSession
from gatepost.networks.qr.phone.translate_link import connection
from gatepost.networks.qr.phone.wire import Fields, RequestRefused, Requests

_REMEMBERED = 10_000  # sends whose answers are kept, so that a repeated request does not send again
_LARGEST_FILE = 100 << 20


class Server(Requests):
    """The sessions of one gateway, and its requests to them."""

    def __init__(self, engine: Engine, writer: asyncio.StreamWriter) -> None:
        super().__init__(writer)
        self._engine = engine
        self._sessions: dict[str, DeviceSession] = {}
        self._sent: dict[tuple[str, str], asyncio.Task[Fields]] = {}
        self._files: dict[tuple[str, int], bytearray] = {}  # by session and request, until the last part has arrived
        self._closed: dict[str, DeviceSession] = {}  # closed with unacknowledged frames
        self._turns: dict[str, asyncio.Lock] = {}  # serialises opening and closing, per session

    def begin(self, op: str, frame: Fields) -> bool:
        """Handle acknowledgements and the parts of a file immediately, in the order in which they arrive."""
        if op == "ack":
            self._acknowledge(frame)
            return False
        return op != "put" or self._gather(frame)

    async def do(self, op: str, frame: Fields) -> Fields | list[Fields]:
        match op:
            case "ping":
                return {"ok": True}
            case "open" | "close":
                async with self._turns.setdefault(frame["session"], asyncio.Lock()):
                    return await (self._open(frame) if op == "open" else self._close(frame["session"]))
        # First, so that a rejected request frees it.
        whole = self._files.pop((frame["session"], frame["ref"]), b"") if op == "put" else b""
        session = self._sessions.get(frame["session"])
        if session is None:
            raise RequestRefused(request_errors.not_up("The session is not open."))
        match op:
            case "put":
                return await put(session, frame["mime"], bytes(whole))
            case "get":
                return await get(session, frame)
            case "send":
                return await self._send_once(session, frame)
        if op not in COMMANDS:
            raise ValueError(op)
        return await COMMANDS[op](session, frame)

    # -- sessions --------------------------------------------------------------------------------------------------

    async def _open(self, frame: Fields) -> Fields:
        name = frame["session"]
        session = self._sessions.get(name)
        if session and not session.over:
            session.repeat()
        else:
            if session:
                await session.stop()
            # The new session writes the unacknowledged frames of the previous one again.
            before = session or self._closed.pop(name, None)
            fresh = self._sessions[name] = DeviceSession(name, self._engine, self.write, before=before)
            fresh.start(frame.get("device"))
        return {"ok": True, "own_ids": self._engine.own_ids}

    async def _close(self, name: str) -> Fields:
        session = self._sessions.pop(name, None)
        for key in [key for key in self._files if key[0] == name]:
            del self._files[key]  # the rest of these files does not come any more
        if session:
            await session.stop()
            session.emit(connection("disconnected", "closed"))
            if session.owes:
                self._closed[name] = session
        return {"ok": True}

    def _acknowledge(self, frame: Fields) -> None:
        name = frame.get("session", "")
        session = self._sessions.get(name) or self._closed.get(name)
        if session and isinstance(frame.get("seq"), int):
            session.acknowledge(frame["seq"])
            if not session.owes:
                self._closed.pop(name, None)

    # -- sends and files -------------------------------------------------------------------------------------------

    async def _send_once(self, session: DeviceSession, frame: Fields) -> Fields:
        """Send a message once, even if the request is repeated. Not every engine can send with our ids."""
        key = (session.name, str(frame["id"]))
        task = self._sent.get(key)
        if task is None:
            task = self._sent[key] = asyncio.create_task(_settled(COMMANDS["send"](session, frame)))
            while len(self._sent) > _REMEMBERED:
                self._sent.pop(next(iter(self._sent)))
        fields = await asyncio.shield(task)
        if not fields.get("ok"):
            self._sent.pop(key, None)
        return fields

    def _gather(self, frame: Fields) -> bool:
        """Add a part to a file; return whether the file is complete."""
        ref: Any = frame.get("ref")
        key = str(frame.get("session")), ref
        whole = self._files.setdefault(key, bytearray())
        try:
            whole += b64decode(frame["data"])
        except (KeyError, TypeError, ValueError):
            whole.clear()
        if len(whole) > _LARGEST_FILE:
            whole.clear()
        if frame.get("last") and len(whole) != frame.get("size"):
            del self._files[key]
            self.write({"re": ref, **request_errors.unfit("The file is incomplete.")})
            return False
        return bool(frame.get("last"))


async def _settled(work: Awaitable[Fields]) -> Fields:
    try:
        return await work
    except RequestRefused as refused:
        return refused.fields
