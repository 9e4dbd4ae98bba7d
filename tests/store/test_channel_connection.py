"""How a channel stands with its network: noted once, and each change told."""

from gatepost.store.channels import get_config, save_connection
from tests.inbound.incoming_messages import read_events
from tests.outbound.stage import Stage


async def note(stage: Stage, state: str, reason: str | None) -> bool:
    return await save_connection(stage.db, stage.ref, stage.channel_id, state, reason, stage.clock.now())


async def test_the_connection_is_noted_once(stage: Stage) -> None:
    assert await note(stage, "connected", None)
    assert not await note(stage, "connected", None)
    assert await note(stage, "banned", "The network banned this number.")
    noted = await get_config(stage.db, stage.channel_id)
    assert noted is not None
    assert (noted.connection, noted.reason) == ("banned", "The network banned this number.")
    events = [
        (e["action"], e["data"]["state"], e["data"]["previous"]) for e in await read_events(stage, "ack_notification")
    ]
    assert events == [("connection", "connected", "disconnected"), ("connection", "banned", "connected")]
