"""Messages: send, look, trace, cancel, edit, delete, mark as read."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any, Literal, ParamSpec, TypeAlias

from gatepost_client.calls.making import act, create, fetch, new_key, pages, stream
from gatepost_client.calls.media import upload
from gatepost_client.compose import Outgoing
from gatepost_client.types import Canceled, Message, Sent, Trace
from gatepost_client.wire import Call, Listing, Plan, identity

P = ParamSpec("P")
Moment: TypeAlias = date | datetime | str
Words: TypeAlias = str | Sequence[str]


def sending(compose: Callable[P, Outgoing]) -> Callable[P, Plan[Sent]]:
    """Make a composer into a send."""

    def describe(*args: P.args, **kwargs: P.kwargs) -> Plan[Sent]:
        # Composed at once, and not with the first step, so that a mistake shows where it was made.
        return send_outgoing(compose(*args, **kwargs))

    describe.__doc__ = f"{(compose.__doc__ or '').strip()} Sends it; returns once it is on the gateway's disk."
    describe.__name__ = f"send_{compose.__name__}"
    describe.__wrapped__ = compose  # type: ignore[attr-defined]
    return describe


def send_outgoing(outgoing: Outgoing) -> Plan[Sent]:
    """Upload the file of a message if it has one, and send the message."""
    key = outgoing.idempotency_key or new_key()
    ready = yield from uploaded(outgoing, key)
    sent: Sent = yield create(Sent, "message", "send", body=ready.fields, key=key)
    return sent


def uploaded(outgoing: Outgoing, key: str) -> Plan[Outgoing]:
    """The message with its file at the gateway. The file's key hangs on the message's: both repeat together."""
    if outgoing.file is None:
        return outgoing
    media = yield upload(outgoing.file, idempotency_key=identity("file", key))
    return outgoing.with_media(media.id)


def message(message_id: str) -> Call[Message]:
    """A message as it stands."""
    return fetch(Message, "messages", message_id)


def trace(message_id: str) -> Call[Trace]:
    """Every step of a message, from acceptance to each webhook attempt."""
    return fetch(Trace, "messages", message_id, "trace")


def cancel(message_id: str) -> Call[Message]:
    """Cancel a message that has not left yet."""
    return act(Message, "POST", "messages", message_id, "cancel")


def cancel_messages(
    *,
    batch_id: str | None = None,
    label: str | None = None,
    client_ref_prefix: str | None = None,
    phone: str | None = None,
    conversation: str | None = None,
    created_from: Moment | None = None,
    created_to: Moment | None = None,
    send_from: Moment | None = None,
    send_to: Moment | None = None,
    tz: str | None = None,
) -> Plan[Canceled]:
    """Cancel all messages that fit and have not left yet, in as many requests as it takes. Filters combine."""
    return _cancel_all({name: _moment(value) for name, value in locals().items() if value is not None})


def _moment(value: Moment) -> str:
    return value if isinstance(value, str) else value.isoformat()


def _cancel_all(filters: dict[str, str]) -> Plan[Canceled]:
    canceled = too_late = 0
    while True:
        call = act(Canceled, "POST", "messages", "cancel", body=filters, repeatable=True)
        made: Canceled = yield call
        canceled, too_late = canceled + made.canceled, too_late + made.too_late
        if made.cursor is None:
            return Canceled(canceled=canceled, too_late=too_late, done=True)
        filters = filters | {"cursor": made.cursor}


def edit(message_id: str, body: str) -> Call[Message]:
    """Give a text that was sent new words; QR channels."""
    return act(Message, "PATCH", "messages", message_id, body={"body": body}, repeatable=True)


def delete_message(message_id: str) -> Call[Message]:
    """Delete a message on the person's phone; QR channels."""
    return act(Message, "DELETE", "messages", message_id)


def mark_read(message_id: str) -> Call[Message]:
    """Show the person that their message, and all before it, were read."""
    return act(Message, "POST", "messages", message_id, "read", repeatable=True)


def typing(conversation_id: str) -> Call[Any]:
    """Show the person that an answer is being written."""
    return act(Any, "POST", "conversations", conversation_id, "typing", repeatable=True)


def messages(
    *,
    phone: str | None = None,
    conversation: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    tz: str | None = None,
    direction: Literal["in", "out"] | None = None,
    status: Words | None = None,
    type: Words | None = None,
    q: str | None = None,
) -> Listing[Message]:
    """Messages from `start` up to, but without, `end`, the newest first; `q` are words. Filters combine."""
    return pages(Message, "messages", query=_history(locals()))


def export_messages(
    *,
    format: Literal["ndjson", "csv"] = "ndjson",
    phone: str | None = None,
    conversation: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    tz: str | None = None,
    direction: Literal["in", "out"] | None = None,
    status: Words | None = None,
    type: Words | None = None,
    q: str | None = None,
) -> Call[None]:
    """The same messages as a file, as it comes."""
    return stream("messages", "export", query=_history(locals()))


def _history(filters: dict[str, Any]) -> dict[str, Any]:
    """The filters by the names that the API has for them."""
    names = {"start": "from", "end": "to"}
    return {names.get(name, name): value for name, value in filters.items()}
