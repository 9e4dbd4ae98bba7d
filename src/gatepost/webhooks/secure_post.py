"""POSTs to https addresses, by pyreqwest: a TLS handshake in its thread takes a quarter of one in the event loop.

post ─► client of (host, port, address), pinned ─► status, headers, ≤ 64 KiB ─► HttpResponse
"""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from datetime import timedelta

from pyreqwest.client import Client
from pyreqwest.http import HeaderMap
from pyreqwest.request import StreamRequest

from gatepost.webhooks.connection_pool import IDLE_PER_PLACE
from gatepost.webhooks.guard import CheckedUrl
from gatepost.webhooks.http_connection import BODY_LIMIT, HEADERS_LIMIT, IDLE_SECONDS, Headers, HttpResponse
from gatepost.webhooks.pinned_client import pinned_client
from gatepost.webhooks.signature import USER_AGENT

ClientKey = tuple[str, int, str]
# Literal addresses need no pin and share one client.
LITERAL: ClientKey = ("", 0, "")


class SecureClients:
    """Clients with keep-alive connections over TLS, each pinned to an address that the guard has checked."""

    def __init__(self, connect_deadline: float, clients: int, roots: Sequence[bytes]) -> None:
        self._connect_deadline = connect_deadline
        self._most_clients = clients
        self._roots = tuple(roots)
        self._clients: OrderedDict[ClientKey, Client] = OrderedDict()
        self._in_flight: Counter[Client] = Counter()  # POSTs, also of clients that were dropped

    async def post(self, target: CheckedUrl, address: str, lines: bytes, body: bytes, seconds: float) -> HttpResponse:
        """Post to a checked address within so many seconds; raise PyreqwestError."""
        headers = dict([line.split(": ", 1) for line in lines.decode().split("\r\n")[:-1]])
        client = self._client(target, address)
        request = client.post(target.url).timeout(timedelta(seconds=max(seconds, 0.001)))
        self._in_flight[client] += 1
        try:
            return await _exchange(request.headers(headers).body_bytes(body).build_streamed())
        finally:
            self._in_flight[client] -= 1
            if not self._in_flight[client]:
                del self._in_flight[client]

    async def close(self) -> None:
        """Close idle connections; POSTs in flight fail at once."""
        while self._clients:
            _, client = self._clients.popitem()
            await client.close()
        for client in list(self._in_flight):
            await client.close()

    def _client(self, target: CheckedUrl, address: str) -> Client:
        place = LITERAL if target.literal else (target.host, target.port, address)
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
        builder = pinned_client(target, address, self._connect_deadline, self._roots, USER_AGENT)
        idle = timedelta(seconds=IDLE_SECONDS)
        return builder.pool_idle_timeout(idle).pool_max_idle_per_host(IDLE_PER_PLACE).build()


async def _exchange(request: StreamRequest) -> HttpResponse:
    async with request as response:
        # One byte more than is kept distinguishes a longer body; leaving early closes the connection.
        read = await response.body_reader.read(BODY_LIMIT + 1)
        body = bytes(read) if read is not None else b""
        headers = _readable(response.headers)
        return HttpResponse(response.status, headers, body[:BODY_LIMIT], len(body) > BODY_LIMIT)


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
