"""Callbacks as the network writes and signs them, or as a forger would."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from gatepost_sandbox.wire import Update, signature, text_update, webhook_body
from tests.faults.stage import APP_SECRET, NUMBER_ID, Stage
from tests.running_gateway import Answer


def text(wamid: str, phone: str, said: str = "Hi") -> Update:
    """A message of a person."""
    return text_update(wamid, phone, "Ana", datetime.now(UTC).timestamp(), body=said)


def body_of(updates: Sequence[Update], number_id: str = NUMBER_ID) -> bytes:
    """The bytes of one callback."""
    return webhook_body("102290129340398", "15550001111", number_id, updates)


def signed(body: bytes, secret: str = APP_SECRET) -> dict[str, str]:
    """The header that proves who wrote it."""
    return {"X-Hub-Signature-256": signature(secret.encode(), body)}


async def post_callback(stage: Stage, updates: Sequence[Update]) -> Answer:
    """A callback of the network itself."""
    body = body_of(updates)
    return await post_raw(stage, body, signed(body))


async def post_raw(stage: Stage, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Any bytes, with any proof."""
    return await stage.call("POST", f"/callbacks/cloud/{stage.channel}", raw=body, headers=headers, key="")
