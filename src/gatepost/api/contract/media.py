"""Files in answers."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from gatepost.api.contract.fields import ApiObject, MediaId, MessageId, Text, Time, When
from gatepost.model import ids, times
from gatepost.store.media.files import MediaRow

_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class Media(ApiObject, frozen=True):
    """A file."""

    id: MediaId
    state: Annotated[str, Meta(examples=["ready"])]
    mime_type: Annotated[str, Meta(examples=["application/pdf"])]
    size: Annotated[int | None, Meta(examples=[48_211])]
    sha256: Annotated[Text, Meta(examples=[_SHA256])]
    filename: Annotated[Text, Meta(examples=["bill-1001.pdf"])]
    created_at: Time
    message_id: MessageId | UnsetType = UNSET
    error: Text | UnsetType = UNSET
    next_at: When | UnsetType = UNSET

    @classmethod
    def of(cls, row: MediaRow) -> "Media":
        """Return a file. Only incoming files have a message; only those that are not ready have the last two fields."""
        ready = row.state == "ready"
        return cls(
            id=ids.format_id("med", row.id),
            state=row.state,
            mime_type=row.mime_type,
            size=row.size,
            sha256=row.sha256,
            filename=row.filename,
            created_at=times.format_time(row.created_at),
            message_id=ids.message_id(row.message_id) if row.message_id is not None else UNSET,
            error=UNSET if ready else row.error,
            next_at=UNSET if ready else times.format_optional_time(row.next_at),
        )
