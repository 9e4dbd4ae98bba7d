"""The channel: its state, abilities and limits."""

import msgspec

from gatepost.admin.channels import get_channel as access_channel
from gatepost.mcp.answers import Answer, Arguments
from gatepost.mcp.outside_words import Outside, outside
from gatepost.mcp.registry import READING, tool
from gatepost.mcp.tool_call import Call
from gatepost.model import ids
from gatepost.model.mcp_policy import sentences
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.assistant_calls import count_sends_left
from gatepost.store.channels import get_pace
from gatepost.store.links import get_link


class GetChannel(Arguments, frozen=True):
    """No arguments."""


class _Tier(msgspec.Struct, frozen=True):
    limit: int | None = None
    used: int = 0
    free: int | None = None


class _Waiting(msgspec.Struct, frozen=True):
    rule: str
    because: str
    until: str | None = None


class _Pace(msgspec.Struct, frozen=True):
    """What the process that sends for the channel wrote last."""

    tier: _Tier | None = None
    queued: int = 0
    waiting: _Waiting | None = None


class ChannelView(Answer, frozen=True):
    """The state of the channel, and what its limits leave."""

    id: str
    kind: str
    phone: str
    name: Outside | None
    state: str
    types: list[str]
    sends_left: int  # messages and drafts of this key in this hour
    templates: bool = False
    window: bool = False
    reason: str | None = None
    quality: str | None = None
    queued: int = 0
    per_second: float | None = None
    new_conversations_left: int | None = None
    waits_because: str | None = None
    waits_until: str | None = None
    may: tuple[str, ...] = ()  # what the policy of this key allows


@tool("Get the channel", READING, example={})
async def get_channel(given: GetChannel, call: Call) -> ChannelView:
    """Return the state of this channel, which types of messages it can send, what its limits leave, and what this key
    may do now. `window`: free text can only be sent within 24 hours after the person's last message."""
    config = await access_channel(call.db, call.caller.account_id, call.channel_id)
    kind = NETWORK_KINDS[config.kind]
    pace = msgspec.json.decode(await get_pace(call.db, config.id), type=_Pace)
    link = await get_link(call.db, config.id) if kind.linked else None
    limits = call.context.limits(config, link, call.now)
    tier = pace.tier or _Tier(limits.tier or None, 0, limits.tier or None)
    return ChannelView(
        id=ids.format_id("ch", config.id),
        kind=config.kind,
        phone=config.phone,
        name=outside(config.name),
        state=config.connection,
        types=sorted(kind.capabilities.types),
        templates=kind.capabilities.templates,
        window=kind.capabilities.window and call.caller.window,
        reason=config.reason,
        quality=config.state.get("quality"),
        queued=pace.queued,
        per_second=limits.throughput,
        new_conversations_left=tier.free,
        waits_because=pace.waiting.because if pace.waiting else None,
        waits_until=pace.waiting.until if pace.waiting else None,
        may=tuple(sentences(call.policy)),
        sends_left=await count_sends_left(call.db, call.caller, call.policy, call.now),
    )
