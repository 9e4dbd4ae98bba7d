"""A channel that is linked by QR code, as a network: `base.Network` over a link."""

from typing import Any

import msgspec

from gatepost.model.ids import message_id
from gatepost.networks.base import (
    CallFailed,
    CannotCompose,
    ErrorReaction,
    NetworkError,
    Outgoing,
    Person,
    Receipt,
    RemoteMedia,
    SendRefused,
)
from gatepost.networks.qr.compose import link_content
from gatepost.networks.qr.link import Link

_read: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class QrNetwork:
    """One channel's way to its network, through its link. The link itself is opened and watched elsewhere."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def send(self, message: Outgoing) -> Receipt:
        """Hands one message to the network, under our own id: a resend is the same message there."""
        try:
            type_, content = link_content(message.type, _read.decode(message.content), message.media)
        except CannotCompose as error:
            return SendRefused(NetworkError(0, "Not possible on a linked phone", str(error)), ErrorReaction.FINAL)
        return await self._link.send(
            message_id(message.id),
            Person(phone=message.phone),
            type_,
            content,
            quote=message.reply_to,
            target=message.target,
        )

    async def edit(self, network_id: str, person: Person, type_: str, content: str) -> None:
        """Changes a message that was sent."""
        try:
            composed = link_content(type_, _read.decode(content), {})
        except CannotCompose as error:
            raise CallFailed(NetworkError(0, "Not possible on a linked phone", str(error)), retry=False) from error
        await self._link.edit(network_id, person, *composed)

    async def delete(self, network_id: str, person: Person) -> None:
        """Deletes a message that was sent, for everyone."""
        await self._link.delete(network_id, person)

    async def mark_read(self, network_id: str, person: Person, *, typing: bool = False) -> None:
        """Shows a person that their message was read, and that an answer is being written."""
        await self._link.mark_read([network_id], person)
        if typing:
            await self._link.typing(person, True)

    async def check(self, phones: list[str]) -> list[Person]:
        """Who of these is on the network."""
        return await self._link.check(phones)

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        """Hands a file to the network; returns its name there."""
        return await self._link.put_media(content, mime_type, filename)

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        """Fetches a file of the network, of at most `most` bytes."""
        return await self._link.get_media(media.handle, most)

    @property
    def editor(self) -> "QrNetwork":
        return self

    @property
    def number_check(self) -> "QrNetwork":
        return self

    async def close(self) -> None:
        """Close the link; the phone stays linked."""
        await self._link.close()
