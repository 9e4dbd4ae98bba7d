"""A person in tests: sends anything to a number, and reads the callbacks about it."""

import json
from typing import Any

from .driver import NUMBER, Driver, Receiver

ANA = "5511999990000"


async def send_in(sandbox: Driver, kind: str = "text", content: Any = None, **more: Any) -> str:
    """Send the number something as Ana; gives the id of the message."""
    body: dict[str, Any] = {"from": ANA, "type": kind, **more}
    if content is not None:
        body[kind] = content
    wamid: str = (await sandbox.control("POST", f"numbers/{NUMBER}/incoming", body))["wamid"]
    return wamid


def changes(receiver: Receiver) -> list[dict[str, Any]]:
    """Every change of every callback, with the entry's time where it has one."""
    found: list[dict[str, Any]] = []
    for body in receiver.bodies:
        for entry in json.loads(body)["entry"]:
            found += [change | ({"time": entry["time"]} if "time" in entry else {}) for change in entry["changes"]]
    return found


def news(receiver: Receiver) -> list[tuple[str, Any]]:
    """Field and value of every change that is about something else than messages."""
    return [(change["field"], change["value"]) for change in changes(receiver) if change["field"] != "messages"]
