"""Accounts, plans, channels and keys in answers: what the operator sees of every account."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from gatepost.api.contract.fields import HEX, ApiObject, ChannelId, JsonObject, Never, Nothing, Time
from gatepost.model import account as model
from gatepost.model import ids, times
from gatepost.store import accounts, keys
from gatepost.store.channels import ChannelConfig

AccountId = Annotated[str, Meta(examples=[f"acc_{HEX}"])]
KeyId = Annotated[str, Meta(examples=[f"key_{HEX}"])]


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


class Plan(ApiObject, frozen=True):
    """What an account may send in a month and store. Null is no limit."""

    id: Annotated[str, Meta(examples=["starter"])]
    title: Annotated[str, Meta(examples=["Starter"])]
    messages_per_month: Annotated[int | None, Meta(examples=[12_000])]
    storage_bytes: Annotated[int | None, Meta(examples=[2_147_483_648])]

    @classmethod
    def of(cls, name: str, plan: model.Plan) -> "Plan":
        """Return a plan of the settings."""
        return cls(name, plan.title, plan.messages_per_month, plan.storage_bytes)


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
    def of(cls, row: ChannelConfig, **more: Any) -> "AccountChannel":
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

    @classmethod
    def of(cls, row: keys.ApiKey, **more: Any) -> "ApiKey":
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
            **more,
        )


class NewApiKey(ApiKey, frozen=True):
    """A key with its text, which is shown only once."""

    key: Annotated[str, Meta(examples=["gpk_x7Kd2aVbT0m1"])]
