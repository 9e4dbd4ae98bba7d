"""Messages, their traces and the results of sending in answers."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gatepost.api.contract.fields import (
    HEX,
    ApiObject,
    ContactId,
    ConversationId,
    DeliveryId,
    EndpointId,
    JsonObject,
    MessageId,
    Never,
    Nothing,
    PersonName,
    Phone,
    Text,
    Time,
    When,
)
from gatepost.model import ids, times
from gatepost.model.accepted import Key
from gatepost.model.delivery import STATUSES, explain_attempt, show_delivery_id
from gatepost.model.message import ACK, State, status_of
from gatepost.model.person import jid, shown_phone
from gatepost.model.sender import SenderKind, read_sender
from gatepost.model.waits import RULES, Wait, words
from gatepost.store.messages.amend import member_ids
from gatepost.store.messages.history import StoredMessage
from gatepost.store.messages.history import Trace as TraceRows

Status = Annotated[
    Literal["SCHEDULED", "PENDING", "SENT", "DELIVERED", "READ", "PLAYED", "FAILED", "EXPIRED", "CANCELED", "RECEIVED"],
    Meta(examples=["DELIVERED"]),
]
_KEY = {"remoteJid": "5511999998888@s.whatsapp.net", "fromMe": True, "id": "0199A1B2C3D47E5F8A9B0C1D2E3F4A5B"}
_RESULT = {"success": True, "message": "Message queued", "data": {"key": _KEY, "status": "PENDING"}}


class BatchResult(ApiObject, frozen=True):
    """The results, in the order of the messages. Each is the response that a single send would get."""

    batch_id: Annotated[Text, Meta(examples=["bat_019355d0a1b07c3e9f6a2b4c8d0e1f23"])]
    accepted: int
    refused: Annotated[int, Meta(examples=[0])]
    results: Annotated[list[JsonObject], Meta(examples=[[_RESULT]])]


class CanceledMessages(ApiObject, frozen=True):
    """How many messages a request canceled; if `done` is false, send the request again with this cursor."""

    canceled: Annotated[int, Meta(examples=[11_998])]
    too_late: Annotated[int, Meta(examples=[2])]
    done: bool
    cursor: Nothing


class ContactRef(ApiObject, frozen=True):
    """The contact that a resource belongs to."""

    id: ContactId
    phone: Phone | None
    name: PersonName | UnsetType | None = UNSET

    @classmethod
    def of(cls, contact_id: UUID, address: str, name: str | UnsetType | None = UNSET) -> "ContactRef":
        """Return the contact in short. One without a phone number has another address."""
        return cls(ids.format_id("ct", contact_id), shown_phone(address), name)


class ConversationRef(ApiObject, frozen=True):
    """The conversation that a resource belongs to."""

    id: ConversationId

    @classmethod
    def of(cls, contact_id: UUID) -> "ConversationRef":
        """Return the conversation with a contact."""
        return cls(ids.format_id("cv", contact_id))


class Waiting(ApiObject, frozen=True):
    """The rule that delays a message, why, until when if that is known, and because of which earlier message."""

    rule: Literal[RULES]  # type: ignore[valid-type]
    because: str
    until: When
    message_id: MessageId | None

    @classmethod
    def of(cls, wait: Wait) -> "Waiting":
        """Return why a message waits."""
        return cls(
            wait.rule,
            wait.because or words(wait.rule, ahead=wait.message_id is not None),
            times.format_optional_time(wait.until),
            ids.message_id(wait.message_id) if wait.message_id else None,
        )


class GroupMember(ApiObject, frozen=True):
    """A member of a group, with the ids that the network gives."""

    phone: str | UnsetType = UNSET
    lid: str | UnsetType = UNSET
    user_id: str | UnsetType = UNSET


class Reaction(ApiObject, frozen=True, rename={"sender": "from"}):
    """An emoji on a message, and who added it: the id of a contact, or `me`; in a group, `author` is the member."""

    emoji: Annotated[str, Meta(examples=["👍"])]
    sender: Annotated[str, Meta(examples=["me"])]
    author: GroupMember | UnsetType = UNSET

    @classmethod
    def of(cls, sender: str, mark: dict[str, str]) -> "Reaction":
        """Return a reaction from its stored form."""
        member = member_ids(mark)
        return cls(mark["emoji"], sender.partition("/")[0], GroupMember(**member) if member else UNSET)


class SentBy(ApiObject, frozen=True):
    """Who sent a message: a user, a key, the operator, or the channel's own phone. The label is the name then."""

    kind: Annotated[SenderKind, Meta(examples=["key"])]
    id: Annotated[Text, Meta(examples=[f"key_{HEX}"])]
    label: Annotated[Text, Meta(examples=["Shop"])]

    @classmethod
    def of(cls, text: str | None) -> "SentBy | None":
        """Return the sender from its stored form; None if it is not known."""
        sender = read_sender(text)
        return cls(sender.kind, sender.id, sender.label) if sender else None


class Message(msgspec.Struct, frozen=True):
    """A message."""

    key: Key
    direction: Annotated[Literal["in", "out"], Meta(examples=["out"])]
    type: Annotated[str, Meta(examples=["text"])]
    content: Annotated[JsonObject, Meta(examples=[{"body": "Hello from Gatepost"}])]
    status: Status
    ack: Annotated[int | None, Meta(examples=[2])]
    contact: ContactRef
    conversation: ConversationRef
    reply_to: Nothing
    about: Nothing
    context: Annotated[JsonObject | None, Meta(examples=[None])]
    reactions: Annotated[list[Reaction], Meta(examples=[[]])]
    edited_at: Never
    deleted_at: Never
    network_id: Annotated[Text, Meta(examples=["wamid.HBgNNTUxMTk5OTk5ODg4OA=="])]
    created_at: Time
    sent_at: When
    error: Annotated[JsonObject | None, Meta(examples=[None])]
    client_ref: Text | UnsetType = UNSET
    priority: Literal["chat", "bulk"] | UnsetType = UNSET
    send_at: When | UnsetType = UNSET
    expires_at: When | UnsetType = UNSET
    delivered_at: When | UnsetType = UNSET
    read_at: When | UnsetType = UNSET
    played_at: When | UnsetType = UNSET
    ended_at: When | UnsetType = UNSET
    pricing: JsonObject | UnsetType | None = UNSET
    sent_by: SentBy | UnsetType | None = UNSET
    waiting: Waiting | UnsetType = UNSET

    @classmethod
    def of(cls, row: StoredMessage, now: datetime, wait: Wait | None = None) -> "Message":
        """Return a message, and what delays it. Only outgoing messages have the fields after `error`."""
        return cls(
            key=Key(jid(row.phone), not row.incoming, ids.message_id(row.id)),
            direction="in" if row.incoming else "out",
            type=row.type,
            content=_as_is(row.content),
            status=status_of(row.state, row.send_at, now),  # type: ignore[arg-type]
            ack=ACK.get(row.state),
            contact=ContactRef.of(row.contact_id, row.phone),
            conversation=ConversationRef.of(row.contact_id),
            reply_to=ids.message_id(row.reply_to) if row.reply_to else None,
            about=ids.message_id(row.target_id) if row.target_id else None,
            context=_json(row.context),
            reactions=_reactions(row),
            edited_at=times.format_optional_time(row.edited_at),
            deleted_at=times.format_optional_time(row.deleted_at),
            network_id=row.network_id,
            created_at=times.format_time(row.created_at),
            sent_at=times.format_optional_time(row.sent_at),
            error=_json(row.error) if row.state < State.QUEUED else None,
            waiting=Waiting.of(wait) if wait else UNSET,
            **({} if row.incoming else _outgoing(row)),
        )


def _outgoing(row: StoredMessage) -> dict[str, Any]:
    return {
        "client_ref": row.client_ref,
        "priority": "bulk" if row.bulk else "chat",
        "send_at": times.format_optional_time(row.send_at),
        "expires_at": times.format_optional_time(row.expires_at),
        "delivered_at": times.format_optional_time(row.delivered_at),
        "read_at": times.format_optional_time(row.read_at),
        "played_at": times.format_optional_time(row.played_at),
        "ended_at": times.format_optional_time(row.ended_at),
        "pricing": _json(row.pricing),
        "sent_by": SentBy.of(row.sent_by),
    }


def _reactions(row: StoredMessage) -> list[Reaction]:
    """Return the reactions to a message; an empty emoji was removed."""
    given = _json(row.reactions) or {}
    return [Reaction.of(sender, mark) for sender, mark in given.items() if mark["emoji"]]


class Step(msgspec.Struct, frozen=True):
    """One step of a message, and its time."""

    step: Annotated[str, Meta(examples=["accepted"])]
    at: Time
    attempt: int | UnsetType = UNSET
    reason: Any | UnsetType = UNSET
    rule: str | UnsetType = UNSET
    because: str | UnsetType = UNSET
    until: When | UnsetType = UNSET
    message_id: MessageId | UnsetType | None = UNSET


class TraceAttempt(ApiObject, frozen=True):
    """One attempt to deliver an event of a message."""

    number: int
    at: Time
    url: str
    status: int | None
    error: Text
    latency_ms: float


class TraceDelivery(ApiObject, frozen=True):
    """The delivery of an event to one endpoint."""

    id: DeliveryId
    endpoint: EndpointId
    state: str
    next_at: When
    attempts: list[TraceAttempt]


class TraceEvent(ApiObject, frozen=True):
    """An event about a message, and its deliveries."""

    event: Annotated[JsonObject, Meta(examples=[{"type": "message_notification", "action": "created"}])]
    deliveries: list[TraceDelivery]

    @classmethod
    def of(cls, event_id: UUID, body: str, rows: TraceRows) -> "TraceEvent":
        """Return an event with all attempts to deliver it."""
        attempts = [one for one in rows.attempts if one.event_id == event_id]
        return cls(
            _as_is(body),
            [
                TraceDelivery(
                    show_delivery_id(delivery.endpoint_id, event_id),
                    ids.format_id("we", delivery.endpoint_id),
                    STATUSES[delivery.state],
                    times.format_optional_time(delivery.next_at),
                    [
                        TraceAttempt(
                            one.number,
                            times.format_time(one.at),
                            one.url,
                            one.status,
                            explain_attempt(one.status, one.error),
                            round(one.latency_ms, 1),
                        )
                        for one in attempts
                        if one.endpoint_id == delivery.endpoint_id
                    ],
                )
                for delivery in rows.deliveries
                if delivery.event_id == event_id
            ],
        )


class Trace(ApiObject, frozen=True):
    """The steps of a message, why it waits, and the deliveries of its events."""

    message: Message
    steps: list[Step]
    waiting: Annotated[Waiting | None, Meta(examples=[None])]
    events: list[TraceEvent]

    @classmethod
    def of(cls, row: StoredMessage, wait: Wait | None, rows: TraceRows, now: datetime) -> "Trace":
        """Return the trace of a message."""
        return cls(
            Message.of(row, now, wait),
            _steps(row),
            Waiting.of(wait) if wait else None,
            [TraceEvent.of(event.id, event.body, rows) for event in rows.events],
        )


def _steps(row: StoredMessage) -> list[Step]:
    """Return what happened to a message, in the order of time."""
    if row.incoming:
        return [Step("received", times.format_time(row.created_at))]
    named = {
        "accepted": row.created_at,
        "sent": row.sent_at,
        "delivered": row.delivered_at,
        "read": row.read_at,
        "played": row.played_at,
    }
    steps: list[tuple[datetime, JsonObject]] = [(at, {"step": name}) for name, at in named.items() if at]
    for failed in map(msgspec.json.decode, row.history or []):
        at = datetime.fromisoformat(failed["at"])
        steps.append((at, {"step": "attempt_failed", "attempt": failed["attempt"], "reason": failed["error"]}))
    waits = (waited for text in row.waits or [] for waited in msgspec.json.decode(text))
    steps += [(datetime.fromisoformat(waited.pop("from")), {"step": "waited", **waited}) for waited in waits]
    if row.sending_at:
        steps.append((row.sending_at, {"step": "sending", "attempt": row.attempt}))
    if row.ended_at:
        steps.append((row.ended_at, {"step": row.state.name.lower(), "reason": _json(row.error)}))
    return [Step(at=times.format_time(at), **step) for at, step in sorted(steps, key=lambda pair: pair[0])]


def _json(text: str | None) -> Any:
    return msgspec.json.decode(text) if text else None


def _as_is(text: str) -> Any:
    """Return JSON that is copied into the answer without being decoded."""
    return msgspec.Raw(text.encode())
