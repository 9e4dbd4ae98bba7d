"""Incoming messages, and the rows and events that they lead to.

await receive(stage, message_from(stage, ANA, "text", {"body": "Oi"}))
await read_events(stage)       all events so far, as webhooks have them
"""

from collections.abc import Iterable
from datetime import timedelta
from itertools import count
from typing import Any

import msgspec

from gatepost.model import ids
from gatepost.networks.base import Incoming, Person, Update
from tests.outbound.stage import Stage

ANA = Person("5511999998888", name="Ana")
BOB = Person("4915112345678", name="Bob")
_numbers = count(1)


def message_from(
    stage: Stage, person: Person, type_: str = "text", content: Any = None, *, age: float = 0, **more: Any
) -> Incoming:
    """Return a message of a person, `age` seconds old."""
    network_id = more.pop("id", None) or f"wamid.{next(_numbers)}"
    text = msgspec.json.encode({"body": "Oi"} if content is None else content).decode()
    return Incoming(network_id, person, type_, text, stage.clock.now() - timedelta(seconds=age), **more)


async def receive(stage: Stage, *updates: Update) -> None:
    """Receive updates in one report of the network."""
    await stage.receiver.receive(stage.channel_id, stage.ref, list(updates))


def is_first_contact(event: dict[str, Any]) -> bool:
    """Return whether an event reports a new contact or conversation, which few tests are about."""
    return event["action"] == "created" and event["type"] in ("contact_notifications", "chat_notification")


async def read_events(
    stage: Stage, type_: str = "", action: str = "", *, greetings: bool = False
) -> list[dict[str, Any]]:
    """Return the events of a type and action in order, and check that their sequence has no gap."""
    rows = await stage.rows("events", "ORDER BY id")
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    bodies = [msgspec.json.decode(row["body"]) for row in rows]
    fitting = [b for b in bodies if b["type"].startswith(type_) and action in ("", b["action"])]
    return fitting if greetings else [b for b in fitting if not is_first_contact(b)]


async def data(stage: Stage, type_: str = "", action: str = "") -> list[dict[str, Any]]:
    """Return the data of these events."""
    return [event["data"] for event in await read_events(stage, type_, action)]


async def row_of(stage: Stage, update: Incoming) -> Any:
    """Return the only row of a message."""
    (row,) = await stage.rows("messages", f"AND network_id = '{update.network_id}'")
    return row


async def content_of(stage: Stage, update: Incoming) -> Any:
    return msgspec.json.decode((await row_of(stage, update))["content"])


async def contact_of(stage: Stage, phone: str) -> Any:
    (row,) = await stage.rows("contacts", f"AND phone = '{phone}'")
    return row


async def read_aliases(stage: Stage) -> dict[str, set[str]]:
    """Return the aliases of each contact, by its phone number."""
    contacts = {row["id"]: row["phone"] for row in await stage.rows("contacts")}
    found: dict[str, set[str]] = {phone: set() for phone in contacts.values()}
    for row in await stage.rows("contact_aliases"):
        found[contacts[row["contact_id"]]].add(row["alias"])
    return found


async def snapshot(stage: Stage) -> dict[str, list[Any]]:
    """Return all rows that receiving may write, for a comparison."""
    tables = ("messages", "contacts", "contact_aliases", "conversations", "media", "orders", "labels", "label_uses")
    return {table: sorted(map(repr, await stage.rows(table))) for table in (*tables, "events", "parked_statuses")}


def contact_view(stage: Stage, contact: Any) -> dict[str, Any]:
    """Return a contact as events show it."""
    phone = contact["phone"] if contact["phone"].isdigit() else None
    return {"id": ids.format_id("ct", contact["id"]), "phone": phone, "name": contact["name"]}


def flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for one in lists for item in one]
