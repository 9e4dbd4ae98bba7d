"""Callbacks as the network writes them, for the tests of this folder."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from gatepost.networks.base import Incoming, Update
from gatepost.networks.cloud.callback import parse_updates

NUMBER = "100000000000001"
WABA = "200000000000002"
OUR_PHONE = "15550001111"
PERSON = "5511999998888"
AT = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
STAMP = str(int(AT.timestamp()))


def callback(*values: Any, field: str = "messages", waba: str = WABA) -> bytes:
    """One entry per value."""
    changes = [{"field": field, "value": value} for value in values]
    return msgspec.json.encode(
        {"object": "whatsapp_business_account", "entry": [{"id": waba, "time": 1, "changes": [c]} for c in changes]}
    )


def value(number: str = NUMBER, **parts: Any) -> dict[str, Any]:
    metadata = {"display_phone_number": OUR_PHONE, "phone_number_id": number}
    return {"messaging_product": "whatsapp", "metadata": metadata} | parts


def status(word: str = "delivered", **more: Any) -> dict[str, Any]:
    return {"id": "wamid.1", "status": word, "timestamp": STAMP, "recipient_id": PERSON} | more


def message(**more: Any) -> dict[str, Any]:
    plain = {"from": PERSON, "id": "wamid.2", "timestamp": STAMP, "type": "text"}
    says = {"text": {"body": "Oi"}} if more.get("type", "text") == "text" else {}
    return plain | says | more


def read(*values: Any) -> tuple[list[Update], int]:
    return parse_updates(callback(*values), NUMBER)


def incoming(type_: str, content: Any, **more: Any) -> Incoming:
    """The one message that comes of a message of this type."""
    (found, *_), unread = read(value(messages=[message(type=type_, **{type_: content}, **more)]))
    assert isinstance(found, Incoming)
    assert unread == 0
    return found


def said(found: Incoming) -> Any:
    return msgspec.json.decode(found.content)
