"""The network of a linked phone: `base.Network` over a link."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gatepost.model.ids import message_id
from gatepost.model.person import person_at
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
    """The network of one linked channel. `inbound/link_keeper.py` opens the link."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.delete, self.check = link.delete, link.check
        self.put_media, self.close = link.put_media, link.close

    async def send(self, message: Outgoing) -> Receipt:
        """Send one message with our own id, so that a resend is not shown twice."""
        try:
            type_, content = link_content(message.type, _read.decode(message.content), message.media)
        except CannotCompose as error:
            return SendRefused(NetworkError(0, "Not supported on a linked phone", str(error)), ErrorReaction.FINAL)
        return await self._link.send(
            message_id(message.id),
            person_at(message.phone),
            type_,
            content,
            quote=message.reply_to,
            target=message.target,
        )

    async def edit(self, network_id: str, person: Person, type_: str, content: str) -> None:
        """Change a message that was sent."""
        try:
            composed = link_content(type_, _read.decode(content), {})
        except CannotCompose as error:
            raise CallFailed(NetworkError(0, "Not supported on a linked phone", str(error)), retry=False) from error
        await self._link.edit(network_id, person, *composed)

    async def mark_read(
        self, network_id: str, person: Person, *, earlier: Sequence[str] = (), typing: bool = False
    ) -> None:
        """Mark a person's messages as read, and optionally show that a reply is being typed."""
        await self._link.mark_read([*earlier, network_id], person)
        if typing:
            await self._link.typing(person, True)

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        """Download a file of at most `most` bytes."""
        return await self._link.get_media(media.handle, most)

    @property
    def editor(self) -> "QrNetwork":
        return self

    @property
    def number_check(self) -> "QrNetwork":
        return self
