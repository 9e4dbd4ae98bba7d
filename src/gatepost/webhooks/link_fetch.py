"""Fetches the file of a customer's link: through the guard, pinned, bounded in time and size.

fetch ─► guard: CheckedUrl ─► GET to a checked address ─► 200, Content-Type, ≤ limit bytes ─► FetchedFile
                            │ no redirect, no proxy, no decompression, HTTP/1.1 only
everything else ────────────┴─► FetchFailure: the reason, and whether a retry may help
"""

import asyncio
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from pyreqwest.client import Client
from pyreqwest.exceptions import PyreqwestError, RequestTimeoutError
from pyreqwest.response import Response

from gatepost.model.errors import invalid_field
from gatepost.model.file import FetchedFile, FetchFailure, mime_type
from gatepost.model.limits import format_size
from gatepost.networks.base import CallFailed, NetworkError
from gatepost.webhooks.guard import ForbiddenUrl, Guard, UnresolvedUrl, UrlRefused
from gatepost.webhooks.pinned_client import explain_failure, pinned_client
from gatepost.webhooks.signature import USER_AGENT

UNTYPED = "application/octet-stream"
_MESSAGES = {
    "timeout": "The server of the link could not be connected to in time.",
    "connect": "The server of the link refused the connection, or cannot be reached.",
    "tls": "No secure connection to the server of the link could be made.",
    "protocol": "The server of the link broke off, or did not answer in HTTP.",
}
_RETRYABLE = frozenset({408, 425, 429})  # and all from 500 on
_CONNECT_SECONDS = 5.0


def check_link(guard: Guard, url: str, field: str = "media.link") -> None:
    """Reject a forbidden link, as far as it can be checked without resolving its name."""
    try:
        guard.check_shape(url)
    except ForbiddenUrl as error:
        raise invalid_field(field, error.reason, "forbidden_url") from None


async def fetch_guarded(
    guard: Guard,
    url: str,
    limit: int,
    *,
    deadline: float = 60.0,
    roots: Sequence[bytes] = (),
    channel: Hashable = None,
) -> FetchedFile | FetchFailure:
    """Fetch the file at a URL for a channel, of at most `limit` bytes, within the deadline."""
    try:
        async with asyncio.timeout(deadline):
            target = await guard.check(url, channel)
            async with pinned_client(target, target.address, _CONNECT_SECONDS, roots, USER_AGENT).build() as client:
                request = client.get(target.url).timeout(timedelta(seconds=deadline)).build_streamed()
                async with request as response:
                    return await _read(response, limit)
    except ForbiddenUrl as error:
        return FetchFailure(error.reason, retry=False)
    except UnresolvedUrl as error:
        return FetchFailure(error.reason, retry=True)
    except (TimeoutError, RequestTimeoutError):
        return FetchFailure(f"The link did not return its file within {deadline:g} s.", retry=True)
    except PyreqwestError as error:
        return FetchFailure(_MESSAGES[explain_failure(error, url.partition(":")[0].lower(), deadline)[0]], retry=True)


@asynccontextmanager
async def open_network_file(
    guard: Guard, connect_deadline: float, channel: Hashable, url: str, *, roots: Sequence[bytes] = ()
) -> AsyncIterator[Client]:
    """Yield a client for a file URL of a network, pinned to a checked address; raise CallFailed."""
    try:
        target = await guard.check(url, channel)
    except UrlRefused as error:
        raise CallFailed(NetworkError(0, error.reason), retry=isinstance(error, UnresolvedUrl)) from None
    async with pinned_client(target, target.address, connect_deadline, roots, "gatepost").build() as client:
        yield client


async def _read(response: Response, limit: int) -> FetchedFile | FetchFailure:
    if response.status != 200:
        return _refused(response.status)
    if (_header(response, "content-encoding") or "identity").lower() != "identity":
        return FetchFailure("The link returned a compressed response although none was requested.", retry=False)
    length = _header(response, "content-length") or ""
    if length.isdigit() and int(length) > limit:
        return _too_large(limit)
    content = bytearray()
    while chunk := await response.body_reader.read_chunk():
        content += chunk
        if len(content) > limit:
            return _too_large(limit)
    return FetchedFile(bytes(content), mime_type(_header(response, "content-type")) or UNTYPED)


def _refused(status: int) -> FetchFailure:
    if 300 <= status < 400:
        return FetchFailure(f"The link answered with a redirect ({status}); redirects are not followed.", retry=False)
    return FetchFailure(f"The link answered {status} instead of 200.", retry=status >= 500 or status in _RETRYABLE)


def _too_large(limit: int) -> FetchFailure:
    return FetchFailure(f"The file behind the link has more than {format_size(limit)}.", retry=False)


def _header(response: Response, name: str) -> str | None:
    try:
        return response.headers.get(name)
    except ValueError:  # a value that is not ASCII
        return None
