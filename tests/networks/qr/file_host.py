"""The network's host of files, on loopback: encrypted as phones do it, honest or not."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.padding import PKCS7

from tests.listening import stop_listening

PIECE = bytes(64 << 10)


def seal(content: bytes, key: bytes, kind: str) -> bytes:
    """A file as it lies on the network."""
    keys = HKDF(SHA256(), 112, None, f"WhatsApp {kind} Keys".encode()).derive(key)
    padder = PKCS7(128).padder()
    encryptor = Cipher(AES(keys[16:48]), CBC(keys[:16])).encryptor()
    sealed = encryptor.update(padder.update(content) + padder.finalize()) + encryptor.finalize()
    mac = HMAC(keys[48:80], SHA256())
    mac.update(keys[:16] + sealed)
    return sealed + mac.finalize()[:10]


class FileHost:
    """Answers GET; `files` by their path, `endless` paths with zeros for as long as somebody reads."""

    def __init__(self) -> None:
        self.url = ""
        self.files: dict[str, bytes] = {}
        self.endless: set[str] = set()
        self.redirects: dict[str, str] = {}
        self.asked: list[str] = []
        self.sent = 0
        self._open: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def close(self) -> None:
        """Break off whatever is still being answered, and wait for its end."""
        for writer, ended in list(self._open.items()):
            writer.transport.abort()
            await ended.wait()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended = self._open[writer] = asyncio.Event()
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            self.asked.append(path)
            await self._give(path, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            del self._open[writer]
            ended.set()

    async def _give(self, path: str, writer: asyncio.StreamWriter) -> None:
        if path in self.redirects:
            writer.write(b"HTTP/1.1 302 Found\r\nlocation: " + self.redirects[path].encode() + b"\r\n\r\n")
        elif path in self.endless:
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
            while True:
                writer.write(PIECE)
                await writer.drain()
                self.sent += len(PIECE)
        elif path in self.files:
            body = self.files[path]
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        else:
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def file_host() -> AsyncIterator[FileHost]:
    host = FileHost()
    server: Any = await asyncio.start_server(host.answer, "127.0.0.1", 0)
    host.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield host
    finally:
        await stop_listening(server)
        await host.close()
