"""The Cloud API's `POST /{version}/{phone_number_id}/messages`, for text."""

import tomllib
from datetime import timedelta
from importlib import resources
from typing import Any

import msgspec
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError

from gatepost.networks.base import NetworkError, Outgoing, Reaction, Receipt, Refused, Sent, Unknown, Unsent
from gatepost.networks.cloud.callback_data import pack


def _load_reactions() -> dict[int, Reaction]:
    table = tomllib.loads(resources.files(__package__).joinpath("errors.toml").read_text())
    return {code: Reaction(name) for name, row in table.items() for code in row["codes"]}


_REACTIONS = _load_reactions()
_MAYBE_TAKEN = (502, 504)  # a proxy on the way gave up: the message may be through
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, IndexError)
_encode = msgspec.json.Encoder().encode


class _Id(msgspec.Struct):
    id: str


class _Taken(msgspec.Struct):
    messages: list[_Id]


class _ErrorData(msgspec.Struct):
    details: str | None = None


class _Error(msgspec.Struct):
    code: int
    message: str = ""
    error_data: _ErrorData | str | None = None


class _Refusal(msgspec.Struct):
    error: _Error


_decode_taken = msgspec.json.Decoder(_Taken).decode
_decode_refusal = msgspec.json.Decoder(_Refusal).decode


def make_client(timeout: float, connect_timeout: float) -> Client:
    """One client for all channels of a process: connections are shared, nothing is followed, no proxy is asked."""
    return (
        ClientBuilder()
        .timeout(timedelta(seconds=timeout))
        .connect_timeout(timedelta(seconds=connect_timeout))
        .follow_redirects(False)
        .no_proxy()
        .user_agent("gatepost")
        .build()
    )


class CloudNetwork:
    """One official number."""

    def __init__(self, client: Client, base_url: str, version: str, phone_number_id: str, token: str) -> None:
        self._client = client
        self._url = f"{base_url.rstrip('/')}/{version}/{phone_number_id}/messages"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    async def send(self, message: Outgoing) -> Receipt:
        """Posts one message. What cannot be told for sure is `Unknown`, never a guess."""
        request = self._client.post(self._url).headers(self._headers).body_bytes(_encode(request_body(message)))
        try:
            response = await request.build().send()
            body = bytes(await response.bytes())
        except PyreqwestError as error:
            if _never_connected(error):
                return Unsent(f"The network cannot be reached: {error.message}")
            return Unknown(f"The network's answer was lost: {error.message}")
        return read_answer(response.status, body)

    async def close(self) -> None:
        """Connections belong to the process's client, which closes them."""


def request_body(message: Outgoing) -> dict[str, Any]:
    """The JSON of one send."""
    body: dict[str, Any] = {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+" + message.phone,
        "type": message.type,
        message.type: msgspec.Raw(message.content.encode()),
        "biz_opaque_callback_data": pack(message.id, message.attempt),
    }
    if message.reply_to:
        body["context"] = {"message_id": message.reply_to}
    return body


def read_answer(status: int, body: bytes) -> Receipt:
    """What the network's answer means."""
    if 200 <= status < 300:
        try:
            return Sent(_decode_taken(body).messages[0].id)
        except _UNREADABLE:
            return Unknown(f"The network answered {status} without a message id")
    try:
        error = _decode_refusal(body).error
    except _UNREADABLE:
        return _without_words(status)
    fallback = Reaction.RETRY if status >= 500 or status == 429 else Reaction.FINAL
    details = error.error_data.details if isinstance(error.error_data, _ErrorData) else error.error_data
    return Refused(NetworkError(error.code, error.message, details), _REACTIONS.get(error.code, fallback))


def _never_connected(error: PyreqwestError) -> bool:
    """The class of the error does not tell: a deadline that passes after sending is a ConnectTimeoutError as well."""
    causes = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    return any(cause["message"] == "client error (Connect)" for cause in causes or ())


def _without_words(status: int) -> Receipt:
    if status in _MAYBE_TAKEN:
        return Unknown(f"The network answered HTTP {status}")
    reaction = Reaction.RETRY if status >= 500 or status == 429 else Reaction.FINAL
    return Refused(NetworkError(status, f"The network answered HTTP {status}"), reaction)
