"""What a session asks of the library that holds its link, whichever library it is."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec


class EngineError(Exception):
    """The library could not do what was asked. `code` is the network's own; `sure`: nothing left this machine."""

    def __init__(self, text: str, code: int | None = None, *, sure: bool | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.sure = sure


class Callbacks(msgspec.Struct, frozen=True):
    """Where news of one device goes; each may be called from any thread.

    An event is one of the library's types (`protos.neo`), or a list of frames where those have no word for it.
    """

    event: Callable[[Any], None]
    code: Callable[[str], None]
    login: Callable[[str], None]
    told: Callable[[Any], Awaitable[None]]  # as `event`, and waits until the gateway has it for good; on the loop only


class EngineSent(msgspec.Struct, frozen=True):
    id: str
    at: float


class PollVote(msgspec.Struct, frozen=True):
    """What a vote says: the SHA-256 of each option that was chosen, and the words of all, where the engine has them."""

    chosen: list[bytes]
    options: list[str] = []


class Uploaded(msgspec.Struct, frozen=True):
    """Where a file lies on the network, and how it is read."""

    url: str
    direct_path: str
    media_key: bytes
    sha256: bytes
    encrypted_sha256: bytes
    size: int


class Phone(Protocol):
    """One linked phone. Everything raises Trouble."""

    async def me(self) -> Any:
        """Whose phone it is, as `neo.Device`."""

    async def send(self, to: Any, said: Any, id_: str | None) -> EngineSent:
        """Sends a message, under this id where the engine can."""

    async def known(self, phones: list[str]) -> list[tuple[str, Any]]:
        """Who of these is on the network: the number that was asked for, and its JID."""

    async def read(self, chat: Any, ids: list[str]) -> None:
        """Marks messages of a chat as read."""

    async def typing(self, chat: Any, on: bool) -> None:
        """Shows that an answer is being written, or no longer."""

    async def pair(self, phone: str) -> str:
        """A code to type on the phone instead of scanning one."""

    async def upload(self, kind: str, content: bytes) -> Uploaded:
        """Hands a file to the network: image, video, audio or document."""

    async def download(self, kind: str, said: Any) -> bytes:
        """The file that a message holds."""

    async def vote(self, event: Any) -> PollVote:
        """What a sealed vote in a poll says."""

    async def logout(self) -> None:
        """Ends the link for good."""


class Engine(Protocol):
    """A library, loaded."""

    own_ids: bool  # whether messages go under ids that we choose

    async def holds(self, device: str) -> bool:
        """Whether the store holds a device."""

    async def run(self, life: str, device: str | None, to: Callbacks) -> str | dict[str, Any]:
        """Connects, and returns when the connection is over: what went wrong in words or as a frame, or nothing."""

    async def stop(self, life: str) -> None:
        """Ends a connection; its `run` returns. The phone stays linked."""

    async def stop_all(self) -> None:
        """Ends everything, before the process ends."""

    def phone(self, life: str) -> Phone:
        """The phone behind a connection that runs."""
