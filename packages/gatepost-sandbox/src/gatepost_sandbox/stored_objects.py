"""Objects that messages refer to: uploaded media and message templates."""

from typing import Any, Protocol


class StoredMedia(Protocol):
    """An uploaded file."""

    @property
    def id(self) -> str: ...
    @property
    def mime_type(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def phone_number_id(self) -> str: ...


class MediaStore(Protocol):
    """A store of uploaded files."""

    def find(self, media_id: str, now: float) -> StoredMedia | None:
        """Return the file with this id, or None."""


class StoredTemplate(Protocol):
    """A message template in one language."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def parameter_format(self) -> str: ...
    @property
    def components(self) -> list[dict[str, Any]]: ...
