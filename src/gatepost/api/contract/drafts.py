"""Drafts in answers."""

from typing import Annotated

import msgspec
from msgspec import Meta

from gatepost.api.contract.fields import (
    LATER,
    ApiObject,
    ConversationId,
    DraftId,
    JsonObject,
    MessageId,
    Never,
    Nothing,
    Phone,
    Text,
    Time,
)
from gatepost.api.contract.messages import ContactRef, SentBy
from gatepost.model import ids, times
from gatepost.model.draft import WAITING_MAX, DraftState
from gatepost.model.person import shown_phone
from gatepost.store.drafts import DraftRow

_MESSAGE = {"phone": "5511999998888", "body": "Your order is on its way."}


class DraftCounts(ApiObject, frozen=True):
    """How many drafts need a person."""

    waiting: Annotated[int, Meta(description=f"At most {WAITING_MAX:,}.", examples=[3])]


class Draft(ApiObject, frozen=True):
    """A message that a person has to approve."""

    id: DraftId
    conversation: Annotated[ConversationId | None, Meta(description="Null: there is no contact with this number yet.")]
    contact: ContactRef | None
    phone: Phone | None
    message: Annotated[JsonObject, Meta(description="As in `POST /message/send`.", examples=[_MESSAGE])]
    state: Annotated[DraftState, Meta(examples=["waiting"])]
    rule: Annotated[
        Text, Meta(description="The rule of the assistant's policy that made it a draft.", examples=["mode"])
    ]
    reason: Annotated[Text, Meta(description="Why it needs a person.", examples=["A person approves each message."])]
    created_by: SentBy | None
    created_at: Time
    edited_at: Never
    edited_by: Annotated[SentBy | None, Meta(examples=[None])]
    expires_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"}, examples=[LATER])]
    decided_at: Never
    decided_by: Annotated[SentBy | None, Meta(examples=[None])]
    comment: Annotated[Nothing, Meta(description="What the person who refused it wrote.")]
    message_id: Annotated[MessageId | None, Meta(description="The message that it became.", examples=[None])]
    written_since: Annotated[
        bool, Meta(description="Whether the person has written since it was made or edited.", examples=[False])
    ]
    revision: Annotated[int, Meta(description="Grows with each edit.", examples=[1])]

    @classmethod
    def of(cls, row: DraftRow) -> "Draft":
        """Return a draft."""
        person = row.contact
        return cls(
            id=ids.format_id("drf", row.id),
            conversation=ids.format_id("cv", person.id) if person else None,
            contact=ContactRef.of(person.id, person.phone, person.display_name) if person else None,
            phone=shown_phone(row.phone),
            message={name: field for name, field in msgspec.json.decode(row.body).items() if field is not None},
            state=row.state,
            rule=row.rule,
            reason=row.reason,
            created_by=SentBy.of(row.created_by),
            created_at=times.format_time(row.created_at),
            edited_at=times.format_optional_time(row.edited_at),
            edited_by=SentBy.of(row.edited_by),
            expires_at=times.format_time(row.expires_at),
            decided_at=times.format_optional_time(row.decided_at),
            decided_by=SentBy.of(row.decided_by),
            comment=row.comment,
            message_id=ids.message_id(row.message_id) if row.message_id else None,
            written_since=row.written_since,
            revision=row.revision,
        )
