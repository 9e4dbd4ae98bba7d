"""What both transports share: building the HTTP client and requests, interpreting failures."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from pyreqwest.client import ClientBuilder, SyncClientBuilder
from pyreqwest.exceptions import DetailedPyreqwestError, PyreqwestError
from pyreqwest.request import RequestBuilder, SyncRequestBuilder
from pyreqwest.response import Response, SyncResponse

from gatepost_client.wire import Answer, Lost, Request

Builder = TypeVar("Builder", ClientBuilder, SyncClientBuilder)
Dressed = TypeVar("Dressed", RequestBuilder, SyncRequestBuilder)
_PIECE = 1 << 18
_SLOWEST = 8 * 1024  # bytes per second of an upload
_LONGEST = 900.0  # seconds that the gateway waits for a whole body


class GatewayConfig(msgspec.Struct, frozen=True):
    """The gateway's address and the timeout of one attempt. Its repr does not show the key."""

    url: str
    timeout: float
    use_proxy: bool

    def target(self, request: Request) -> str:
        """Return the whole address of a request."""
        return self.url + request.target


def open_line(url: str, timeout: float, use_proxy: bool) -> GatewayConfig:
    """Check the address of a gateway: `https://host`, perhaps with a port and a folder."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("the gateway's address looks like https://gateway.example.com")
    return GatewayConfig(url.rstrip("/"), timeout, use_proxy)


def check_process(made_in: int) -> None:
    """Raise if the client was made before a fork: its threads are in the other process, and it would wait forever."""
    if os.getpid() != made_in:
        raise RuntimeError(
            "This client was made before the process was forked. Make the client in each worker process, after the "
            "fork, and none before it."
        )


def set_up(builder: Builder, line: GatewayConfig, key: str, *, uploads: bool = False) -> Builder:
    """Return an HTTP client for one gateway and key. Redirects are not followed: the key must not leak.

    One for uploads has no timeout for reading: it would count from the first byte of the request.
    """
    if not (key.isascii() and key.isprintable()):  # checked here: the library's error would show the key
        raise ValueError("the key has characters that no key has, such as a line break at its end")
    seconds = timedelta(seconds=line.timeout)
    builder = builder.default_headers({"authorization": f"Bearer {key}"}).user_agent("gatepost-client")
    builder = builder.follow_redirects(False).connect_timeout(seconds)
    builder = builder if uploads else builder.read_timeout(seconds)
    return builder if line.use_proxy else builder.no_proxy()


def dress(builder: Dressed, request: Request, line: GatewayConfig) -> Dressed:
    """Return a request with headers and body. Downloads time out only when no bytes flow, uploads by their size."""
    if request.key is not None:
        builder = builder.header("idempotency-key", request.key)
    if request.body is not None:
        builder = builder.header("content-type", request.content_type)
    if isinstance(request.body, Path):
        builder = builder.body_stream(read_pieces(request.body))
    elif request.body is not None:
        builder = builder.body_bytes(request.body)
    if request.live:
        builder = builder.streamed_read_buffer_limit(0)
    if request.streamed:
        return builder
    return builder.timeout(timedelta(seconds=line.timeout + min(request.upload_size / _SLOWEST, _LONGEST)))


def read_pieces(path: Path) -> Iterator[bytes]:
    """Yield a file, a piece at a time."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def headers_of(response: Response | SyncResponse) -> dict[str, str]:
    """Return the headers of an answer, with names in lower case."""
    return {name.lower(): value for name, value in response.headers.items()}


class OpenResponse(Answer, frozen=True):
    """A response whose body is read in chunks."""

    reader: Any = None


def explain(error: PyreqwestError) -> Lost:
    """Return the error of a failed exchange, which says whether the request may have been sent."""
    details = error.details if isinstance(error, DetailedPyreqwestError) else {"causes": None}
    causes = [cause["message"] for cause in details["causes"] or ()]
    # The class of the error does not tell: a deadline while waiting for the answer counts as connecting there.
    connecting = "client error (Connect)" in causes
    last = causes[-1] if causes else error.message
    return Lost(f"The gateway {'cannot be reached' if connecting else 'did not answer'}: {last}", sent=not connecting)
