"""The interface between a session and the library that holds its link."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec


class EngineError(Exception):
    """A request that the library could not do. `code` is the network's; `sure`: whether it was certainly not sent."""

    def __init__(self, text: str, code: int | None = None, *, sure: bool | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.sure = sure


class EngineListener(msgspec.Struct, frozen=True):
    """The callbacks for the events of one device. All but `store` may be called from any thread.

    An event is one of the library's types (`protos.neo`), or a list of frames if no type fits.
    """

    event: Callable[[Any], None]
    code: Callable[[str], None]
    login: Callable[[str], None]
    store: Callable[[Any], Awaitable[None]]  # like `event`, but waits until the gateway has stored it; event loop only


class EngineSent(msgspec.Struct, frozen=True):
    id: str
    at: float


class PollVote(msgspec.Struct, frozen=True):
    """A decrypted vote: the SHA-256 of each chosen option, and the texts of all options if the engine has them."""

    chosen: list[bytes]
    options: list[str] = []


class Uploaded(msgspec.Struct, frozen=True):
    """The address and the keys of a file on the network."""

    url: str
    direct_path: str
    media_key: bytes
    sha256: bytes
    encrypted_sha256: bytes
    size: int


class Phone(Protocol):
    """One linked phone. Every method may raise EngineError."""

    async def me(self) -> Any:
        """Return the phone's own account as a `neo.Device`."""

    async def send(self, to: Any, said: Any, id_: str | None) -> EngineSent:
        """Send a message, with this id if the engine supports it."""

    async def known(self, phones: list[str]) -> list[tuple[str, Any]]:
        """Return those of the numbers that are on the network, each with its JID."""

    async def read(self, chat: Any, ids: list[str]) -> None:
        """Mark messages of a chat as read."""

    async def typing(self, chat: Any, on: bool) -> None:
        """Show that a reply is being typed, or no longer."""

    async def pair(self, phone: str) -> str:
        """Request a code to type on the phone instead of scanning one."""

    async def upload(self, kind: str, content: bytes) -> Uploaded:
        """Upload a file. `kind` is image, video, audio or document."""

    async def download(self, kind: str, said: Any) -> bytes:
        """Download the file of a message."""

    async def vote(self, event: Any) -> PollVote:
        """Decrypt a vote in a poll."""

    async def logout(self) -> None:
        """Unlink the phone; returns when the network has confirmed it."""


class Engine(Protocol):
    """A loaded library."""

    own_ids: bool  # whether messages are sent with the ids that we choose

    async def holds(self, device: str) -> bool:
        """Return whether the store holds a device."""

    async def run(self, life: str, device: str | None, to: EngineListener) -> str | dict[str, Any]:
        """Connect, and return when the connection ends: the error as text or as a frame, or an empty string."""

    async def stop(self, life: str) -> None:
        """End a connection; its `run` returns. The phone stays linked."""

    async def stop_all(self) -> None:
        """End all connections before the process exits."""

    def phone(self, life: str) -> Phone:
        """Return the phone of a running connection."""
