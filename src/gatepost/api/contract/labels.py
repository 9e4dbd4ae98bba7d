"""Labels in answers."""

from typing import Annotated

from msgspec import Meta

from gatepost.api.contract.fields import ApiObject, LabelId, Time, When
from gatepost.model import ids, times
from gatepost.model.label import shown_color
from gatepost.store.labels import LabelRow

LabelName = Annotated[str, Meta(examples=["VIP"])]
Color = Annotated[str | None, Meta(examples=["#1d56a8"])]


class LabelRef(ApiObject, frozen=True):
    """A label on a conversation or a contact."""

    id: LabelId
    name: LabelName
    color: Color

    @classmethod
    def of(cls, row: LabelRow) -> "LabelRef":
        """Return the label in short."""
        return cls(ids.format_id("lb", row.id), row.name, shown_color(row.color))


class Label(ApiObject, frozen=True):
    """A label."""

    id: LabelId
    name: LabelName
    color: Color
    created_at: Time
    updated_at: When

    @classmethod
    def of(cls, row: LabelRow) -> "Label":
        """Return the whole label."""
        return cls(
            ids.format_id("lb", row.id),
            row.name,
            shown_color(row.color),
            times.format_time(row.created_at),
            times.format_time(row.updated_at),
        )
