"""The channel, its link, its profile and its number in answers."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gatepost.api.contract.fields import LATER, ApiObject, ChannelId, Never, Nothing, PersonName, Text, Time
from gatepost.model import ids, times
from gatepost.model.message import Capabilities
from gatepost.model.number_status import NumberHealth, NumberProblem
from gatepost.networks import base
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelConfig
from gatepost.store.links import LinkRow

Number = int | float


class Connection(ApiObject, frozen=True):
    """Whether messages can be sent and received, and the reason if they cannot."""

    state: Annotated[str, Meta(examples=["connected"])]
    reason: Nothing

    @classmethod
    def of(cls, channel: ChannelConfig) -> "Connection":
        """Return the connection of a channel."""
        return cls(channel.connection, channel.reason)


class Connecting(ApiObject, frozen=True):
    """The state of the link."""

    connection: Annotated[Connection, Meta(examples=[{"state": "connecting", "reason": None}])]


class ChannelCapabilities(ApiObject, frozen=True):
    """The message types and operations that the channel supports."""

    types: Annotated[list[str], Meta(examples=[["text", "image", "template"]])]
    fallback_to_text: Annotated[list[str], Meta(examples=[[]])]
    templates: bool
    window: bool
    edit: Annotated[bool, Meta(examples=[False])]
    delete: Annotated[bool, Meta(examples=[False])]

    @classmethod
    def of(cls, can: Capabilities) -> "ChannelCapabilities":
        """Return the capabilities of a kind of channel."""
        return cls(sorted(can.types), sorted(can.as_text), can.templates, can.window, can.edit, can.delete)


class ChannelLimits(ApiObject, frozen=True):
    """The limits in force. A tier of 0 means no limit."""

    throughput: Annotated[Number, Meta(examples=[80])]
    pair_seconds: Annotated[Number, Meta(examples=[6])]
    pair_burst: Annotated[int, Meta(examples=[45])]
    tier: Annotated[int, Meta(examples=[1000])]
    window: Number | bool | UnsetType = UNSET


class Throughput(msgspec.Struct, frozen=True):
    """Messages per second: the limit, how many were sent in the last second, and how many more may be sent."""

    limit: Annotated[Number, Meta(examples=[80])]
    used: Annotated[int, Meta(examples=[3])]
    free: Annotated[Number, Meta(examples=[77])]


class Tier(msgspec.Struct, frozen=True):
    """Conversations that the business may open within 24 hours. A limit of null means no limit."""

    limit: Annotated[int | None, Meta(examples=[1000])]
    used: Annotated[int, Meta(examples=[12])]
    free: Annotated[int | None, Meta(examples=[988])]
    free_at: Never = None
    since: Never = None
    waiting: Annotated[int, Meta(examples=[0])] = 0


class PairLimit(msgspec.Struct, frozen=True):
    """How often messages may be sent to the same recipient, and how many recipients' messages wait because of it."""

    seconds: Annotated[Number, Meta(examples=[6])]
    burst: Annotated[int, Meta(examples=[45])]
    free_at: Never = None
    waiting: Annotated[int, Meta(examples=[0])] = 0


class ChannelWaiting(msgspec.Struct, frozen=True):
    """The rule that delays all messages of the channel, why, and until when if that is known."""

    rule: str
    because: str
    until: Never = None


class Headroom(msgspec.Struct, frozen=True):
    """How much the limits of a number leave, as the process that sends for it wrote it last."""

    throughput: Throughput | None = None
    tier: Tier | None = None
    pair: PairLimit | None = None
    queued: int = 0
    waiting: ChannelWaiting | None = None

    def throughput_within(self, limits: ChannelLimits) -> Throughput:
        """Return the throughput; that of a number that has sent nothing yet is unused."""
        return self.throughput or Throughput(limits.throughput, 0, limits.throughput)

    def tier_within(self, limits: ChannelLimits) -> Tier:
        """Return the tier; that of a number that has sent nothing yet is unused."""
        return self.tier or Tier(limits.tier or None, 0, limits.tier or None)

    def pair_within(self, limits: ChannelLimits) -> PairLimit:
        """Return the limit per recipient."""
        return self.pair or PairLimit(limits.pair_seconds, limits.pair_burst)


class ChannelLink(ApiObject, frozen=True):
    """The link of a QR channel to its phone."""

    wanted: bool
    linked_at: Never
    qr_until: Never
    locked_until: Never

    @classmethod
    def of(cls, row: LinkRow, now: datetime) -> "ChannelLink":
        """Return a link."""
        code_until = row.qr_until if row.qr and row.qr_until and row.qr_until > now else None
        return cls(
            row.wanted,
            times.format_optional_time(row.linked_at),
            times.format_optional_time(code_until),
            times.format_optional_time(row.locked_until),
        )


class Channel(ApiObject, frozen=True):
    """The caller's own channel."""

    id: ChannelId
    kind: Annotated[str, Meta(extra_json_schema={"enum": list(NETWORK_KINDS)}, examples=["official"])]
    phone: Annotated[str, Meta(examples=["15550001111"])]
    name: Annotated[str, Meta(examples=["The bakery"])]
    connection: Connection
    capabilities: ChannelCapabilities
    quality: Annotated[Text, Meta(examples=["GREEN"])]
    status: Annotated[Text, Meta(examples=["CONNECTED"])]
    limits: ChannelLimits
    throughput: Throughput
    tier: Tier
    pair: PairLimit
    queued: Annotated[int, Meta(examples=[0])]
    waiting: Annotated[ChannelWaiting | None, Meta(examples=[None])]
    link: ChannelLink | UnsetType = UNSET

    @classmethod
    def of(cls, row: ChannelConfig, limits: ChannelLimits, headroom: Headroom, link: ChannelLink | None) -> "Channel":
        """Return a channel with what its limits leave."""
        return cls(
            id=ids.format_id("ch", row.id),
            kind=row.kind,
            phone=row.phone,
            name=row.name,
            connection=Connection.of(row),
            capabilities=ChannelCapabilities.of(NETWORK_KINDS[row.kind].capabilities),
            quality=row.state.get("quality"),
            status=row.state.get("status"),
            limits=limits,
            throughput=headroom.throughput_within(limits),
            tier=headroom.tier_within(limits),
            pair=headroom.pair_within(limits),
            queued=headroom.queued,
            waiting=headroom.waiting,
            link=link or UNSET,
        )


class Code(ApiObject, frozen=True):
    """A code to scan with the phone."""

    code: Annotated[str, Meta(examples=["2@liXrE1wq0mA="])]
    until: Annotated[Time, Meta(examples=[LATER])]


class PairingCode(ApiObject, frozen=True):
    """A code to type on the phone."""

    code: Annotated[str, Meta(examples=["ABCD-1234"])]


class Profile(ApiObject, frozen=True):
    """The business profile that people see on the network."""

    about: Annotated[Text, Meta(examples=["Open until six"])]
    address: Annotated[Text, Meta(examples=["Rua Augusta 1, Lisbon"])]
    description: Annotated[Text, Meta(examples=["Bread, baked at night"])]
    email: Annotated[Text, Meta(examples=["hello@shop.example.com"])]
    websites: Annotated[list[str] | None, Meta(examples=[["https://shop.example.com"]])]
    vertical: Annotated[Text, Meta(examples=["RETAIL"])]
    profile_picture_url: Nothing

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Profile":
        """Return a profile as the network has it."""
        return cls(**{name: fields.get(name) for name in cls.__struct_fields__})


class Health(ApiObject, frozen=True):
    """The state of the number at the network."""

    status: Annotated[Text, Meta(examples=["CONNECTED"])]
    quality: Annotated[Text, Meta(examples=["GREEN"])]
    throughput: Annotated[int | None, Meta(examples=[80])]
    tier: Annotated[int | None, Meta(examples=[1000])]
    name: PersonName | None
    name_status: Annotated[Text, Meta(examples=["APPROVED"])]
    can_send: Annotated[Text, Meta(examples=["AVAILABLE"])]
    problems: Annotated[list[NumberProblem], Meta(examples=[[]])]
    checked_at: Time

    @classmethod
    def of(cls, health: NumberHealth, now: datetime) -> "Health":
        """Return what the network has just reported about a number."""
        return cls(**msgspec.structs.asdict(health), checked_at=times.format_time(now))


class CredentialCheck(ApiObject, frozen=True):
    """One check: what was found, and what to do if it failed. `ok` is null where it could not be found out."""

    name: Annotated[base.CheckName, Meta(examples=["token"])]
    field: Annotated[str, Meta(description="The field of the request that it is about.", examples=["token"])]
    ok: Annotated[bool | None, Meta(examples=[True])]
    required: Annotated[bool, Meta(description="Whether a channel that fails it cannot work.", examples=[True])]
    message: Annotated[str, Meta(examples=["The access token is valid."])]
    advice: Nothing


class CredentialTest(ApiObject, frozen=True):
    """The checks of a number's credentials. `ok` says whether a channel can be created with them."""

    ok: Annotated[bool, Meta(examples=[True])]
    phone: Annotated[Text, Meta(description="The number, as the network knows it.", examples=["15550001111"])]
    name: Annotated[Text, Meta(description="The verified name.", examples=["The bakery"])]
    checks: list[CredentialCheck]

    @classmethod
    def of(cls, report: base.CredentialReport) -> "CredentialTest":
        """Return the result of a test."""
        checks = [
            CredentialCheck(check.name, check.field, check.ok, check.required, check.message, check.advice)
            for check in report.checks
        ]
        return cls(not report.failed, report.phone, report.name, checks)
