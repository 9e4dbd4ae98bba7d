"""The usage of an account in answers."""

import datetime
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from gatepost.api.contract.channel import Throughput, Tier
from gatepost.api.contract.fields import HEX, ApiObject, ChannelId, Text
from gatepost.api.contract.usage import MessageCount, PlanUsage, StorageUsage
from gatepost.model import ids
from gatepost.services.usage import Failure
from gatepost.store.channels import ChannelConfig
from gatepost.store.usage import MessageSum

Day = Annotated[str, Meta(extra_json_schema={"format": "date"}, examples=["2026-11-15"])]


class UsageDay(ApiObject, frozen=True, rename={"incoming": "in"}):
    """The messages of a day, in UTC. `failed` are those of `out` that were not sent in the end."""

    date: Day
    out: MessageCount
    incoming: MessageCount
    failed: Annotated[int, Meta(examples=[0])]

    @classmethod
    def of(cls, day: datetime.date, sums: Sequence[MessageSum], failed: int) -> "UsageDay":
        """Return a day; the sums are those of that day, by type."""
        return cls(day.isoformat(), _count(sums, incoming=False), _count(sums, incoming=True), failed)


def _count(sums: Sequence[MessageSum], *, incoming: bool) -> MessageCount:
    types = {one.type: one.count for one in sums if one.type is not None and one.incoming == incoming}
    return MessageCount(sum(types.values()), types)


class ChannelUsage(ApiObject, frozen=True, rename={"incoming": "in", "incoming_by_day": "in_by_day"}):
    """The messages of a channel in all of `days`, the bytes of its files, and what its limits leave now."""

    id: ChannelId
    name: Annotated[str, Meta(examples=["The bakery"])]
    phone: Annotated[str, Meta(examples=["15550001111"])]
    kind: Annotated[str, Meta(examples=["official"])]
    out: Annotated[int, Meta(examples=[120])]
    incoming: Annotated[int, Meta(examples=[80])]
    failed: Annotated[int, Meta(examples=[2])]
    out_by_day: Annotated[list[int], Meta(description="One number for each of `days`.", examples=[[120]])]
    incoming_by_day: Annotated[list[int], Meta(description="One number for each of `days`.", examples=[[80]])]
    stored: Annotated[int, Meta(description="Bytes of files.", examples=[48_211])]
    tier: Tier
    throughput: Throughput

    @classmethod
    def of(cls, row: ChannelConfig, out: list[int], incoming: list[int], failed: int, **state: Any) -> "ChannelUsage":
        """Return the usage of a channel."""
        return cls(
            id=ids.format_id("ch", row.id),
            name=row.name,
            phone=row.phone,
            kind=row.kind,
            out=sum(out),
            incoming=sum(incoming),
            failed=failed,
            out_by_day=out,
            incoming_by_day=incoming,
            **state,
        )


class FailureCount(ApiObject, frozen=True):
    """Messages that failed with the same code. Title and advice are those of the newest of them."""

    code: Annotated[str, Meta(description="A code of the network or of the gateway.", examples=["131026"])]
    count: Annotated[int, Meta(examples=[2])]
    title: Annotated[Text, Meta(examples=["Message undeliverable"])]
    advice: Annotated[Text, Meta(examples=["Ask the recipient to accept the terms of the network."])]
    last_channel: ChannelId
    last_message: Annotated[str, Meta(examples=[HEX.upper()])]

    @classmethod
    def of(cls, failure: Failure) -> "FailureCount":
        """Return a failure."""
        counted, error = failure.counted, failure.error
        return cls(
            counted.code,
            counted.count,
            error.title if error else None,
            (error.advice or None) if error else None,
            ids.format_id("ch", counted.channel_id),
            ids.message_id(counted.message_id),
        )


class UsageReport(ApiObject, frozen=True, rename={"from_": "from"}):
    """The usage of an account from one day to another, without `to`. Plan and storage are as of now."""

    from_: Day
    to: Annotated[str, Meta(extra_json_schema={"format": "date"}, examples=["2026-11-16"])]
    time_zone: Annotated[Literal["UTC"], Meta(description="The time zone of the days.", examples=["UTC"])]
    plan: PlanUsage
    storage: StorageUsage
    days: list[UsageDay]
    channels: list[ChannelUsage]
    failures: list[FailureCount]
