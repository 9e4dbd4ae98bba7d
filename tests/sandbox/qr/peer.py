"""The business's program in these tests: a real WebSocket client that speaks the link protocol."""

import json
from itertools import count
from typing import Any

from websockets.asyncio.client import ClientConnection

S = "ch_1"
PHONE = "15550002222"
ANA = "5511999990000"
BEN = "5511999991111"


def hex_id(number: int) -> str:
    return f"{number:032x}"


class Peer:
    """One link; frames are read only while something is awaited, so the tests say when."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []
        self.answers: dict[int, list[dict[str, Any]]] = {}
        self._refs = count(1)

    async def post(self, op: str, **fields: Any) -> int:
        """Ask without waiting for the answer."""
        ref = next(self._refs)
        await self.socket.send(json.dumps({"op": op, "ref": ref, **fields}))
        return ref

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """Ask something of the session, and wait for the answer."""
        return await self.answer(await self.post(op, **({"session": S} | fields)))

    async def answer(self, ref: int) -> dict[str, Any]:
        while not any("ok" in frame or "error" in frame for frame in self.answers.get(ref, [])):
            frame = json.loads(await self.socket.recv())
            if "re" in frame:
                self.answers.setdefault(frame["re"], []).append(frame)
            else:
                self.events.append(frame)
        return self.answers[ref][-1]

    async def settle(self) -> None:
        """Have everything that was sent before."""
        ref = await self.post("ping")
        assert await self.answer(ref) == {"re": ref, "ok": True}

    async def take(self) -> list[dict[str, Any]]:
        """All events since the last time."""
        await self.settle()
        taken, self.events = self.events, []
        return taken

    async def take_numbered(self) -> list[dict[str, Any]]:
        """All events since the last time that are to be acknowledged."""
        return [event for event in await self.take() if "seq" in event]

    async def states(self) -> list[tuple[str, str]]:
        """All changes of the connection since the last time."""
        return [(e["state"], e["reason"]) for e in await self.take() if e["event"] == "connection"]

    async def open(self, session: str = S, phone: str | None = PHONE) -> dict[str, Any]:
        return await self.ask("open", session=session, phone=phone)

    async def ack(self, seq: int, session: str = S) -> None:
        await self.socket.send(json.dumps({"op": "ack", "session": session, "seq": seq}))

    async def send(self, number: int = 1, to: str = ANA, **fields: Any) -> dict[str, Any]:
        """Send a message, a text unless told otherwise."""
        return await self.ask("send", **message(number, to, **fields))


def message(number: int = 1, to: str | dict[str, str] = ANA, **fields: Any) -> dict[str, Any]:
    who = {"phone": to} if isinstance(to, str) else to
    return {"id": hex_id(number), "to": who, "type": "text", "content": {"body": "Hello"}} | fields
