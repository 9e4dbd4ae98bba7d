"""The linked line: a phone of the sandbox's QR network."""

import asyncio
from base64 import b64decode, b64encode
from typing import Any

import msgspec
from websockets.asyncio.client import connect

from tests.conformance.line import File, Sample, Taken
from tests.conformance.linked_line import LinkedLine
from tests.patience import PATIENCE

OWN: tuple[Sample, ...] = (
    Sample(
        "poll",
        {"type": "poll", "content": {"poll": {"question": "When?", "options": ["Now", "Later"], "multiple": False}}},
        {"poll": {"question": "When?", "options": ["Now", "Later"], "multiple": False}},
    ),
    Sample("call", {"type": "call", "content": {"call": {"kind": "missed"}}}, {"call": {"kind": "missed"}}),
    Sample(
        "location",
        {"type": "location", "content": {"location": {"latitude": 1.5, "longitude": 2.5, "live": True}}},
        {"location": {"latitude": 1.5, "longitude": 2.5, "live": True}},
    ),
)


class QrLine(LinkedLine):
    """Knows the sandbox's phones."""

    own_types = OWN
    final_code, passing_code = 403, 500

    @property
    def place(self) -> str:
        return self.phone

    async def phone_does(self, what: str, body: Any = None) -> Any:
        """Something happens to the phone or its links."""
        return await self.control("POST", f"/phones/{self.phone}/{what}", body or {})

    async def link(self) -> None:
        assert (await self.call("POST", "/channel/connect")).status == 200
        code = (await self.get("/channel/qr"))["code"]
        await self.phone_does("scan", {"code": code})
        await self.advance(0.5)
        await self.until_state("connected")

    async def type_code(self, code: str) -> None:
        await self.phone_does("pair", {"code": code})
        await self.advance(0.5)

    async def end(self, reason: str) -> None:
        match reason:
            case "logged_out":
                await self.phone_does("logout")
            case "banned":
                await self.phone_does("ban")
            case _:
                await self.phone_does("drop", {"reason": reason})

    async def heal(self) -> None:
        await self.phone_does("ban", {"seconds": 0})

    async def is_linked(self) -> bool:
        linked: bool = (await self._session())["phone"] == self.phone
        return linked

    async def unacknowledged(self) -> int:
        waiting: int = (await self._session())["waiting"]
        return waiting

    async def _session(self) -> Any:
        """The session as the network sees it."""
        sessions = await self.control("GET", "/sessions")
        return next((one for one in sessions if one["session"] == self.session), None)

    # -- people -------------------------------------------------------------------------------------------------------

    async def say(
        self,
        person: str,
        type_: str,
        content: dict[str, Any],
        *,
        name: str | None = None,
        file: File | None = None,
        reply_to: str | None = None,
        target: str | None = None,
        forwarded: bool = False,
    ) -> str:
        said: dict[str, Any] = {"from": {"phone": person}, "type": type_, "content": content}
        said["from"] |= {"name": name} if name else {}
        if file:
            said["media"] = {"data": b64encode(file.content).decode(), "mime_type": file.mime_type}
            said["media"] |= {"filename": file.filename} if file.filename else {}
        said |= {"quote": {"id": reply_to, "from_me": True}} if reply_to else {}
        said |= {"target": target} if target else {}
        said |= {"context": {"forwarded": True}} if forwarded else {}
        return await self.arrive(said)

    async def bring(self, person: str, sample: Sample) -> str:
        return await self.arrive({"from": {"phone": person}, **sample.comes})

    async def say_from_phone(self, person: str, body: str) -> str:
        return await self.arrive({"from": {"phone": person}, "from_me": True, "content": {"body": body}})

    async def arrive(self, said: dict[str, Any]) -> str:
        network_id: str = (await self.phone_does("incoming", said))["id"]
        return network_id

    async def say_hidden(self, person: str, body: str, name: str | None = None) -> str:
        who = {"phone": person, "hidden": True} | ({"name": name} if name else {})
        return await self.arrive({"from": who, "content": {"body": body}})

    async def reveal(self, person: str, name: str) -> None:
        await self.phone_does("contacts", {"phone": person, "name": name, "hidden": False})

    async def say_in_group(self, person: str, body: str, chat: dict[str, str]) -> str:
        return await self.arrive({"from": {"phone": person, "name": "Ana"}, "content": {"body": body}, "chat": chat})

    async def label(self, id_: str, action: str, **about: Any) -> None:
        await self.phone_does("labels", {"id": id_, "action": action, **about})

    # -- records ------------------------------------------------------------------------------------------------------

    async def taken(self) -> list[Taken]:
        rows = (await self.control("GET", f"/phones/{self.phone}/messages"))["messages"]
        return [_read(row) for row in rows]

    async def offered(self, message_id: str) -> int:
        rows = (await self.control("GET", f"/phones/{self.phone}/messages"))["messages"]
        times: int = next(row["offered"] for row in rows if row["id"] == message_id)
        return times

    async def open_file(self, file: dict[str, str]) -> bytes:
        """By a second device of the same phone, which may read what the first one sent."""
        url, reader = f"ws{self.gateway.sandbox_url.removeprefix('http')}/qr/link", f"reader of {self.session}"
        async with connect(url, proxy=None) as socket, asyncio.timeout(PATIENCE):
            await socket.send(_frame("open", 1, reader, phone=self.phone))
            await _until(socket, event="qr")
            await self.phone_does("scan", {"session": reader})
            await self.advance(0.5)
            await _until(socket, state="connected")
            await socket.send(_frame("get", 2, reader, handle=file["handle"], most=1 << 20))
            found = b64decode((await _until(socket, re=2))["data"])
            await socket.send(_frame("logout", 3, reader))
            await _until(socket, state="logged_out")
        return found

    # -- trouble ------------------------------------------------------------------------------------------------------

    async def receipt(self, message: Any, status: str) -> None:
        seen = {"ids": [message["network_id"]], "status": status, "person": message["contact"]["phone"]}
        await self.phone_does("receipts", seen)

    async def change_number(self, old: str, new: str) -> None:
        await self.phone_does("contacts", {"phone": new, "old_phone": old})

    async def cut(self) -> None:
        """The WebSocket is cut; the driver connects again by itself."""
        await self.phone_does("cut")

    async def repair(self) -> None:
        await self.until_state("connected")


def _frame(op: str, ref: int, session: str, **fields: Any) -> str:
    return msgspec.json.encode({"op": op, "ref": ref, "session": session, **fields}).decode()


async def _until(socket: Any, **wanted: Any) -> Any:
    """The next frame that has these values."""
    while True:
        frame = msgspec.json.decode(await socket.recv())
        if frame.items() >= wanted.items():
            return frame


def _read(row: dict[str, Any]) -> Taken:
    return Taken(row["id"], row["id"], row["to"], row["type"], row["content"], row["quote"], row["target"])
