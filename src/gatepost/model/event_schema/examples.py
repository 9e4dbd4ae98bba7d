"""An example of every action, made by the functions that make real events: what is shown is what comes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from gatepost.model import event, ids
from gatepost.model.event import ChannelRef, NewEvent
from gatepost.model.message import State
from gatepost.model.times import format_time

AT = datetime(2026, 11, 15, 10, 0, 0, 123_000, UTC)
CHANNEL = ChannelRef(ids.format_id("ch", ids.derived_id(AT, "channel")), "official", "15550001111")
_PHONE, _NAME = "5511999998888", "Ana Maria"
_CONTACT, _OTHER = ids.derived_id(AT, "contact"), ids.derived_id(AT, "other contact")
_MESSAGE, _REPLY = ids.derived_id(AT, "message"), ids.derived_id(AT, "reply")
_LABEL, _ENDPOINT, _EVENT = (ids.derived_id(AT, name) for name in ("label", "endpoint", "event"))
_REF = event.contact_ref(_CONTACT, _PHONE, _NAME)
_WHO = (_CONTACT, _PHONE, _NAME)


def example_of(type_: str, action: str) -> bytes:
    """The example of an action as it would arrive."""
    return event.render(new_example(type_, action, _EVENT), 4711, CHANNEL, AT).encode()


def new_example(type_: str, action: str, id_: UUID) -> NewEvent:
    """The example of an action as an event of its own, under the id given."""
    return NewEvent(id_, type_, action, MAKERS[type_][action]())


def _message() -> dict[str, Any]:
    return event.message_data(
        id_=_MESSAGE,
        phone=_PHONE,
        contact_id=_CONTACT,
        name=_NAME,
        incoming=True,
        type_="text",
        content='{"body":"Is it still available?"}',
        timestamp=AT,
        reply_to=_REPLY,
        client_ref=None,
    )


def _changed_message() -> dict[str, Any]:
    return _message() | event.change_data("reaction", reaction={"emoji": "👍", "from": "me"})


def _ack() -> dict[str, Any]:
    return event.ack_data(id_=_MESSAGE, phone=_PHONE, state=State.DELIVERED, previous="SENT", client_ref="order-1001")


def _connection() -> dict[str, Any]:
    return event.connection_data(
        "waiting_for_scan", "connecting", "Scan the code with the phone.", {"qr": "2@liXrE1wq0mA="}
    )


def _chat() -> dict[str, Any]:
    return event.chat_data(*_WHO, {"status": "open", "created_at": format_time(AT)})


def _changed_chat() -> dict[str, Any]:
    fields = {"status": "closed", "archived": False, "muted": False, "assignee": "Rui", "note": None, "unread": 0}
    return event.chat_data(*_WHO, {**fields, "changed": ["status", "assignee"]})


def _label() -> dict[str, Any]:
    return event.label_data(_LABEL, "New customer", "#8fa832")


def _label_use() -> dict[str, Any]:
    return event.label_use_data(_label(), "conversation", *_WHO)


def _contact() -> dict[str, Any]:
    return event.contact_data(*_WHO, AT, {"opted_out": False, "custom": {"city": "Porto"}})


def _changed_contact() -> dict[str, Any]:
    fields = {"username": None, "opted_out": False, "custom": {"city": "Porto"}, "changed": ["history", "custom"]}
    return event.contact_change_data(*_WHO, fields, joined=(_OTHER,))


def _gone_contact() -> dict[str, Any]:
    return event.contact_gone_data(*_WHO)


def _order(status: str = "new") -> dict[str, Any]:
    line = {"retailer_id": "tea-1", "quantity": 2, "price": "7.99", "currency": "EUR"}
    about = {"status": status, "catalog_id": "194836987003835", "note": "Please wrap it", "items": [line]}
    return event.order_data(_MESSAGE, _REF, _CONTACT, {**about, "total": "15.98", "currency": "EUR"}, AT)


def _moved_order() -> dict[str, Any]:
    return _order("confirmed") | {"previous": "new"}


def _endpoint(state: str, previous: str, reason: str | None, **more: Any) -> Callable[[], dict[str, Any]]:
    """How an endpoint fares; while something is wrong with it, since when."""
    healthy = reason is None
    since, failures = (None, 0) if healthy else (AT - timedelta(minutes=5), 12)
    told = {"previous": previous, "reason": reason, "failing_since": since, "failures": failures, **more}
    return lambda: event.endpoint_data(_ENDPOINT, "https://shop.example.com/hooks", state, **told)


_FAILED = "The endpoint answered 503."
MAKERS: dict[str, dict[str, Callable[[], dict[str, Any]]]] = {
    event.MESSAGE: {"created": _message, "updated": _changed_message},
    event.ACKNOWLEDGE: {"message": _ack, "connection": _connection},
    event.CHAT: {"created": _chat, "updated": _changed_chat},
    event.LABEL: {
        "created": _label,
        "updated": _label,
        "deleted": _label,
        "assigned": _label_use,
        "removed": _label_use,
    },
    event.CONTACT: {"created": _contact, "updated": _changed_contact, "deleted": _gone_contact},
    event.ORDER: {"created": _order, "updated": _moved_order},
    event.OPERATIONAL: {
        "failing": _endpoint("active", "active", _FAILED),
        "paused": _endpoint("paused", "active", _FAILED),
        "resumed": _endpoint("active", "paused", None),
        "disabled": _endpoint("disabled", "paused", "The endpoint is gone: it answered 410."),
        "enabled": _endpoint("active", "disabled", None),
        "exhausted": _endpoint("active", "active", _FAILED, exhausted=3, event_id=_EVENT),
    },
}
