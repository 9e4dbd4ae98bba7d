"""One official number: sending by `POST /{version}/{phone_number_id}/messages`, reading, and files."""

from collections.abc import Sequence
from typing import Any

import msgspec
from pyreqwest.client import Client
from pyreqwest.exceptions import PyreqwestError

from gatepost.networks.base import (
    CannotCompose,
    ErrorReaction,
    NetworkError,
    Outgoing,
    Person,
    Receipt,
    RemoteMedia,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from gatepost.networks.cloud import errors, media
from gatepost.networks.cloud.compose import request_body
from gatepost.networks.cloud.file_hosts import FileHosts
from gatepost.networks.cloud.graph import UNREADABLE, Graph, make_client, never_connected, parse_refusal
from gatepost.networks.cloud.json_values import require_id
from gatepost.networks.json_cleanup import clean_json

__all__ = ["CloudNetwork", "make_client", "parse_answer"]

_MAYBE_TAKEN = (502, 504)  # a proxy timed out: the network may have accepted the message
_HELD = "held_for_quality_assessment"
_encode = msgspec.json.Encoder().encode


class _Taken(msgspec.Struct):
    id: str
    message_status: Any = None


class _Answer(msgspec.Struct):
    messages: list[_Taken]
    contacts: Any = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


class CloudNetwork:
    """One official number."""

    editor = number_check = None

    def __init__(
        self,
        client: Client,
        base_url: str,
        version: str,
        phone_number_id: str,
        token: str,
        files: FileHosts | None = None,
    ) -> None:
        self._client = client
        self._graph = Graph(client, base_url, version, token, files)
        self._number = phone_number_id
        self._url = self._graph.url(phone_number_id, "messages")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    async def send(self, message: Outgoing) -> Receipt:
        """Send one message. An outcome that is not certain is `SendUnknown`."""
        try:
            body = _encode(request_body(message))
        except CannotCompose as error:
            words = NetworkError(0, "The message is not supported on this network", str(error))
            return SendRefused(words, ErrorReaction.FINAL)
        request = self._client.post(self._url).headers(self._headers).body_bytes(body)
        try:
            response = await request.build().send()
            answer = bytes(await response.bytes())
        except PyreqwestError as error:
            if never_connected(error):
                return SendNotMade(f"The network cannot be reached: {error.message}")
            return SendUnknown(f"The network's answer was lost: {error.message}")
        return parse_answer(response.status, answer)

    async def mark_read(
        self, network_id: str, person: Person, *, earlier: Sequence[str] = (), typing: bool = False
    ) -> None:
        """Mark a person's message as read, and optionally show that a reply is being typed.

        The network marks earlier ones by itself.
        """
        body: dict[str, Any] = {"messaging_product": "whatsapp", "status": "read", "message_id": network_id}
        if typing:
            body["typing_indicator"] = {"type": "text"}
        await self._graph.post(self._number, "messages", body=body)

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        """Upload a file and return its id on the network."""
        return await media.upload(self._graph, self._number, content, mime_type, filename)

    async def get_media(self, media_: RemoteMedia, most: int) -> bytes:
        """Download a file of at most `most` bytes."""
        return await media.download(self._graph, self._number, media_, most)

    async def close(self) -> None:
        """Do nothing: connections belong to the process's client."""


def parse_answer(status: int, body: bytes) -> Receipt:
    """Return the receipt of the network's answer."""
    if 200 <= status < 300:
        try:
            answer = _decode_answer(clean_json(body))
            taken = answer.messages[0]
            return SendAccepted(require_id(taken.id), held=taken.message_status == _HELD, wa_id=_wa_id(answer.contacts))
        except (*UNREADABLE, IndexError, ValueError):
            return SendUnknown(f"The network answered {status} without a message id")
    return parse_refusal(status, body, of_number=True) or _by_status(status)


def _wa_id(contacts: Any) -> str | None:
    """Return the recipient's number as the network writes it, if it is given."""
    first = contacts[0] if isinstance(contacts, list) and contacts else None
    number = first.get("wa_id") if isinstance(first, dict) else None
    return number if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 20 else None


def _by_status(status: int) -> Receipt:
    if status in _MAYBE_TAKEN:
        return SendUnknown(f"The network answered HTTP {status}")
    return SendRefused(NetworkError(status, f"The network answered HTTP {status}"), errors.by_status(status))
