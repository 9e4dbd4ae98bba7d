"""Messages: send, read, trace, cancel, edit, delete, mark as read."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any, Literal, ParamSpec, TypeAlias

from gatepost_client.calls.builders import act, create, fetch, new_key, pages, stream
from gatepost_client.calls.media import upload
from gatepost_client.compose import Outgoing
from gatepost_client.types import Canceled, Message, Sent, Trace
from gatepost_client.wire import Call, Listing, Plan, identity

P = ParamSpec("P")
Moment: TypeAlias = date | datetime | str
Words: TypeAlias = str | Sequence[str]


def sending(compose: Callable[P, Outgoing]) -> Callable[P, Plan[Sent]]:
    """Turn a function of `compose` into a send operation."""

    def describe(*args: P.args, **kwargs: P.kwargs) -> Plan[Sent]:
        # Composed at once, and not with the first step, so that a mistake shows where it was made.
        return send_outgoing(compose(*args, **kwargs))

    about = (compose.__doc__ or "").strip().replace("Compose", "Send", 1)
    describe.__doc__ = f"{about} Returns once the gateway has stored it."
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
    """Upload the message's file. Its idempotency key is derived from the message's, so both may be repeated."""
    if outgoing.file is None:
        return outgoing
    media = yield upload(outgoing.file, idempotency_key=identity("file", key))
    return outgoing.with_media(media.id)


def message(message_id: str) -> Call[Message]:
    """Return a message."""
    return fetch(Message, "messages", message_id)


def trace(message_id: str) -> Call[Trace]:
    """Return every step of a message, from acceptance to each webhook attempt."""
    return fetch(Trace, "messages", message_id, "trace")


def cancel(message_id: str) -> Call[Message]:
    """Cancel a message that has not been sent yet."""
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
    """Cancel all matching messages that have not been sent yet, in as many requests as needed. Filters combine."""
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
    """Edit a text message that was sent; QR channels only."""
    return act(Message, "PATCH", "messages", message_id, body={"body": body}, repeatable=True)


def delete_message(message_id: str) -> Call[Message]:
    """Delete a message for everyone; QR channels only."""
    return act(Message, "DELETE", "messages", message_id)


def mark_read(message_id: str) -> Call[Message]:
    """Mark a message, and all before it, as read."""
    return act(Message, "POST", "messages", message_id, "read", repeatable=True)


def typing(conversation_id: str) -> Call[Any]:
    """Show the person a typing indicator."""
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
    """List messages from `start` (inclusive) to `end` (exclusive), newest first; `q` searches the text."""
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
    """Stream messages as a file, with the filters of `messages`."""
    return stream("messages", "export", query=_history(locals()))


def _history(filters: dict[str, Any]) -> dict[str, Any]:
    """Return the filters under their names in the API."""
    names = {"start": "from", "end": "to"}
    return {names.get(name, name): value for name, value in filters.items()}
