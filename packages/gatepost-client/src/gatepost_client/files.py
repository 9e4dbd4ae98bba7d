"""Files to upload: a path on this machine, or bytes."""

import mimetypes
from pathlib import Path

import msgspec


class File(msgspec.Struct, frozen=True):
    """A file to upload: its bytes or path, its type and its name."""

    content: Path | bytes
    mime_type: str | None = None
    filename: str | None = None

    def __post_init__(self) -> None:
        # A wrong path shows here, and not as a broken connection in the middle of an upload.
        if isinstance(self.content, Path) and not self.content.is_file():
            raise FileNotFoundError(f"{self.content} is not a file")

    @property
    def name(self) -> str | None:
        """The given name, or that of the path."""
        return self.filename or (self.content.name if isinstance(self.content, Path) else None)

    @property
    def type(self) -> str:
        """The given type, or a guess by the name."""
        guessed = mimetypes.guess_type(self.name)[0] if self.name else None
        kind = self.mime_type or guessed
        if kind is None:
            raise ValueError("the file needs its mime_type, such as image/jpeg")
        return kind
