"""A line: one channel with its network behind it, as the conformance tests use it.

tests ─► REST, events feed            ─► the gateway ─► the network: the sandbox, or phones on loopback
      ─► the line itself: people, faults, records of the network ──────▲

What the lines have in common is here; each has one small class that knows its side of its network.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from tests.patience import PATIENCE, patience
from tests.running_gateway import Answer, Gateway

T = TypeVar("T")
FILE_TYPES = ("image", "video", "audio", "document", "sticker")
_people = count(1)


class Taken(msgspec.Struct, frozen=True):
    """A message that the network took, as its recipient sees it."""

    id: str  # ours
    network_id: str
    to: str
    type: str
    content: dict[str, Any]
    reply_to: str | None = None  # network ids
    target: str | None = None


class File(msgspec.Struct, frozen=True):
    """A file that somebody sends."""

    content: bytes
    mime_type: str
    filename: str | None = None


class Sample(msgspec.Struct, frozen=True):
    """Something that only one network brings: how it comes, and what is to be made of it."""

    type: str
    comes: dict[str, Any]
    content: dict[str, Any]
    context: dict[str, Any] | None = None


def new_person() -> str:
    """Somebody whom no other test knows."""
    return f"4917{next(_people):08d}"


async def until(
    look: Callable[[], Awaitable[T]], seconds: float = PATIENCE, what: Callable[[], object] | None = None
) -> T:
    """Waits until there is something to see; returns it."""
    async with patience(what or (lambda: look.__qualname__), seconds):
        while not (found := await look()):
            await asyncio.sleep(0.02)
    return found


class Line(ABC):
    """One channel, its key, and functions for both ends of it."""

    own_types: tuple[Sample, ...] = ()  # what people send here and nowhere else
    final_code = passing_code = 0  # two codes of the network: one that stays a no, one that does not
    tells_why = True  # whether the network explains a refusal in words

    def __init__(self, gateway: Gateway, channel_id: UUID, session: str, phone: str, key: str) -> None:
        self.gateway = gateway
        self.channel_id = channel_id
        self.session = session  # ch_…
        self.phone = phone
        self.key = key
        self._fed: list[Any] = []

    # -- the gateway's API --------------------------------------------------------------------------------------------

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        return await self.gateway.call(method, f"/api/v1{path}", body, key=self.key, **more)

    async def get(self, path: str) -> Any:
        answer = await self.call("GET", path)
        assert answer.status == 200, answer.body
        return answer.json()["data"]

    async def capabilities(self) -> Any:
        return (await self.get("/channel"))["capabilities"]

    async def send(self, phone: str | None = None, **fields: Any) -> str:
        """Sends a message that must be accepted; returns its id."""
        answer = await self.call("POST", "/message/send", {"phone": phone, **fields})
        assert answer.status == 200, answer.body
        data = answer.json()["data"]
        assert data["status"] == "PENDING"
        message_id: str = data["key"]["id"]
        return message_id

    async def message(self, message_id: str) -> Any:
        return await self.get(f"/messages/{message_id}")

    async def until_status(self, message_id: str, wanted: str, seconds: float = PATIENCE) -> Any:
        """Waits for a status; returns the message."""

        found: Any = {}

        async def look() -> Any:
            nonlocal found
            found = await self.message(message_id)
            return found if found["status"] == wanted else None

        return await until(look, seconds, lambda: f"message {message_id} is {found.get('status')}, not {wanted}")

    async def upload(self, file: File) -> str:
        """Stores a file at the gateway; returns its id."""
        name = f"?filename={file.filename}" if file.filename else ""
        answer = await self.call("POST", f"/media{name}", raw=file.content, headers={"content-type": file.mime_type})
        assert answer.status == 201, answer.body
        media_id: str = answer.json()["data"]["id"]
        return media_id

    async def events(self, about: str | None = None) -> list[Any]:
        """The feed in its order, read on from where the last look ended; with a number, what concerns this person."""
        while True:
            after = f"&after={self._fed[-1]['id']}" if self._fed else ""
            page = (await self.call("GET", f"/events?limit=100{after}")).json()["data"]
            self._fed += page
            if len(page) < 100:
                return [event for event in self._fed if about is None or _is_about(event, about)]

    async def received(self, person: str, number: int, action: str = "created") -> list[Any]:
        """What a person brought about, once there is so much of it: incoming messages, or changes."""

        async def look() -> list[Any] | None:
            found = [
                event
                for event in await self.events(person)
                if (event["type"], event["action"]) == ("message_notification", action)
                and (action != "created" or event["data"]["direction"] == "in")
            ]
            return found if len(found) >= number else None

        found = await until(look)
        assert found is not None
        assert len(found) == number, found
        return found

    async def acks(self, message_id: str) -> list[str]:
        """The statuses of a message in the feed, in order."""
        return [
            event["data"]["status"]
            for event in await self.events()
            if event["type"] == "ack_notification"
            and event["action"] == "message"
            and event["data"]["key"]["id"] == message_id
        ]

    async def connections(self) -> list[Any]:
        """The states of the connection in the feed, in order."""
        return [event["data"] for event in await self.events() if event["action"] == "connection"]

    async def until_state(self, wanted: str, seconds: float = PATIENCE) -> Any:
        """Waits for a state of the connection; returns the channel."""

        channel: Any = {}

        async def look() -> Any:
            nonlocal channel
            channel = await self.get("/channel")
            return channel if channel["connection"]["state"] == wanted else None

        return await until(look, seconds, lambda: f"the channel is {channel.get('connection')}, not {wanted}")

    # -- the network's side -------------------------------------------------------------------------------------------

    async def control(self, method: str, path: str, body: Any = None) -> Any:
        return await self.gateway.sandbox(method, f"/control{path}", body)

    async def fault(self, **rule: Any) -> None:
        """Puts a fault in force, for this line alone."""
        await self.control("POST", "/faults", {"phone_number_id": self.place, **rule})

    async def advance(self, seconds: float) -> None:
        """Moves the network's clock."""
        await self.control("POST", "/clock", {"advance": seconds})

    async def introduce(self, person: str, **traits: Any) -> None:
        await self.control("PUT", f"/people/{person}", traits)

    async def reads(self) -> list[str]:
        """The network's ids of what was marked as read."""
        rows = (await self.control("GET", f"/ledger?kind=read&phone_number_id={self.place}"))["entries"]
        return [row["message_id"] for row in rows]

    def shown(self, fields: dict[str, Any]) -> dict[str, Any]:
        """What the network carries of a request's fields."""
        return fields

    async def taken_once(self, message_id: str) -> Taken:
        """The message at the network, which must have taken it exactly once; with its file, if it has one."""
        (taken,) = [taken for taken in await self.taken() if taken.id == message_id]
        if taken.type not in FILE_TYPES:
            return taken
        file = await self.open_file(taken.content["media"])
        return msgspec.structs.replace(taken, content={**taken.content, "media": file})

    @property
    @abstractmethod
    def place(self) -> str:
        """The name of this line in the sandbox's rules and records."""

    @abstractmethod
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
        """A person sends something, in the neutral shapes; returns the network's id of it."""

    @abstractmethod
    async def bring(self, person: str, sample: Sample) -> str:
        """A person sends one of `own_types`."""

    @abstractmethod
    async def say_from_phone(self, person: str, body: str) -> str:
        """The owner of the number writes to a person on the phone itself."""

    @abstractmethod
    async def say_hidden(self, person: str, body: str, name: str | None = None) -> str:
        """A person whose number the network hides sends a text."""

    @abstractmethod
    async def taken(self) -> list[Taken]:
        """Every message that the network took, each time that it did, in its order."""

    @abstractmethod
    async def open_file(self, file: dict[str, str]) -> bytes:
        """A file of a message as its recipient gets it."""

    @abstractmethod
    async def offered(self, message_id: str) -> int:
        """How often the network was offered a message."""

    @abstractmethod
    async def receipt(self, message: Any, status: str) -> None:
        """The network reports a status out of the ordinary."""

    @abstractmethod
    async def change_number(self, old: str, new: str) -> None:
        """A person changes their number, and the network reports it."""

    @abstractmethod
    async def cut(self) -> None:
        """The connection breaks."""

    @abstractmethod
    async def repair(self) -> None:
        """The connection may come back."""


def _is_about(event: Any, person: str) -> bool:
    data = event["data"]
    named = (data.get("key") or {}).get("remoteJid", "").partition("@")[0]
    contact = data.get("contact") if isinstance(data.get("contact"), dict) else data
    return person in (named, contact.get("phone"))
