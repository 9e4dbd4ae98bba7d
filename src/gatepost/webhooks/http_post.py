"""One POST to a customer's endpoint: guarded, pinned, bounded in time and size.

    post ─► guard: CheckedUrl ─► client of (scheme, host, port, address) ─► status, headers, ≤ 64 KiB ─► PostResult
                                   │ connect failed, nothing sent: the next checked address
                                   └─ no redirect, no proxy, no decompression, HTTP/1.1 only

Nothing but cancellation is raised. A response that is incomplete at the deadline has no status, only an error, so that
a partial 200 never counts as delivered.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from datetime import timedelta
from time import perf_counter

import msgspec
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import ClientClosedError, DetailedPyreqwestError, PyreqwestError, RequestTimeoutError
from pyreqwest.http import HeaderMap
from pyreqwest.request import StreamRequest

from gatepost.model.delivery import CONNECTION_HEADERS
from gatepost.webhooks.guard import CheckedUrl, ForbiddenUrl, Guard, UnresolvedUrl
from gatepost.webhooks.retry import Failure

BODY_LIMIT = 64 * 1024
HEADERS_LIMIT = 16 * 1024
ADDRESSES_TRIED = 3
# Just under the five seconds after which many servers close an idle connection: a POST must not coincide with that.
IDLE_SECONDS = 4.0
IDLE_PER_HOST = 64

Headers = tuple[tuple[str, str], ...]
ClientKey = tuple[str, str, int, str]
# Literal addresses need no pin and share one client.
LITERAL: ClientKey = ("", "", 0, "")


class PostResult(msgspec.Struct, frozen=True):
    """The result of a POST: a status with headers and body, or an error message and its kind."""

    status: int | None
    headers: Headers
    body: bytes
    truncated: bool
    latency_ms: float
    error: str | None = None
    error_kind: Failure | None = None


class Poster:
    """Posts to endpoints over keep-alive connections, each pinned to an address that the guard has checked."""

    def __init__(
        self,
        guard: Guard,
        *,
        deadline: float = 15.0,
        connect_deadline: float = 5.0,
        clients: int = 512,
        roots: Sequence[bytes] = (),
        user_agent: str = "Gatepost",
    ) -> None:
        self._guard = guard
        self._deadline = deadline
        self._connect_deadline = connect_deadline
        self._most_clients = clients
        self._roots = tuple(roots)
        self._user_agent = user_agent
        self._clients: OrderedDict[ClientKey, Client] = OrderedDict()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, channel: Hashable = None) -> PostResult:
        """Post `body` to `url` for a channel, and return the result within the deadline."""
        start = perf_counter()
        try:
            target = self._guard.recall(url) or await self._check(url, channel)
            return await self._try_addresses(target, headers, body, start)
        except ForbiddenUrl as error:
            return _failed(start, "forbidden", error.reason)
        except UnresolvedUrl as error:
            return _failed(start, "unresolved", error.reason)

    async def close(self) -> None:
        """Close idle connections; POSTs in flight fail at once."""
        while self._clients:
            _, client = self._clients.popitem()
            await client.close()

    async def _check(self, url: str, channel: Hashable) -> CheckedUrl:
        try:
            async with asyncio.timeout(self._deadline):
                return await self._guard.check(url, channel)
        except TimeoutError:
            raise UnresolvedUrl("The host name could not be resolved in time.") from None

    async def _try_addresses(
        self, target: CheckedUrl, headers: Mapping[str, str], body: bytes, start: float
    ) -> PostResult:
        for address in target.addresses[:ADDRESSES_TRIED]:
            left = self._deadline - (perf_counter() - start)
            try:
                request = self._request(target, address, headers, body, left)
                return await _exchange(request, start)
            except PyreqwestError as error:
                result = _failed(start, *explain_failure(error, target.scheme, self._deadline))
                if not _while_connecting(error) or perf_counter() - start >= self._deadline:
                    break
        return result

    def _request(
        self, target: CheckedUrl, address: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> StreamRequest:
        for name in headers:
            if name.lower() in CONNECTION_HEADERS:
                raise ForbiddenUrl(f"The header {name} cannot be set: it controls the connection.")
        request = self._client(target, address).post(target.url).timeout(timedelta(seconds=max(seconds, 0.001)))
        try:
            return request.headers(headers).body_bytes(body).build_streamed()
        except ValueError as error:
            raise ForbiddenUrl(f"A header of this endpoint cannot be sent: {error}.") from None

    def _client(self, target: CheckedUrl, address: str) -> Client:
        place = LITERAL if target.literal else (target.scheme, target.host, target.port, address)
        client = self._clients.get(place)
        if client is None:
            client = self._clients[place] = self._build(target, address)
            if len(self._clients) > self._most_clients:
                # Dropped, not closed: its POSTs in flight may finish, and its idle connections are closed with it.
                self._clients.popitem(last=False)
        else:
            self._clients.move_to_end(place)
        return client

    def _build(self, target: CheckedUrl, address: str) -> Client:
        builder = pinned_client(target, address, self._connect_deadline, self._roots, self._user_agent)
        idle = timedelta(seconds=IDLE_SECONDS)
        return builder.pool_idle_timeout(idle).pool_max_idle_per_host(IDLE_PER_HOST).build()


def pinned_client(
    target: CheckedUrl, address: str, connect_deadline: float, roots: Sequence[bytes], user_agent: str
) -> ClientBuilder:
    """Return a client that connects only to a checked address; without redirects, proxies and decompression."""
    builder = ClientBuilder().http1_only().no_proxy().follow_redirects(False).referer(False).user_agent(user_agent)
    builder = builder.gzip(False).brotli(False).zstd(False).deflate(False)
    builder = builder.connect_timeout(timedelta(seconds=connect_deadline))
    for root in roots:
        builder = builder.add_root_certificate_pem(root)
    return builder if target.literal else builder.resolve(target.host, address, target.port)


async def _exchange(request: StreamRequest, start: float) -> PostResult:
    async with request as response:
        # One byte more than is kept distinguishes a longer body; leaving early closes the connection.
        read = await response.body_reader.read(BODY_LIMIT + 1)
        body = bytes(read) if read is not None else b""
        headers = _readable(response.headers)
        truncated = len(body) > BODY_LIMIT
        return PostResult(response.status, headers, body[:BODY_LIMIT], truncated, _since(start))


def _readable(headers: HeaderMap) -> Headers:
    try:
        pairs = tuple(headers.items())
    except ValueError:
        pairs = tuple(pair for name in dict.fromkeys(headers.keys()) for pair in _texts(headers, name))
    kept, size = 0, 0
    for name, value in pairs:
        size += len(name) + len(value)
        if size > HEADERS_LIMIT:
            break
        kept += 1
    return pairs[:kept]


def _texts(headers: HeaderMap, name: str) -> list[tuple[str, str]]:
    # A value that is not ASCII cannot be read as text; the rest of the response is kept.
    try:
        return [(name, value) for value in headers.getall(name)]
    except ValueError:
        return []


def explain_failure(error: PyreqwestError, scheme: str, deadline: float) -> tuple[Failure, str]:
    """Return the kind of a failure, and a sentence that explains it."""
    if isinstance(error, ClientClosedError):
        return "protocol", "The gateway stopped before the endpoint answered."
    causes, connecting = _causes(error), _while_connecting(error)
    if isinstance(error, RequestTimeoutError):
        if connecting:
            return "timeout", "The endpoint could not be connected to in time."
        return "timeout", f"The endpoint did not finish its answer within {deadline:g} s."
    last = causes[-1] if causes else error.message
    if connecting and (scheme == "http" or "tcp connect error" in causes):
        return "connect", f"The endpoint could not be connected to: {last}."
    if connecting:
        return "tls", f"No secure connection could be made: {last}."
    return "protocol", f"The endpoint broke off or did not answer in HTTP: {last}."


def _while_connecting(error: PyreqwestError) -> bool:
    # The class of the error is not enough: a timeout while waiting for the response is a ConnectTimeoutError as well.
    return "client error (Connect)" in _causes(error)


def _causes(error: PyreqwestError) -> list[str]:
    causes = error.details["causes"] if isinstance(error, DetailedPyreqwestError) else None
    return [cause["message"] for cause in causes or ()]


def _failed(start: float, kind: Failure, message: str) -> PostResult:
    return PostResult(None, (), b"", False, _since(start), message, kind)


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000
