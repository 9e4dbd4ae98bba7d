"""The caller's own channel: what it is, what it can carry, and how much room its limits leave."""

from typing import Any

import msgspec
from litestar import Response, get

from gatepost.admin.channels import get_channel
from gatepost.api.body import answer
from gatepost.api.gateway import Door, Who
from gatepost.model import ids
from gatepost.networks.base import CAPABILITIES
from gatepost.store.channels import ChannelConfig, get_pace


@get("/api/v1/channel", opt={"scope": "read"}, summary="Get the channel")
async def show_channel(gateway: Door, caller: Who) -> Response[bytes]:
    """Kind, phone, connection, capabilities, limits, and what holds sending back at the moment."""
    config = await get_channel(gateway.db, caller.account_id, caller.channel_id)
    pace: dict[str, Any] = msgspec.json.decode(await get_pace(gateway.db, caller.channel_id))
    return answer(_show(config, pace))


def _show(config: ChannelConfig, pace: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": ids.show("ch", config.id),
        "kind": config.kind,
        "phone": config.phone,
        "name": config.name,
        "connection": {"state": config.connection, "reason": config.reason},
        "capabilities": CAPABILITIES[config.kind].shown(),
        "limits": config.limits,
        "tier": pace.get("tier"),
        "waiting": pace.get("waiting"),
    }
