"""Resumable uploads of template samples and profile pictures, which become a handle."""

from base64 import urlsafe_b64encode

import msgspec

from gatepost_sandbox.ids import stream

KEPT = 200  # finished files; then the oldest are removed


class Session(msgspec.Struct):
    """An unfinished upload."""

    length: int
    mime_type: str
    content: bytes = b""


class Uploads:
    """All uploads of one network."""

    def __init__(self, seed: int) -> None:
        self._random = stream(seed, "uploads")
        self._sessions: dict[str, Session] = {}
        self.finished: dict[str, Session] = {}  # by handle

    def begin(self, length: int, mime_type: str) -> str:
        """Open a session; return its id."""
        session_id = "upload:" + self._draw()
        self._sessions[session_id] = Session(length, mime_type)
        return session_id

    def find(self, session_id: str) -> Session | None:
        """Return an unfinished upload session."""
        return self._sessions.get(session_id)

    def add(self, session_id: str, piece: bytes) -> str | None:
        """Add a chunk; return the handle when the file is complete."""
        session = self._sessions[session_id]
        session.content += piece
        if len(session.content) < session.length:
            return None
        handle = f"4::{self._draw()}:{self._draw()}"
        self.finished[handle] = self._sessions.pop(session_id)
        while len(self.finished) > KEPT:
            del self.finished[next(iter(self.finished))]
        return handle

    def _draw(self) -> str:
        return urlsafe_b64encode(self._random.randbytes(24)).decode().rstrip("=")
