"""One POST to a customer's endpoint: guarded, pinned, bounded in time and size.

    post ─► guard: CheckedUrl ─┬─► http:  connection_pool.py ─┬─► status, headers, ≤ 64 KiB ─► PostResult
                               └─► https: secure_post.py ─────┘
                                   │ connect failed, nothing sent: the next checked address
                                   └─ no redirect, no proxy, no decompression, HTTP/1.1 only

Nothing but cancellation is raised. A response that is incomplete at the deadline has no status, only an error, so that
a partial 200 never counts as delivered.
"""

import asyncio
import re
from collections.abc import Hashable, Mapping, Sequence
from time import perf_counter

import msgspec
from pyreqwest.exceptions import PyreqwestError

from gatepost.model.delivery import CONNECTION_HEADERS
from gatepost.webhooks.connection_pool import ConnectFailed, ConnectionPool, PooledConnection
from gatepost.webhooks.guard import CheckedUrl, ForbiddenUrl, Guard, UnresolvedUrl
from gatepost.webhooks.http_connection import BODY_LIMIT, HEADERS_LIMIT, ExchangeFailed, Headers
from gatepost.webhooks.pinned_client import explain_failure, is_while_connecting
from gatepost.webhooks.retry import Failure
from gatepost.webhooks.secure_post import SecureClients
from gatepost.webhooks.signature import USER_AGENT

__all__ = ("BODY_LIMIT", "HEADERS_LIMIT", "PostResult", "Poster", "header_lines")
ADDRESSES_TRIED = 3
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_VALUE = re.compile(r"[\t\x20-\x7e]*", re.ASCII)


class PostResult(msgspec.Struct, frozen=True):
    """The result of a POST: a status with headers and body, or an error message and its kind."""

    status: int | None
    headers: Headers
    body: bytes
    truncated: bool
    latency_ms: float
    error: str | None = None
    error_kind: Failure | None = None


def header_lines(headers: Mapping[str, str]) -> bytes:
    """Return the lines of headers in a request, or raise ForbiddenUrl if one cannot be sent."""
    for name, value in headers.items():
        if name.lower() in CONNECTION_HEADERS:
            raise ForbiddenUrl(f"The header {name} cannot be set: it controls the connection.")
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ForbiddenUrl("A header of this endpoint cannot be sent: its name or value has forbidden characters.")
    sent = headers if any(name.lower() == "accept" for name in headers) else {"accept": "*/*", **headers}
    return "".join([f"{name}: {value}\r\n" for name, value in sent.items()]).encode()


class Poster:
    """Posts to endpoints over keep-alive connections, each to an address that the guard has checked."""

    def __init__(
        self,
        guard: Guard,
        *,
        deadline: float = 15.0,
        connect_deadline: float = 5.0,
        places: int = 512,
        roots: Sequence[bytes] = (),
    ) -> None:
        self._guard = guard
        self._deadline = deadline
        self._pool = ConnectionPool(connect_deadline, places)
        self._secure = SecureClients(connect_deadline, places, roots)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, channel: Hashable = None) -> PostResult:
        """Post `body` to `url` for a channel, and return the result within the deadline."""
        try:
            lines = header_lines({"user-agent": USER_AGENT, **headers})
        except ForbiddenUrl as error:
            return _failed(perf_counter(), "forbidden", error.reason)
        return await self.send(url, lines, body, channel)

    async def send(self, url: str, lines: bytes, body: bytes, channel: Hashable = None) -> PostResult:
        """Do the same with prepared `header_lines`."""
        start = perf_counter()
        try:
            target = self._guard.recall(url) or await self._check(url, channel)
            if target.scheme == "https":
                return await self._post_securely(target, lines, body, start)
            connection = self._pool.take(target, target.addresses[0]) or await self._connect(target, start)
            try:
                got = await connection.request(_request(target, lines, body), self._left(start))
            finally:
                self._pool.release(connection)
        except ForbiddenUrl as error:
            return _failed(start, "forbidden", error.reason)
        except UnresolvedUrl as error:
            return _failed(start, "unresolved", error.reason)
        except ConnectFailed as error:
            return _failed(start, error.kind, error.reason)
        except ExchangeFailed as error:
            return _failed(start, *self._explain(error))
        return PostResult(got.status, got.headers, got.body, got.truncated, _since(start))

    async def close(self) -> None:
        """Close idle connections; POSTs in flight fail at once."""
        self._pool.close()
        await self._secure.close()

    async def _check(self, url: str, channel: Hashable) -> CheckedUrl:
        try:
            async with asyncio.timeout(self._deadline):
                return await self._guard.check(url, channel)
        except TimeoutError:
            raise UnresolvedUrl("The host name could not be resolved in time.") from None

    async def _connect(self, target: CheckedUrl, start: float) -> PooledConnection:
        """Return a connection to the first checked address that can be connected to."""
        *others, last = target.addresses[:ADDRESSES_TRIED]
        for address in others:
            try:
                return await self._pool.acquire(target, address, self._left(start))
            except ConnectFailed:
                if self._left(start) <= 0:
                    raise
        return await self._pool.acquire(target, last, self._left(start))

    async def _post_securely(self, target: CheckedUrl, lines: bytes, body: bytes, start: float) -> PostResult:
        for address in target.addresses[:ADDRESSES_TRIED]:
            try:
                got = await self._secure.post(target, address, lines, body, self._left(start))
            except PyreqwestError as error:
                result = _failed(start, *explain_failure(error, target.scheme, self._deadline))
                if not is_while_connecting(error) or self._left(start) <= 0:
                    break
            else:
                return PostResult(got.status, got.headers, got.body, got.truncated, _since(start))
        return result

    def _left(self, start: float) -> float:
        return self._deadline - (perf_counter() - start)

    def _explain(self, error: ExchangeFailed) -> tuple[Failure, str]:
        if error.kind == "stopped":
            return "protocol", "The gateway stopped before the endpoint answered."
        if error.kind == "timeout":
            return "timeout", f"The endpoint did not finish its answer within {self._deadline:g} s."
        return "protocol", f"The endpoint broke off or did not answer in HTTP: {error.reason}."


def _request(target: CheckedUrl, lines: bytes, body: bytes) -> bytes:
    head = f"POST {target.resource} HTTP/1.1\r\nhost: {target.authority}\r\n"
    return b"%b%bcontent-length: %d\r\n\r\n%b" % (head.encode(), lines, len(body), body)


def _failed(start: float, kind: Failure, message: str) -> PostResult:
    return PostResult(None, (), b"", False, _since(start), message, kind)


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000
