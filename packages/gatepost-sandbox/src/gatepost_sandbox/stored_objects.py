"""What sends point at, as their checks see it: uploaded media and message templates."""

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
    """Where uploaded files are kept."""

    def find(self, media_id: str, now: float) -> StoredMedia | None:
        """The file with this id, unless it is gone."""


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


class TemplateStore(Protocol):
    """Where an account's templates are kept."""

    def find(self, waba_id: str, name: str, language: str) -> StoredTemplate | None:
        """The template of this name in this language."""
