"""Files to upload: a path on this machine, or bytes."""

import mimetypes
from pathlib import Path

import msgspec


class File(msgspec.Struct, frozen=True):
    """Bytes, or the path to them, with the type and the name that they are stored under."""

    content: Path | bytes
    mime_type: str | None = None
    filename: str | None = None

    def __post_init__(self) -> None:
        # A wrong path shows here, and not as a broken connection in the middle of an upload.
        if isinstance(self.content, Path) and not self.content.is_file():
            raise FileNotFoundError(f"{self.content} is not a file")

    @property
    def name(self) -> str | None:
        """The name given, or the path's own."""
        return self.filename or (self.content.name if isinstance(self.content, Path) else None)

    @property
    def type(self) -> str:
        """The type given, or what the name suggests."""
        guessed = mimetypes.guess_type(self.name)[0] if self.name else None
        kind = self.mime_type or guessed
        if kind is None:
            raise ValueError("the file needs its mime_type, such as image/jpeg")
        return kind
