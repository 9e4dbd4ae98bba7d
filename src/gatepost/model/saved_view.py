"""Saved views of the inbox: a name and filters, which each user keeps."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatepost.model import ids
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import check_storable_all

VIEWS_MAX = 50
NAME_MAX = 64
QUERY_MAX = 200
LABEL_MAX = 64
ASSIGNEE_MAX = 256
InboxView = Literal["open", "mine", "unassigned", "unread", "closing", "closed"]


class SavedView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named selection of conversations. Filters that are null do not apply."""

    name: Annotated[
        str, Meta(min_length=1, max_length=NAME_MAX, description="Unique, ignoring case.", examples=["VIP, today"])
    ]
    view: Annotated[InboxView, Meta(examples=["open"])] = "open"
    channel: Annotated[str | None, Meta(description="A channel `ch_…`; null: all channels.", examples=[None])] = None
    label: Annotated[str, Meta(max_length=LABEL_MAX, description="The name of a label.", examples=["VIP"])] | None = (
        None
    )
    assignee: Annotated[str, Meta(max_length=ASSIGNEE_MAX, description="Only of this assignee.")] | None = None
    q: Annotated[str, Meta(max_length=QUERY_MAX, description="Text to search for.")] | None = None


def check_views(views: Sequence[SavedView]) -> None:
    """Reject views that cannot be stored, and names that are empty or used twice."""
    names: set[str] = set()
    for i, view in enumerate(views):
        check_storable_all(f"views[{i}]", msgspec.structs.asdict(view), 1)
        name = view.name.strip().casefold()
        if not name:
            raise invalid_field(f"views[{i}].name", "is empty")
        if name in names:
            raise invalid_field(f"views[{i}].name", "is the name of another view")
        names.add(name)
        if view.channel is not None and ids.parse_id("ch", view.channel) is None:
            raise invalid_field(f"views[{i}].channel", "is not the id of a channel; these are ch_ and 32 hex digits")
