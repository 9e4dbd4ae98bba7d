"""Short words for the tests of receiving: who says what, and what became of it in the tables and in the events.

await hear(stage, said(stage, ANA, "text", {"body": "Oi"}))
await told(stage)              all events so far, as the world sees them
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


def said(
    stage: Stage, person: Person, type_: str = "text", content: Any = None, *, age: float = 0, **more: Any
) -> Incoming:
    """A message of a person, so many seconds old."""
    network_id = more.pop("id", None) or f"wamid.{next(_numbers)}"
    text = msgspec.json.encode({"body": "Oi"} if content is None else content).decode()
    return Incoming(network_id, person, type_, text, stage.clock.now() - timedelta(seconds=age), **more)


async def hear(stage: Stage, *updates: Update) -> None:
    """All of it in one report."""
    await stage.receiver.receive(stage.channel_id, stage.ref, list(updates))


def is_greeting(event: dict[str, Any]) -> bool:
    """Whether an event tells of somebody met for the first time: so in nearly every test, and seldom its point."""
    return event["action"] == "created" and event["type"] in ("contact_notifications", "chat_notification")


async def told(stage: Stage, type_: str = "", action: str = "", *, greetings: bool = False) -> list[dict[str, Any]]:
    """The events of a type and action so far, in their order; no gap may be in their sequence."""
    rows = await stage.rows("events", "ORDER BY id")
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    bodies = [msgspec.json.decode(row["body"]) for row in rows]
    fitting = [b for b in bodies if b["type"].startswith(type_) and action in ("", b["action"])]
    return fitting if greetings else [b for b in fitting if not is_greeting(b)]


async def data(stage: Stage, type_: str = "", action: str = "") -> list[dict[str, Any]]:
    """The data of those events."""
    return [event["data"] for event in await told(stage, type_, action)]


async def row_of(stage: Stage, update: Incoming) -> Any:
    """The one row of a message."""
    (row,) = await stage.rows("messages", f"AND network_id = '{update.network_id}'")
    return row


async def content_of(stage: Stage, update: Incoming) -> Any:
    return msgspec.json.decode((await row_of(stage, update))["content"])


async def contact_of(stage: Stage, phone: str) -> Any:
    (row,) = await stage.rows("contacts", f"AND phone = '{phone}'")
    return row


async def names(stage: Stage) -> dict[str, set[str]]:
    """Every contact by its own address, with its aliases."""
    contacts = {row["id"]: row["phone"] for row in await stage.rows("contacts")}
    found: dict[str, set[str]] = {phone: set() for phone in contacts.values()}
    for row in await stage.rows("contact_aliases"):
        found[contacts[row["contact_id"]]].add(row["alias"])
    return found


async def snapshot(stage: Stage) -> dict[str, list[Any]]:
    """Every row that receiving may write, to be compared."""
    tables = ("messages", "contacts", "contact_aliases", "conversations", "media", "orders", "labels", "label_uses")
    return {table: sorted(map(repr, await stage.rows(table))) for table in (*tables, "events", "parked_statuses")}


def shown(stage: Stage, contact: Any) -> dict[str, Any]:
    """A contact as an event names it."""
    phone = contact["phone"] if contact["phone"].isdigit() else None
    return {"id": ids.format_id("ct", contact["id"]), "phone": phone, "name": contact["name"]}


def flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for one in lists for item in one]
