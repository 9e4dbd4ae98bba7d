"""Templates as the tests of this folder write them, and the calls they make with them."""

from typing import Any

from .driver import TOKEN, WABA, Driver, Reply

PATH = f"/v25.0/{WABA}/message_templates"
WORDS = "Hello {{1}}, your parcel {{2}} is on its way to you."


def body(text: str = WORDS, *examples: str, **more: Any) -> dict[str, Any]:
    given = list(examples) or (["Ana", "17"] if text == WORDS else [])
    return {"type": "BODY", "text": text, **({"example": {"body_text": [given]}} if given else {}), **more}


def buttons(*made: dict[str, Any]) -> dict[str, Any]:
    return {"type": "BUTTONS", "buttons": list(made)}


def quick(text: str = "Yes") -> dict[str, Any]:
    return {"type": "QUICK_REPLY", "text": text}


def link(url: str = "https://example.com/", **more: Any) -> dict[str, Any]:
    return {"type": "URL", "text": "Look", "url": url, **more}


def draft(*components: dict[str, Any], **changes: Any) -> dict[str, Any]:
    parts = list(components) or [body()]
    return {"name": "parcel", "language": "en_US", "category": "UTILITY", "components": parts} | changes


async def create(sandbox: Driver, payload: dict[str, Any]) -> Reply:
    return await sandbox.call("POST", PATH, payload, TOKEN)


async def made(sandbox: Driver, payload: dict[str, Any] | None = None) -> str:
    reply = await create(sandbox, payload or draft())
    assert reply.status == 200, reply.raw
    return str(reply.json["id"])


async def approved(sandbox: Driver, payload: dict[str, Any] | None = None) -> str:
    template_id = await made(sandbox, payload)
    await sandbox.advance(5)
    return template_id


async def node(sandbox: Driver, template_id: str, fields: str = "") -> Any:
    asked = f"?fields={fields}" if fields else ""
    return (await sandbox.call("GET", f"/v25.0/{template_id}{asked}", token=TOKEN)).json


async def status(sandbox: Driver, template_id: str) -> str:
    return str((await node(sandbox, template_id))["status"])
