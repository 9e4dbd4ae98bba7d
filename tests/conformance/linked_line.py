"""A line whose number is a phone: what the tests of linked phones need besides."""

from abc import abstractmethod
from typing import Any

from tests.conformance.line import Line, until


class LinkedLine(Line):
    """A phone that is linked and unlinked, and reports more than an official number."""

    @abstractmethod
    async def link(self) -> None:
        """From nothing to connected: asked for, scanned, and taken up by the sending side."""

    @abstractmethod
    async def type_code(self, code: str) -> None:
        """The owner types a pairing code on the phone."""

    @abstractmethod
    async def end(self, reason: str) -> None:
        """The link ends, for one of the reasons of the network."""

    @abstractmethod
    async def heal(self) -> None:
        """What kept the link down is over."""

    @abstractmethod
    async def is_linked(self) -> bool:
        """Whether the phone still lists our device."""

    @abstractmethod
    async def unacknowledged(self) -> int:
        """How many reports the network would repeat."""

    @abstractmethod
    async def reveal(self, person: str, name: str) -> None:
        """Their number becomes known."""

    @abstractmethod
    async def say_in_group(self, person: str, body: str, chat: dict[str, str]) -> str:
        """A person writes to many at once."""

    @abstractmethod
    async def label(self, id_: str, action: str, **about: Any) -> None:
        """The owner makes, changes, puts on, takes off or deletes a label on the phone."""

    async def until_acknowledged(self) -> None:
        """Waits until the network has nothing to repeat."""

        async def look() -> bool:
            return not await self.unacknowledged()

        await until(look)
