"""Notes in answers."""

from typing import Annotated, Literal

from msgspec import Meta

from gatepost.api.contract.fields import HEX, ApiObject, Text, Time
from gatepost.model import ids, times
from gatepost.model.account_log import Actor
from gatepost.store.conversations.notes import NoteRow

_PREFIX = {"user": "usr", "key": "key"}


class Author(ApiObject, frozen=True):
    """The user or key that did something. The label is the name at that time."""

    kind: Literal["user", "key", "operator"]
    id: Annotated[Text, Meta(examples=[f"usr_{HEX}"])]
    label: Annotated[str, Meta(examples=["Ana Maria"])]

    @classmethod
    def of(cls, actor: Actor) -> "Author":
        """Return an author. The operator has no id."""
        return cls(actor.kind, None if actor.id is None else ids.format_id(_PREFIX[actor.kind], actor.id), actor.label)


class Note(ApiObject, frozen=True):
    """A note about a conversation. The contact never sees it."""

    id: Annotated[str, Meta(examples=[f"nt_{HEX}"])]
    author: Author
    text: Annotated[str, Meta(examples=["Wants it on Friday"])]
    created_at: Time

    @classmethod
    def of(cls, row: NoteRow) -> "Note":
        """Return a note."""
        return cls(ids.format_id("nt", row.id), Author.of(row.author), row.body, times.format_time(row.created_at))
