"""Fetching the file behind a customer's link: through the guard, pinned, bounded in time and size.

fetch ─► guard: Target ─► GET to a checked address ─► 200, Content-Type, ≤ most bytes ─► Fetched
                            │ no redirect, no proxy, no decompression, HTTP/1.1 only
everything else ────────────┴─► Unfetched, in plain words, and whether it may work later
"""

import asyncio
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError, RequestTimeoutError
from pyreqwest.response import Response

from gatepost.model.errors import invalid_field
from gatepost.model.file import Fetched, Unfetched, mime_type
from gatepost.model.limits import size_words
from gatepost.networks.base import CallFailed, NetworkError
from gatepost.webhooks.guard import CheckedUrl, ForbiddenUrl, Guard, UnresolvedUrl, UrlRefused
from gatepost.webhooks.http_post import explain

UNTYPED = "application/octet-stream"
_WORDS = {
    "timeout": "The server of the link could not be connected to in time.",
    "connect": "The server of the link refused the connection, or cannot be reached.",
    "tls": "No secure connection to the server of the link could be made.",
    "protocol": "The server of the link broke off, or did not answer in HTTP.",
}
_PASSING = frozenset({408, 425, 429})  # refusals that may pass by themselves, as those from 500 on


def check_link(guard: Guard, url: str, field: str = "media.link") -> None:
    """Refuses a link that no one should be made to fetch, as far as can be told without asking for addresses."""
    try:
        guard.check_shape(url)
    except ForbiddenUrl as error:
        raise invalid_field(field, error.reason, "forbidden_url") from None


async def fetch_guarded(
    guard: Guard,
    url: str,
    most: int,
    *,
    deadline: float = 60.0,
    connect_deadline: float = 5.0,
    roots: Sequence[bytes] = (),
    user_agent: str = "Gatepost",
    channel: Hashable = None,
) -> Fetched | Unfetched:
    """The file at a URL that a channel names, of at most `most` bytes, within the deadline."""
    try:
        async with asyncio.timeout(deadline):
            target = await guard.check(url, channel)
            async with _client(target, connect_deadline, roots, user_agent) as client:
                request = client.get(target.url).timeout(timedelta(seconds=deadline)).build_streamed()
                async with request as response:
                    return await _read(response, most)
    except ForbiddenUrl as error:
        return Unfetched(error.reason, retry=False)
    except UnresolvedUrl as error:
        return Unfetched(error.reason, retry=True)
    except (TimeoutError, RequestTimeoutError):
        return Unfetched(f"The link did not give its file within {deadline:g} s.", retry=True)
    except PyreqwestError as error:
        return Unfetched(_WORDS[explain(error, url.partition(":")[0].lower(), deadline)[0]], retry=True)


@asynccontextmanager
async def dial_network_file(
    guard: Guard, connect_deadline: float, channel: Hashable, url: str, *, roots: Sequence[bytes] = ()
) -> AsyncIterator[Client]:
    """A client for a file that a network names, pinned to an address that was checked; raises CallFailed."""
    try:
        target = await guard.check(url, channel)
    except UrlRefused as refused:
        raise CallFailed(NetworkError(0, refused.reason), retry=isinstance(refused, UnresolvedUrl)) from None
    async with _client(target, connect_deadline, roots, "gatepost") as client:
        yield client


def _client(target: CheckedUrl, connect_deadline: float, roots: Sequence[bytes], user_agent: str) -> Client:
    """A client for this one fetch; what was checked is what is dialled."""
    builder = ClientBuilder().http1_only().no_proxy().follow_redirects(False).referer(False).user_agent(user_agent)
    builder = builder.gzip(False).brotli(False).zstd(False).deflate(False)
    builder = builder.connect_timeout(timedelta(seconds=connect_deadline))
    for root in roots:
        builder = builder.add_root_certificate_pem(root)
    if not target.literal:
        builder = builder.resolve(target.host, target.address, target.port)
    return builder.build()


async def _read(response: Response, most: int) -> Fetched | Unfetched:
    if response.status != 200:
        return _refused(response.status)
    if (_header(response, "content-encoding") or "identity").lower() != "identity":
        return Unfetched("The link gave a compressed answer although none was asked for.", retry=False)
    length = _header(response, "content-length") or ""
    if length.isdigit() and int(length) > most:
        return _too_large(most)
    content = bytearray()
    while chunk := await response.body_reader.read_chunk():
        content += chunk
        if len(content) > most:
            return _too_large(most)
    return Fetched(bytes(content), mime_type(_header(response, "content-type")) or UNTYPED)


def _refused(status: int) -> Unfetched:
    if 300 <= status < 400:
        return Unfetched(f"The link answered with a redirect ({status}); redirects are not followed.", retry=False)
    return Unfetched(f"The link answered {status} instead of 200.", retry=status >= 500 or status in _PASSING)


def _too_large(most: int) -> Unfetched:
    return Unfetched(f"The file behind the link has more than {size_words(most)}.", retry=False)


def _header(response: Response, name: str) -> str | None:
    try:
        return response.headers.get(name)
    except ValueError:  # a value beyond ASCII cannot be read as text
        return None
