"""Accounts, plans, channels, keys, users and the log in answers: for the operator, and for people of the account."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from msgspec import UNSET, Meta, UnsetType

from gatepost.admin.one_time_links import NewLink
from gatepost.api.contract.channel import (
    ChannelLimits,
    ChannelLink,
    ChannelWaiting,
    Headroom,
    PairLimit,
    Throughput,
    Tier,
)
from gatepost.api.contract.fields import HEX, ApiObject, ChannelId, JsonObject, Never, Nothing, Text, Time
from gatepost.api.contract.usage import ApiRate, PlanUsage, StorageUsage, TrialPeriod
from gatepost.model import account as model
from gatepost.model import ids, times
from gatepost.model.account_log import Actor, LogEntry
from gatepost.model.number_status import TOKEN_REJECTED
from gatepost.model.session import Role
from gatepost.store import accounts, keys
from gatepost.store.channels import ChannelActivity, ChannelConfig
from gatepost.store.one_time_links import Purpose
from gatepost.store.refused_requests import RefusedRow
from gatepost.store.users import User

AccountId = Annotated[str, Meta(examples=[f"acc_{HEX}"])]
KeyId = Annotated[str, Meta(examples=[f"key_{HEX}"])]
UserId = Annotated[str, Meta(examples=[f"usr_{HEX}"])]
Email = Annotated[str, Meta(examples=["ana@example.com"])]
UNREAD_MAX = 1_000  # unread conversations that are counted


class Account(ApiObject, frozen=True):
    """A customer with its plan, trial and add-ons."""

    id: AccountId
    name: Annotated[str, Meta(examples=["The bakery"])]
    plan: Annotated[str, Meta(examples=["starter"])]
    suspended: Annotated[bool, Meta(examples=[False])]
    trial_ends_at: Time
    addons: Annotated[list[str], Meta(examples=[["API Access"]])]
    created_at: Time

    @classmethod
    def of(cls, row: accounts.Account) -> "Account":
        """Return an account."""
        return cls(
            id=ids.format_id("acc", row.id),
            name=row.name,
            plan=row.plan,
            suspended=row.suspended,
            trial_ends_at=times.format_time(row.trial_ends_at),
            addons=list(row.addons),
            created_at=times.format_time(row.created_at),
        )


class OwnAccount(ApiObject, frozen=True):
    """The account of the person who is signed in: its plan with what is used of it, its trial and its add-ons."""

    id: AccountId
    name: Annotated[str, Meta(examples=["The bakery"])]
    suspended: Annotated[bool, Meta(examples=[False])]
    created_at: Time
    plan: PlanUsage
    storage: StorageUsage
    trial: TrialPeriod
    addons: Annotated[list[str], Meta(examples=[["API Access"]])]
    api_access: Annotated[bool, Meta(description='Whether the account has the add-on "API Access".', examples=[True])]
    api: ApiRate


class Checklist(ApiObject, frozen=True):
    """What the account has done of its setup."""

    channel_connected: Annotated[bool, Meta(description="A channel is connected.")]
    message_sent: Annotated[bool, Meta(description="A message was accepted.")]
    webhook_added: Annotated[bool, Meta(description="A channel has a webhook endpoint.", examples=[False])]


class Plan(ApiObject, frozen=True):
    """What an account may send in a month and store, and how many channels it may have. Null is no limit."""

    id: Annotated[str, Meta(examples=["starter"])]
    title: Annotated[str, Meta(examples=["Starter"])]
    messages_per_month: Annotated[int | None, Meta(examples=[12_000])]
    storage_bytes: Annotated[int | None, Meta(examples=[2_147_483_648])]
    channels: Annotated[int | None, Meta(examples=[10])]

    @classmethod
    def of(cls, name: str, plan: model.Plan) -> "Plan":
        """Return a plan of the settings."""
        return cls(name, plan.title, plan.messages_per_month, plan.storage_bytes, plan.channels)


class AccountUsage(ApiObject, frozen=True):
    """Messages of a month and stored bytes of an account, against its plan. A limit of null is no limit."""

    account: AccountId
    plan: Annotated[str, Meta(examples=["starter"])]
    month: Annotated[str, Meta(examples=["2026-11"])]
    used: Annotated[int, Meta(examples=[4711])]
    limit: Annotated[int | None, Meta(examples=[12_000])]
    remaining: Annotated[int | None, Meta(examples=[7289])]
    storage_used: Annotated[int, Meta(examples=[48_211])]
    storage_limit: Annotated[int | None, Meta(examples=[2_147_483_648])]

    @classmethod
    def of(cls, row: accounts.Account, plan: model.Plan | None, used: int, stored: int, at: datetime) -> "AccountUsage":
        """Return the usage in the month of `at`; a plan that is not in the settings any more has no limits."""
        limit = plan.messages_per_month if plan else None
        return cls(
            account=ids.format_id("acc", row.id),
            plan=row.plan,
            month=f"{times.month_of(at):%Y-%m}",
            used=used,
            limit=limit,
            remaining=None if limit is None else max(0, limit - used),
            storage_used=stored,
            storage_limit=plan.storage_bytes if plan else None,
        )


class AccountChannel(ApiObject, frozen=True):
    """A channel of an account, without its secrets. A new official one has what its network's app has to know."""

    id: ChannelId
    account: AccountId
    kind: Annotated[str, Meta(examples=["official"])]
    phone: Annotated[str, Meta(examples=["15550001111"])]
    name: Annotated[str, Meta(examples=["The bakery"])]
    connection: Annotated[str, Meta(examples=["connected"])]
    reason: Nothing
    network: Annotated[JsonObject, Meta(examples=[{"phone_number_id": "100000000000001"}])]
    limits: Annotated[JsonObject, Meta(description="Only the limits that were set.", examples=[{"tier": 1000}])]
    created_at: Time
    callback_url: str | UnsetType = UNSET
    verify_token: str | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET

    @classmethod
    def of(cls, row: ChannelConfig, **more: Any) -> Self:
        """Return a channel."""
        return cls(
            id=ids.format_id("ch", row.id),
            account=ids.format_id("acc", row.account_id),
            kind=row.kind,
            phone=row.phone,
            name=row.name,
            connection=row.connection,
            reason=row.reason,
            network=row.network,
            limits=row.limits,
            created_at=times.format_time(ids.time_of(row.id)),
            **more,
        )


class ChannelAttention(ApiObject, frozen=True):
    """How much of a channel needs a person."""

    endpoints: Annotated[int, Meta(description="Paused, or disabled by the gateway.", examples=[0])]
    templates: Annotated[int, Meta(description="Rejected, paused or disabled by the network.", examples=[1])]


class ChannelOverview(AccountChannel, frozen=True, kw_only=True):
    """A channel with the state of its number, what its limits leave, and what needs a person."""

    token_rejected_at: Annotated[
        Never, Meta(description="When the network rejected the access token. Null: it is valid.")
    ]
    quality: Annotated[Text, Meta(examples=["GREEN"])]
    status: Annotated[Text, Meta(examples=["CONNECTED"])]
    throughput: Throughput
    tier: Tier
    pair: PairLimit
    queued: Annotated[int, Meta(examples=[0])]
    waiting: Annotated[ChannelWaiting | None, Meta(examples=[None])]
    unread: Annotated[int, Meta(description=f"Unread conversations, up to {UNREAD_MAX:,}.", examples=[3])]
    attention: ChannelAttention
    sandbox_url: Annotated[
        str | UnsetType,
        Meta(
            description="The sandbox that is the network of this channel. Its page shows the phones of the people.",
            examples=["http://127.0.0.1:8081"],
        ),
    ] = UNSET
    link: ChannelLink | UnsetType = UNSET

    @classmethod
    def state_of(
        cls,
        row: ChannelConfig,
        limits: ChannelLimits,
        headroom: Headroom,
        link: ChannelLink | None,
        activity: ChannelActivity,
    ) -> dict[str, Any]:
        """Return the fields besides those of `AccountChannel`."""
        return {
            "token_rejected_at": row.state.get(TOKEN_REJECTED),
            "quality": row.state.get("quality"),
            "status": row.state.get("status"),
            "throughput": headroom.throughput_within(limits),
            "tier": headroom.tier_within(limits),
            "pair": headroom.pair_within(limits),
            "queued": headroom.queued,
            "waiting": headroom.waiting,
            "unread": activity.unread,
            "attention": ChannelAttention(activity.endpoints, activity.templates),
            "link": link or UNSET,
        }


class ApiKey(ApiObject, frozen=True):
    """A key of a channel. `hint` is how its text begins."""

    id: KeyId
    channel: ChannelId
    name: Annotated[str, Meta(examples=["Online shop"])]
    hint: Annotated[str, Meta(examples=["gpk_x7Kd2a"])]
    scopes: Annotated[list[str], Meta(examples=[["send", "read"]])]
    created_at: Time
    expires_at: Never
    revoked_at: Never
    last_used_at: Never
    created_by: Annotated[Text, Meta(description="E-mail address, or `operator`.", examples=["ana@example.com"])]
    warning: Annotated[Nothing, Meta(description="What is unsafe about its scopes.")]

    @classmethod
    def of(cls, row: keys.ApiKey, **more: Any) -> Self:
        """Return a key."""
        return cls(
            id=ids.format_id("key", row.id),
            channel=ids.format_id("ch", row.channel_id),
            name=row.name,
            hint=row.hint,
            scopes=list(row.scopes),
            created_at=times.format_time(row.created_at),
            expires_at=times.format_optional_time(row.expires_at),
            revoked_at=times.format_optional_time(row.revoked_at),
            last_used_at=times.format_optional_time(row.last_used_at),
            created_by=row.created_by,
            warning=model.scope_warning(row.scopes),
            **more,
        )


class NewApiKey(ApiKey, frozen=True):
    """A key with its text, which is shown only once."""

    key: Annotated[str, Meta(examples=["gpk_x7Kd2aVbT0m1"])]


class RefusedRequest(ApiObject, frozen=True):
    """Equal requests of a key within a minute that got an error. Times and texts are those of the last."""

    at: Time
    key: KeyId
    method: Annotated[str, Meta(examples=["POST"])]
    path: Annotated[str, Meta(description="The route, or an unknown path.", examples=["/api/v1/message/send"])]
    status: Annotated[int, Meta(examples=[422])]
    code: Annotated[str, Meta(examples=["invalid_phone"])]
    field: Annotated[Text, Meta(description="The first invalid field.", examples=["phone"])]
    message: Annotated[str, Meta(examples=["phone: must be digits with the country code"])]
    request_id: Annotated[str, Meta(description="`X-Request-Id` of the response.", examples=["req_5f1c9a2b00000001"])]
    count: Annotated[int, Meta(examples=[3])]

    @classmethod
    def of(cls, row: RefusedRow) -> "RefusedRequest":
        """Return refused requests."""
        return cls(
            at=times.format_time(row.at),
            key=ids.format_id("key", row.key_id),
            method=row.method,
            path=row.path,
            status=row.status,
            code=row.code,
            field=row.field or None,
            message=row.message,
            request_id=row.request_id,
            count=row.count,
        )


class AccountUser(ApiObject, frozen=True):
    """A person of an account."""

    id: UserId
    account: AccountId
    email: Email
    name: Annotated[str, Meta(examples=["Ana Maria"])]
    role: Annotated[Role, Meta(examples=["agent"])]
    two_factor: Annotated[bool, Meta(description="Whether signing in takes a code.", examples=[True])]
    invited: Annotated[bool, Meta(description="Whether the person has set no password yet.", examples=[False])]
    created_at: Time

    @classmethod
    def of(cls, user: User) -> "AccountUser":
        """Return a user without the password."""
        return cls(
            id=ids.format_id("usr", user.id),
            account=ids.format_id("acc", user.account_id),
            email=user.email,
            name=user.name,
            role=user.role,
            two_factor=user.totp_active,
            invited=not user.password_hash,
            created_at=times.format_time(user.created_at),
        )


class UserLink(ApiObject, frozen=True):
    """A one-time link with which a person sets a password. It is shown only once."""

    user: UserId
    email: Email
    purpose: Annotated[Purpose, Meta(examples=["invitation"])]
    link: Annotated[
        str, Meta(examples=["https://gateway.example.com/link/Q0n2m2sQxgR5bXmE4n1oY0o3u6YkzPpF8x7Q2b1w9dA"])
    ]
    expires_at: Time

    @classmethod
    def of(cls, link: NewLink, base: str) -> "UserLink":
        """Return a link to the page at a base URL."""
        return cls(
            ids.format_id("usr", link.user.id),
            link.user.email,
            link.purpose,
            link.url(base),
            times.format_time(link.expires_at),
        )


class LogActor(ApiObject, frozen=True):
    """Who did something. `label` is an e-mail address, the name of a key, or `operator`."""

    kind: Annotated[Literal["user", "key", "operator"], Meta(examples=["user"])]
    id: Annotated[Text, Meta(examples=[f"usr_{HEX}"])]
    label: Annotated[str, Meta(examples=["ana@example.com"])]

    @classmethod
    def of(cls, actor: Actor) -> "LogActor":
        """Return an actor."""
        prefix = "key" if actor.kind == "key" else "usr"
        return cls(actor.kind, ids.format_id(prefix, actor.id) if actor.id else None, actor.label)


class AccountLogEntry(ApiObject, frozen=True):
    """One action in an account. The log contains no secrets."""

    id: Annotated[str, Meta(examples=[f"log_{HEX}"])]
    at: Time
    actor: LogActor
    action: Annotated[str, Meta(examples=["key_created"])]
    target: Annotated[str, Meta(description="An id, or the e-mail address of a user.", examples=[f"key_{HEX}"])]
    details: Annotated[JsonObject, Meta(examples=[{"name": "Online shop"}])]

    @classmethod
    def of(cls, entry: LogEntry) -> "AccountLogEntry":
        """Return an entry."""
        return cls(
            ids.format_id("log", entry.id),
            times.format_time(entry.at),
            LogActor.of(entry.actor),
            entry.action,
            entry.target,
            dict(entry.details),
        )
