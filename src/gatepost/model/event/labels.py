"""Labels, and the conversations and contacts that they are assigned to."""

from typing import Annotated, Self
from uuid import UUID

from msgspec import Meta

from gatepost.model import ids
from gatepost.model.event.parts import AT, LABEL, PERSON, EventContact, EventConversation, EventObject, id_with, one_of
from gatepost.model.label import shown_color

_EXAMPLE = (ids.derived_id(AT, "label"), "New customer", "#8fa832")


class EventLabel(EventObject, frozen=True):
    """A label."""

    id: Annotated[str, id_with("lb")]
    name: str
    color: Annotated[str, Meta(pattern="^#[0-9a-f]{6}$")]


class _LabelChange(EventLabel, frozen=True):
    @classmethod
    def of(cls, label_id: UUID, name: str, color: str) -> Self:
        return cls(ids.format_id("lb", label_id), name, shown_color(color))

    @classmethod
    def example(cls) -> Self:
        return cls.of(*_EXAMPLE)


class LabelCreated(_LabelChange, frozen=True):
    """A label was created."""

    TYPE, ACTION = LABEL, "created"


class LabelUpdated(_LabelChange, frozen=True):
    """The name or the color of a label was changed."""

    TYPE, ACTION = LABEL, "updated"


class LabelDeleted(_LabelChange, frozen=True):
    """A label was deleted, with its assignments."""

    TYPE, ACTION = LABEL, "deleted"


class LabelUse(EventLabel, frozen=True):
    """A label and what it is assigned to."""

    target: Annotated[str, one_of(["conversation", "contact"])]
    contact: EventContact
    conversation: EventConversation

    @classmethod
    def of(cls, label: tuple[UUID, str, str], target: str, contact: tuple[UUID, str, str | None]) -> Self:
        """Return the data of an event, from id, name and color of a label, and id, address and name of a contact."""
        label_id, name, color = label
        where = EventContact.ref(*contact), EventConversation.ref(contact[0])
        return cls(ids.format_id("lb", label_id), name, shown_color(color), target, *where)

    @classmethod
    def example(cls) -> Self:
        return cls.of(_EXAMPLE, "conversation", PERSON)


class LabelAssigned(LabelUse, frozen=True):
    """A label was assigned to a conversation or a contact."""

    TYPE, ACTION = LABEL, "assigned"


class LabelRemoved(LabelUse, frozen=True):
    """A label was removed from a conversation or a contact."""

    TYPE, ACTION = LABEL, "removed"
