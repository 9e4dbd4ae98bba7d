"""Downloads the file of a message, up to the length that the message states.

The library's own download loads the whole file before it checks the length, and requests any host that the sender
names. So the encrypted bytes are streamed here, only from a host of the network, and decrypted as they arrive. The
download fails as soon as the file is too long.

encrypted file = AES-256-CBC(file, PKCS #7) + the first 10 bytes of HMAC-SHA256(iv + ciphertext)
iv, key, HMAC key = HKDF-SHA256(the message's media key, "WhatsApp … Keys")
"""

from collections.abc import AsyncIterator
from datetime import timedelta
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError

from gatepost.networks.qr.phone.engine import EngineError

HOST = "mmg.whatsapp.net"
LARGEST_FILE = 100 << 20  # if the message does not state the length
_NETWORK = ".whatsapp.net"
_KEYS = {"image": "Image", "sticker": "Image", "video": "Video", "audio": "Audio", "document": "Document"}
_BLOCK, _MAC = 16, 10
_BUFFER = 256 << 10
_CONNECT, _SILENCE, _WHOLE = timedelta(seconds=10), timedelta(seconds=30), timedelta(seconds=300)


async def fetch_file(kind: str, file: Any, base: str = "") -> bytes:
    """Return the file of a message. `base` replaces the network's hosts in tests."""
    most = file.fileLength or LARGEST_FILE
    url = (base or f"https://{_host_of(file.URL)}") + _path_of(file.directPath)
    opened = _Opened(kind, file.mediaKey, most)
    try:
        async with _client(base) as client:
            async for piece in _pieces(client, url):
                opened.feed(piece)
    except PyreqwestError as error:
        raise EngineError(f"The file could not be fetched: {error}", sure=True) from error
    return opened.end()


def _host_of(url: str) -> str:
    """Return the host that a message names if it belongs to the network, otherwise the default host."""
    try:
        named = urlsplit(url).hostname or ""
    except ValueError:
        named = ""
    return named if named.endswith(_NETWORK) and named.isascii() else HOST


def _path_of(path: str) -> str:
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise _unfit("The file has no valid path.")
    return path


def _client(base: str) -> Client:
    builder = ClientBuilder().follow_redirects(False).referer(False).https_only(not base)
    builder = builder.gzip(False).brotli(False).zstd(False).deflate(False)
    return builder.connect_timeout(_CONNECT).read_timeout(_SILENCE).timeout(_WHOLE).build()


async def _pieces(client: Client, url: str) -> AsyncIterator[bytes]:
    headers = {"origin": "https://web.whatsapp.com", "referer": "https://web.whatsapp.com/"}
    request = client.get(url).headers(headers).streamed_read_buffer_limit(_BUFFER).build_streamed()
    async with request as response:
        if response.status != 200:
            raise EngineError(f"The download failed with status code {response.status}", response.status, sure=True)
        while piece := await response.body_reader.read(_BUFFER):
            yield bytes(piece)


class _Opened:
    """A file that is decrypted as it arrives."""

    def __init__(self, kind: str, media_key: bytes, most: int) -> None:
        info = f"WhatsApp {_KEYS[kind]} Keys".encode()
        keys = HKDF(SHA256(), 112, None, info).derive(media_key)
        iv = keys[:16]
        self._decryptor = Cipher(AES(keys[16:48]), CBC(iv)).decryptor()
        self._hmac = HMAC(keys[48:80], SHA256())
        self._hmac.update(iv)
        self._most = most
        self._longest = (most // _BLOCK + 1) * _BLOCK + _MAC
        self._read = 0
        self._tail = b""  # the last bytes so far; at the end of the file, the checksum
        self._plain = bytearray()

    def feed(self, piece: bytes) -> None:
        self._read += len(piece)
        if self._read > self._longest:
            raise _unfit(f"The file is longer than the {self._most} bytes that its message states.")
        piece = self._tail + piece
        self._tail = piece[-_MAC:]
        sealed = piece[:-_MAC]
        self._hmac.update(sealed)
        self._plain += self._decryptor.update(sealed)

    def end(self) -> bytes:
        padding = self._plain[-1] if self._plain else 0
        sealed = self._read - _MAC
        whole = sealed > 0 and sealed % _BLOCK == 0 and 1 <= padding <= _BLOCK
        if not whole or not compare_digest(self._hmac.finalize()[:_MAC], self._tail):
            raise _unfit("The checksum of the file is not the one that its message states.")
        del self._plain[-padding:]
        if len(self._plain) > self._most:
            raise _unfit(f"The file is longer than the {self._most} bytes that its message states.")
        return bytes(self._plain)


def _unfit(text: str) -> EngineError:
    """Return an error that a retry would not fix."""
    return EngineError(text, 400, sure=True)
