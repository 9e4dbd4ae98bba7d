"""A connection pooler in transaction mode, as far as two connections need one: clients share the server's sessions.

client ─► message ─► a free session of the server ─► answers ─► client
                            ▲                            │ ready, outside of a transaction
                            └────────────────────────────┘
"""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, quote, urlsplit

from tests.listening import stop_listening

_TERMINATE, _TLS_REQUEST = b"X", 80877103
_READY = b"Z" + struct.pack("!I", 5) + b"I"  # outside of a transaction
Session = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class TransactionPooler:
    """Gives each transaction of a client the session that was used last."""

    def __init__(self, socket_path: str) -> None:
        self._path = socket_path
        self._free: list[Session] = []
        self._opened: list[Session] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            startup = await _startup(reader, writer)
            self._free.append(await self._open(startup, writer))
            while (message := await _message(reader))[:1] != _TERMINATE:
                session = self._free.pop() if self._free else await self._open(startup)
                session[1].write(message)
                await self._transaction(session, reader, writer)
                self._free.append(session)
        writer.close()

    async def _transaction(self, session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass messages on in both directions, until the server is ready outside of a transaction."""
        asking = asyncio.create_task(self._pass_on(reader, session[1]))
        try:
            while (answer := await _message(session[0])) != _READY:
                writer.write(answer)
        finally:
            asking.cancel()
            await asyncio.wait([asking])
        writer.write(answer)

    async def _pass_on(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while True:
            server.write(await _message(reader))

    async def _open(self, startup: bytes, client: asyncio.StreamWriter | None = None) -> Session:
        """Open a session; the client that opens it hears what the server says until it is ready."""
        session = await asyncio.open_unix_connection(self._path)
        self._opened.append(session)
        session[1].write(startup)
        answer = b""
        while answer != _READY:
            answer = await _message(session[0])
            if client is not None:
                client.write(answer)
        return session

    def close(self) -> None:
        """Close all sessions."""
        for _, writer in self._opened:
            writer.close()


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    head = await reader.readexactly(8)
    if struct.unpack("!II", head)[1] == _TLS_REQUEST:
        writer.write(b"N")
        head = await reader.readexactly(8)
    return head + await reader.readexactly(struct.unpack("!I", head[:4])[0] - 8)


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


@asynccontextmanager
async def transaction_pooler(database_url: str) -> AsyncIterator[str]:
    """Run a pooler in front of a server on a Unix socket; yield its address."""
    parts = urlsplit(database_url)
    options = parse_qs(parts.query)
    pooler = TransactionPooler(f"{options['host'][0]}/.s.PGSQL.{options.get('port', ['5432'])[0]}")
    server = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{quote(parts.username or '')}@127.0.0.1:{port}{parts.path}?sslmode=disable"
    finally:
        await stop_listening(server)
        pooler.close()
