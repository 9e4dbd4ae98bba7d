"""Calls to the Graph API other than sending: the client, the token, and the meaning of answers."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import msgspec
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError
from pyreqwest.multipart import FormBuilder
from pyreqwest.request import RequestBuilder

from gatepost.networks.base import CallFailed, ErrorReaction, NetworkError, SendRefused
from gatepost.networks.cloud import errors
from gatepost.networks.cloud.file_hosts import FileHosts, read_url, same_origin
from gatepost.networks.json_cleanup import clean_json

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_encode = msgspec.json.Encoder().encode


class _ErrorData(msgspec.Struct):
    details: str | None = None


class _Error(msgspec.Struct):
    code: int
    message: str = ""
    error_data: _ErrorData | str | None = None
    error_subcode: int | None = None
    error_user_msg: str | None = None
    is_transient: Any = None


class _Refusal(msgspec.Struct):
    error: _Error


_decode_refusal = msgspec.json.Decoder(_Refusal).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def make_client(timeout: float, connect_timeout: float) -> Client:
    """Return the client of all channels of a process. It follows no redirects and uses no proxy."""
    return (
        ClientBuilder()
        .timeout(timedelta(seconds=timeout))
        .connect_timeout(timedelta(seconds=connect_timeout))
        .follow_redirects(False)
        .no_proxy()
        .user_agent("gatepost")
        .build()
    )


def never_connected(error: PyreqwestError) -> bool:
    """Return whether no connection was made. The class does not tell: a timeout after sending has the same one."""
    causes = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    return any(cause["message"] == "client error (Connect)" for cause in causes or ())


def parse_refusal(status: int, body: bytes, *, of_number: bool) -> SendRefused | None:
    """Return the network's error and the reaction to it; None if the body is not an error.

    `of_number`: the call was made to the number, so that an object that does not exist (100, subcode 33) is the number.
    """
    try:
        error = _decode_refusal(clean_json(body)).error
    except UNREADABLE:
        return None
    data = error.error_data
    details = (data.details if isinstance(data, _ErrorData) else data) or error.error_user_msg
    subcode = error.error_subcode if of_number else None
    reaction, _ = errors.reaction_to(error.code, status, transient=error.is_transient is True, subcode=subcode)
    words = errors.with_advice(error.code, error.message, details, error.error_subcode)
    entry = errors.find_entry(error.code, subcode)
    if entry is None:
        return SendRefused(words, reaction)
    return SendRefused(words, reaction, entry.wait or 0.0, entry.tries, entry.files)


def failure(status: int, body: bytes, *, of_number: bool = False) -> CallFailed:
    """Return the exception of a rejected call, with whether the same call may succeed later."""
    found = parse_refusal(status, body, of_number=of_number)
    if found is None:
        words = NetworkError(status, f"The network answered HTTP {status}")
        return CallFailed(words, retry=errors.by_status(status) is ErrorReaction.RETRY, status=status)
    patient = (ErrorReaction.RETRY, ErrorReaction.HOLD_CHANNEL, ErrorReaction.HOLD_RECIPIENT)
    return CallFailed(found.error, retry=found.reaction in patient, status=status, reaction=found.reaction)


def lost(error: PyreqwestError) -> CallFailed:
    """Return the exception of a call without an answer."""
    return CallFailed(NetworkError(0, f"The network cannot be reached: {error.message}"), retry=True)


def untrusted(url: str) -> CallFailed:
    """Return the exception of a file at a host that must not get the token. The operator can still list the host."""
    parsed = read_url(url)
    host = (parsed.host_str if parsed else None) or "no host"
    return CallFailed(
        NetworkError(0, f"The network names a file at {host}, which is not in cloud.media_hosts"), retry=True
    )


class Graph:
    """Makes calls with one token."""

    def __init__(self, client: Client, base_url: str, version: str, token: str, files: FileHosts | None = None) -> None:
        self._client = client
        self._files = files
        self._base = base_url.rstrip("/")
        self._root = f"{self._base}/{version}"
        self._headers = {"Authorization": f"Bearer {token}"}

    def url(self, *parts: str) -> str:
        """Return the URL of an object, or of one of its lists."""
        return "/".join([self._root, *(quote(part, safe="") for part in parts)])

    def trusts(self, url: str) -> bool:
        """Return whether the token may be sent to a URL: at the network's own address, or at a listed host."""
        return same_origin(url, self._base) or (self._files is not None and self._files.include(url))

    @asynccontextmanager
    async def file_request(self, url: str) -> AsyncIterator[RequestBuilder]:
        """Yield a request for a file, with the token; raise CallFailed for a URL that must not get the token."""
        if same_origin(url, self._base):
            yield self.request("GET", url)
        elif self._files is not None and self._files.include(url):
            async with self._files.dial(url) as client:
                yield client.request("GET", url).headers(self._headers)
        else:
            raise untrusted(url)

    def request(self, method: str, url: str) -> RequestBuilder:
        """Return a request with the token."""
        return self._client.request(method, url).headers(self._headers)

    async def get(self, *parts: str, query: Mapping[str, str] = {}) -> dict[str, Any]:
        """Read an object."""
        return await self._call(self.request("GET", self.url(*parts)).query(dict(query)))

    async def delete(self, *parts: str, query: Mapping[str, str] = {}) -> dict[str, Any]:
        """Delete an object."""
        return await self._call(self.request("DELETE", self.url(*parts)).query(dict(query)))

    async def post(self, *parts: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Post JSON."""
        request = self.request("POST", self.url(*parts)).header("Content-Type", "application/json")
        return await self._call(request.body_bytes(_encode(body)))

    async def post_form(self, *parts: str, form: FormBuilder, seconds: float) -> dict[str, Any]:
        """Post a multipart form to the number, with its own time limit."""
        request = self.request("POST", self.url(*parts)).multipart(form).timeout(timedelta(seconds=seconds))
        return await self._call(request, of_number=True)

    async def _call(self, request: RequestBuilder, *, of_number: bool = False) -> dict[str, Any]:
        try:
            response = await request.build().send()
            body = bytes(await response.bytes())
        except PyreqwestError as error:
            raise lost(error) from error
        if not 200 <= response.status < 300:
            raise failure(response.status, body, of_number=of_number)
        try:
            return _decode_object(clean_json(body))
        except UNREADABLE:
            words = NetworkError(0, f"The network answered {response.status} with something that is not a JSON object")
            raise CallFailed(words, retry=True, status=response.status) from None
