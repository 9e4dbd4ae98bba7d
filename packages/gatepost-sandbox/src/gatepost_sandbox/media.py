"""The network's files: uploads of a business are stored for 30 days, files that people sent for 7.

put ─► id ─► url (5 minutes, signed) ─► bytes
       │
       └─ removed when it expires, when it is deleted, or when space is needed and it is the oldest
"""

import hashlib
import hmac
from urllib.parse import urlencode

import msgspec

from gatepost_sandbox.ids import node_id, stream

UPLOADED_SECONDS = 30 * 86_400
INCOMING_SECONDS = 7 * 86_400
URL_SECONDS = 300
DOWNLOAD_PATH = "/whatsapp_business/attachments/"

KB, MB = 1024, 1024 * 1024
STATIC_STICKER_MAX, ANIMATED_STICKER_MAX = 100 * KB, 500 * KB
MAX_BY_TYPE: dict[str, int] = {
    **dict.fromkeys(("audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"), 16 * MB),
    **dict.fromkeys(("image/jpeg", "image/png"), 5 * MB),
    **dict.fromkeys(("video/mp4", "video/3gpp"), 16 * MB),
    **dict.fromkeys(("text/plain", "application/pdf", "application/msword", "application/vnd.ms-excel"), 100 * MB),
    "application/vnd.ms-powerpoint": 100 * MB,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": 100 * MB,
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": 100 * MB,
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": 100 * MB,
    "image/webp": ANIMATED_STICKER_MAX,
}


class Stored(msgspec.Struct, frozen=True):
    """A stored file."""

    id: str
    mime_type: str
    size: int
    sha256: str
    filename: str | None
    content: bytes
    phone_number_id: str
    expires: float


def bare_type(mime_type: str) -> str:
    """Return a MIME type without its parameters."""
    return mime_type.partition(";")[0].strip().lower()


def largest(mime_type: str, content: bytes) -> int | None:
    """Return the maximum size of a file of this type in bytes; None if the network does not accept the type."""
    kind = bare_type(mime_type)
    if kind == "image/webp" and b"ANIM" not in content[:64]:
        return STATIC_STICKER_MAX
    return MAX_BY_TYPE.get(kind)


class Media:
    """All files of one network, in memory; the oldest are removed when the capacity is reached."""

    def __init__(self, seed: int, capacity: int) -> None:
        self.root = "http://127.0.0.1"  # the address that was last used; callbacks contain URLs too
        self.capacity = capacity
        self.ids = stream(seed, "media")
        self._key = f"media/{seed}".encode()
        self._stored: dict[str, Stored] = {}
        self._held = 0

    def put(
        self, phone_number_id: str, content: bytes, mime_type: str, filename: str | None, now: float, *, incoming: bool
    ) -> Stored:
        """Store a file."""
        stored = Stored(
            id=node_id(self.ids),
            mime_type=mime_type,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            filename=filename,
            content=content,
            phone_number_id=phone_number_id,
            expires=now + (INCOMING_SECONDS if incoming else UPLOADED_SECONDS),
        )
        self._stored[stored.id] = stored
        self._held += stored.size
        self._make_room(stored.id)
        return stored

    def find(self, media_id: str, now: float) -> Stored | None:
        """Return the file with this id, or None if it does not exist or has expired."""
        stored = self._stored.get(media_id)
        if stored is not None and now >= stored.expires:
            self.remove(media_id)
            return None
        return stored

    def look(self, media_id: str, now: float) -> Stored | None:
        """Return the file with this id without removing it when it has expired."""
        stored = self._stored.get(media_id)
        return stored if stored is not None and now < stored.expires else None

    def remove(self, media_id: str) -> bool:
        """Remove a file."""
        stored = self._stored.pop(media_id, None)
        if stored is not None:
            self._held -= stored.size
        return stored is not None

    def url(self, stored: Stored, now: float, root: str | None = None) -> str:
        """Return a download URL of the file, valid for five minutes."""
        until = int(now + URL_SECONDS)
        query = {"mid": stored.id, "ext": until, "hash": self._sign(stored.id, str(until))}
        return f"{root or self.root}{DOWNLOAD_PATH}?{urlencode(query)}"

    def open_url(self, query: dict[str, str], now: float) -> Stored | None:
        """Return the file of a download URL; None when the URL is forged or has expired."""
        media_id, until = query.get("mid", ""), query.get("ext", "")
        if not hmac.compare_digest(self._sign(media_id, until).encode(), query.get("hash", "").encode()):
            return None
        return self.find(media_id, now) if now < float(until) else None

    def all(self, now: float) -> list[Stored]:
        """Return every file that has not expired, oldest first."""
        return [stored for stored in list(self._stored.values()) if self.find(stored.id, now) is not None]

    def _sign(self, media_id: str, until: str) -> str:
        return hmac.digest(self._key, f"{media_id}/{until}".encode(), "sha256").hex()

    def _make_room(self, newest: str) -> None:
        for media_id in list(self._stored):
            if self._held <= self.capacity or media_id == newest:
                return
            self.remove(media_id)
