"""HTTP requests to the MCP endpoint of a gateway: many at once, each of which another thread can cancel."""

import http.client
import select
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 120.0  # a stream of events sends something every 15 seconds
_IDLE_CONNECTIONS = 16


class NotConnected(Exception):
    """The gateway cannot be reached. It has not got the request."""


class ResponseLost(Exception):
    """The connection ended before the response was complete. It is unknown whether the gateway got the request."""


class Canceled(Exception):
    """The request was canceled."""


class Exchange:
    """One request that is in progress. Canceling it closes its connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.canceled = False
        self.streaming = False

    def begin(self, connected: socket.socket) -> None:
        """Set the socket that `cancel` closes; raise Canceled if that was called before."""
        with self._lock:
            if self.canceled:
                raise Canceled
            self._socket = connected

    def end(self) -> None:
        """Forget the socket, which the next request may use."""
        with self._lock:
            self._socket = None

    def cancel(self) -> None:
        """Close the connection. The thread that reads from it gets an error."""
        with self._lock:
            self.canceled = True
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)


class McpEndpoint:
    """The MCP endpoint of a gateway. It keeps connections open, and never uses the proxy of the environment."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an address like https://gateway.example.com")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        path = parts.path.rstrip("/")
        self._path = path if path.endswith("/mcp") else f"{path}/mcp"
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{self._path}"
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    @contextmanager
    def post(self, body: bytes, headers: Mapping[str, str], exchange: Exchange) -> Iterator[http.client.HTTPResponse]:
        """Send a request, and give the response to read."""
        connection = self._connect()
        try:
            assert connection.sock is not None
            exchange.begin(connection.sock)
            try:
                connection.request("POST", self._path, body, dict(headers))
                response = connection.getresponse()
                yield response
            except (OSError, http.client.HTTPException) as error:
                if exchange.canceled:
                    raise Canceled from None
                raise ResponseLost(str(error) or type(error).__name__) from error
            exchange.end()
            if response.isclosed() and not response.will_close and not exchange.canceled:
                self._keep(connection)
                return
        except BaseException:
            exchange.end()
            connection.close()
            raise
        connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        while (idle := self._take()) is not None:
            if idle.sock is not None and not select.select([idle.sock], [], [], 0)[0]:
                return idle
            idle.close()  # readable while nothing was asked: the gateway has closed it
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NotConnected(str(error) or type(error).__name__) from error
        connection.sock.settimeout(_READ_SECONDS)
        return connection

    def _take(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()


def read_events(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Give the data of the events of a stream (text/event-stream)."""
    data: list[bytes] = []
    for line in (raw.rstrip(b"\r\n") for raw in response):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []
