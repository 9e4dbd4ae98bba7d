"""Notifications for operators: what the network thinks of the number, and how much it allows it."""

from typing import Annotated, Self, TypeAlias

from msgspec import Meta

from gatepost.model.event.parts import SYSTEM, EventObject

_Tier = Annotated[int, Meta(ge=0, description="Conversations that the business may open in 24 hours; 0: no limit.")]
_Quality = Annotated[str, Meta(description="As the network reports it: GREEN, YELLOW, RED or UNKNOWN.")]


class NumberQualityChanged(EventObject, frozen=True):
    """The network changed the quality rating of the number."""

    TYPE, ACTION = SYSTEM, "number_quality_changed"

    quality: _Quality
    previous: _Quality

    @classmethod
    def example(cls) -> Self:
        return cls("RED", "GREEN")


class NumberTierChanged(EventObject, frozen=True):
    """The network changed the number's tier, or the gateway raised it because the network's rule was met."""

    TYPE, ACTION = SYSTEM, "number_tier_changed"

    tier: _Tier
    previous: _Tier

    @classmethod
    def example(cls) -> Self:
        return cls(10_000, 1_000)


NumberEvent: TypeAlias = NumberQualityChanged | NumberTierChanged
