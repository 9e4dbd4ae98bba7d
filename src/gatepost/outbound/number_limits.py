"""What the network allows a number, how that grows, and how it is shown."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import structlog

from gatepost.model import times, waits
from gatepost.model.event import ChannelRef
from gatepost.outbound import pace
from gatepost.outbound.backoff import Backoff
from gatepost.store.channel_head import Lease
from gatepost.store.channels import count_opened
from gatepost.store.numbers import raise_tier
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.send")
_WEEK = timedelta(days=7)
_LOOK_AGAIN = timedelta(minutes=10)


class NumberLimits(msgspec.Struct, frozen=True):
    """What the network allows this number."""

    throughput: float
    pair_seconds: float
    pair_burst: int
    tier: int
    ladder: tuple[int, ...] = ()  # the tiers that we may raise it to; 0 is no limit
    rise_after: timedelta = timedelta(0)
    tier_since: datetime | None = None
    quality: str | None = None
    warm_up: bool = False  # the tier is the gateway's own, for a number that was linked lately

    @property
    def tier_rule(self) -> str:
        return waits.WARM_UP if self.warm_up else waits.TIER


class TierPromotion:
    """Raises a number to its next tier when the network's rule is met."""

    def __init__(self, db: Database, channel: ChannelRef, lease: Lease) -> None:
        self._db = db
        self._channel = channel
        self._lease = lease
        self._look_at: datetime | None = None

    async def look(self, limits: NumberLimits, now: datetime) -> NumberLimits:
        """Return the limits after this check: the same, or with the next tier."""
        if not limits.ladder or limits.tier_since is None or limits.tier <= 0:
            return limits
        if now < max(limits.tier_since + limits.rise_after, self._look_at or limits.tier_since):
            return limits
        self._look_at = now + _LOOK_AGAIN
        used = await count_opened(self._db, self._lease.channel_id, now - _WEEK, limits.tier)
        tier = pace.next_tier(limits.ladder, limits.tier, used, limits.quality)
        if tier == limits.tier:
            return limits
        if not await raise_tier(self._db, self._channel, self._lease, limits.tier, tier, now):
            return limits
        log.info("tier rose", channel=self._lease.channel_id.hex, before=limits.tier, tier=tier)
        return msgspec.structs.replace(limits, tier=tier, tier_since=now)


class SenderLoad(msgspec.Struct, frozen=True):
    """How busy a sender is."""

    connected: bool
    started: int  # messages that left within the last second
    queued: int
    for_tier: int  # people who wait until a conversation may be opened
    for_pair: Sequence[float] = ()  # people who wait for the pair limit: when each may be written to again


def pace_shown(
    limits: NumberLimits, backoff: Backoff, opened: Sequence[datetime], load: SenderLoad, wall: datetime, now: float
) -> dict[str, Any]:
    """The use of each limit and why sending waits, for `GET /channel` and the trace."""
    free_at = wall + pace.tier_wait(opened, limits.tier, wall)
    return {
        "throughput": {
            "limit": limits.throughput,
            "used": load.started,
            "free": max(0, int(limits.throughput) - load.started),
        },
        "tier": {
            "limit": limits.tier or None,
            "used": len(opened),
            "free": max(0, limits.tier - len(opened)) if limits.tier else None,
            "free_at": times.format_time(free_at) if free_at > wall else None,
            "since": times.format_optional_time(limits.tier_since),
            "waiting": load.for_tier,
        },
        "pair": {
            "seconds": limits.pair_seconds,
            "burst": limits.pair_burst,
            "free_at": times.format_time(wall + timedelta(seconds=min(load.for_pair) - now)) if load.for_pair else None,
            "waiting": len(load.for_pair),
        },
        "queued": load.queued,
        "new": (new := _no_new(limits, backoff, free_at, wall, now)),
        "waiting": _waiting(backoff, load, wall, now) or (new if load.for_tier else None),
    }


def _waiting(backoff: Backoff, load: SenderLoad, wall: datetime, now: float) -> dict[str, Any] | None:
    """Why the whole channel waits."""
    if not load.connected:
        return _shown(waits.NOT_CONNECTED, waits.words(waits.NOT_CONNECTED), None)
    held = backoff.reason(now)
    return _shown(waits.HOLD, held[0], wall + timedelta(seconds=held[1])) if held else None


def _no_new(
    limits: NumberLimits, backoff: Backoff, free_at: datetime, wall: datetime, now: float
) -> dict[str, Any] | None:
    """Why no conversation may be opened."""
    held = backoff.new_reason(now)
    if held:
        return _shown(waits.NEW, held[0], wall + timedelta(seconds=held[1]))
    return _shown(limits.tier_rule, waits.words(limits.tier_rule), free_at) if free_at > wall else None


def _shown(rule: str, because: str, until: datetime | None) -> dict[str, Any]:
    return {"rule": rule, "because": because, "until": times.format_optional_time(until)}
