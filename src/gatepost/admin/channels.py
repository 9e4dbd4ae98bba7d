"""Channels: the numbers of an account, official or linked by QR code."""

import re
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.admin.checks import check_found, check_name, check_token, check_url
from gatepost.admin.limits import Limits, check_limits
from gatepost.admin.vault import Vault, VaultError, channel_context
from gatepost.model import ids
from gatepost.model.account_log import OPERATOR, Actor, LogEntry, new_entry
from gatepost.model.errors import invalid_field
from gatepost.model.number_status import TOKEN_ACCEPTED, TOKEN_REJECTED
from gatepost.model.phone import check_phone
from gatepost.networks.cloud.secrets import ChannelSecrets
from gatepost.networks.kinds import CLOUD, NETWORK_KINDS, QR
from gatepost.store import channels as store
from gatepost.store.channels import ChannelChange, ChannelConfig
from gatepost.store.idempotency import NEVER, IdempotentRequest
from gatepost.store.pool import Database

_DIGITS = re.compile(r"[0-9]{1,32}")
_NEEDED = ("phone_number_id", "token", "app_secret")
_VERSION = re.compile(r"v[0-9]{1,3}\.[0-9]{1,3}")


class CloudNumber(msgspec.Struct, frozen=True):
    """The network configuration of an official number. Base URL and version only if they differ from the settings."""

    phone_number_id: str
    waba_id: str | None = None
    base_url: str | None = None
    version: str | None = None


class ChannelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A new channel. `address` has fields of CloudNumber, `secrets` of ChannelSecrets; both only with credentials."""

    kind: str
    name: str
    phone: str
    address: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    limits: Limits = {}


def check_credentials_given(kind: str, fields: Collection[str]) -> None:
    """Check that the fields of credentials are given if the network needs them, and only then."""
    if kind not in NETWORK_KINDS:
        raise invalid_field("kind", f"must be one of: {', '.join(NETWORK_KINDS)}")
    for field in fields:
        check_credentials_allowed(kind, field)
    for field in _NEEDED if NETWORK_KINDS[kind].credentials else ():
        if field not in fields:
            raise invalid_field(field, "is needed for an official channel")


async def create_channel(
    db: Database, vault: Vault, account_id: UUID, request: ChannelRequest, **how: Any
) -> ChannelConfig:
    """Create a channel of any kind. `how`: arguments that the functions below share."""
    check_credentials_given(request.kind, [*request.address, *request.secrets])
    common: dict[str, Any] = {"phone": request.phone, "name": request.name, "limits": request.limits} | how
    if not NETWORK_KINDS[request.kind].credentials:
        return await create_qr(db, account_id, **common)
    common |= request.secrets
    return await create_official(db, vault, account_id, number=CloudNumber(**request.address), **common)


async def create_official(
    db: Database,
    vault: Vault,
    account_id: UUID,
    *,
    phone: str,
    name: str,
    number: CloudNumber,
    token: str,
    app_secret: str,
    verify_token: str | None = None,
    limits: Limits,
    actor: Actor = OPERATOR,
    now: datetime,
    once: IdempotentRequest[ChannelConfig] = NEVER,
    channels_max: int | None = None,
) -> ChannelConfig:
    """Create a channel of the official API, which is connected from the start."""
    channel_id = ids.new_id(now)
    if verify_token is not None:
        check_token(verify_token, "verify_token", 256)
    kept = ChannelSecrets(token, app_secret, verify_token or secrets.token_urlsafe(24))
    channel = ChannelConfig(
        id=channel_id,
        account_id=account_id,
        kind=CLOUD.name,
        phone=check_phone(phone),
        name=check_name(name),
        network=check_number(number),
        secrets=seal_secrets(vault, channel_id, kept),
        limits=check_limits(limits),
        connection="connected",
        reason="The channel was added; its number needs no linking.",
    )
    return await _insert(db, channel, actor, now, once, channels_max)


async def create_qr(
    db: Database,
    account_id: UUID,
    *,
    phone: str,
    name: str,
    limits: Limits,
    actor: Actor = OPERATOR,
    now: datetime,
    once: IdempotentRequest[ChannelConfig] = NEVER,
    channels_max: int | None = None,
) -> ChannelConfig:
    """Create a channel to which a phone is linked by QR code."""
    channel = ChannelConfig(
        id=ids.new_id(now),
        account_id=account_id,
        kind=QR.name,
        phone=check_phone(phone),
        name=check_name(name),
        network={},
        secrets=None,
        limits=check_limits(limits),
        connection="disconnected",
        reason="No phone is linked yet. Connect the channel and scan the code with the phone.",
    )
    return await _insert(db, channel, actor, now, once, channels_max)


async def get_channel(db: Database, account_id: UUID, channel_id: UUID) -> ChannelConfig:
    """Return a channel of an account, or raise NotFound."""
    return check_found(await store.get_channel(db, account_id, channel_id), "ch", channel_id)


async def change_channel(
    db: Database,
    account_id: UUID,
    channel_id: UUID,
    change: ChannelChange,
    *,
    actor: Actor = OPERATOR,
    now: datetime,
) -> ChannelConfig:
    """Change what is given of a channel, and keep the rest. The log names what was changed, without secrets."""
    channel = await get_channel(db, account_id, channel_id)
    details = {
        **({"name": change.name} if change.name is not None else {}),
        **({"limits": dict(change.limits)} if change.limits else {}),
        **({"network": dict(change.network)} if change.network is not None else {}),
        **({"credentials": "replaced"} if change.secrets is not None else {}),
    }
    entry = _entry(channel, actor, "channel_changed", now, **details)
    check_found(await store.update_channel(db, account_id, channel_id, change, entry), "ch", channel_id)
    if change.secrets is not None and TOKEN_REJECTED in channel.state:
        connected = "connected", TOKEN_ACCEPTED
        await store.save_connection(db, channel.ref, channel_id, *connected, now, token_rejected=False)
    return await get_channel(db, account_id, channel_id)


async def change_limits(
    db: Database, account_id: UUID, channel_id: UUID, limits: Limits, *, now: datetime
) -> ChannelConfig:
    """Set some limits of a number, and keep the others."""
    return await change_channel(db, account_id, channel_id, ChannelChange(limits=check_limits(limits)), now=now)


async def change_number(
    db: Database, account_id: UUID, channel_id: UUID, given: Mapping[str, str], *, now: datetime
) -> ChannelConfig:
    """Set some fields of the network configuration of an official number, and keep the others."""
    channel = await get_channel(db, account_id, channel_id)
    check_credentials_allowed(channel.kind, "network")
    if not given:
        raise invalid_field("network", f"is empty; there are: {', '.join(CloudNumber.__struct_fields__)}")
    number = msgspec.convert({**channel.network, **given}, CloudNumber)
    return await change_channel(db, account_id, channel_id, ChannelChange(network=check_number(number)), now=now)


async def change_secrets(
    db: Database, vault: Vault, account_id: UUID, channel_id: UUID, kept: ChannelSecrets, *, now: datetime
) -> ChannelConfig:
    """Replace the token, app secret and verify token of an official number."""
    channel = await get_channel(db, account_id, channel_id)
    check_credentials_allowed(channel.kind, "token")
    change = ChannelChange(secrets=seal_secrets(vault, channel_id, kept))
    return await change_channel(db, account_id, channel_id, change, now=now)


async def delete_channel(
    db: Database, account_id: UUID, channel_id: UUID, *, actor: Actor = OPERATOR, now: datetime
) -> None:
    """Delete a channel with its keys, endpoints and queued work. Its log is kept until the end of its retention."""
    channel = await get_channel(db, account_id, channel_id)
    entry = _entry(channel, actor, "channel_deleted", now, name=channel.name, phone=channel.phone)
    check_found(await store.delete_channel(db, account_id, channel_id, entry), "ch", channel_id)


def open_channel_secrets(vault: Vault, channel: ChannelConfig) -> ChannelSecrets | None:
    """Return the secrets of an official channel; None for other channels."""
    if channel.secrets is None:
        return None
    return msgspec.json.decode(vault.open(channel.secrets, channel_context(channel.id)), type=ChannelSecrets)


def renew_secrets(vault: Vault, channel: ChannelConfig, given: Mapping[str, str]) -> ChannelSecrets:
    """Return the secrets of an official channel with those that are given.

    If the key that encrypted the old ones is lost, token and app secret must be given; the verify token is a new one.
    """
    try:
        kept = open_channel_secrets(vault, channel)
    except VaultError:
        for field in ("token", "app_secret"):
            if field not in given:
                raise invalid_field(field, "is needed too: the stored one cannot be decrypted") from None
        return ChannelSecrets(**{"verify_token": secrets.token_urlsafe(24), **given})
    if kept is None:
        raise invalid_field(next(iter(given), "token"), "belongs to official channels only")
    return msgspec.structs.replace(kept, **given)


def check_number(number: CloudNumber) -> dict[str, Any]:
    """Return the network configuration of a channel, without unset fields."""
    if not _DIGITS.fullmatch(number.phone_number_id):
        raise invalid_field("phone_number_id", "must be the number's id on the network: 1 to 32 digits")
    if number.waba_id is not None and not _DIGITS.fullmatch(number.waba_id):
        raise invalid_field("waba_id", "must be the business account's id on the network: 1 to 32 digits")
    if number.base_url is not None:
        check_url(number.base_url, "base_url")
    if number.version is not None and not _VERSION.fullmatch(number.version):
        raise invalid_field("version", "must be a version of the Graph API, e.g. v25.0")
    return {name: value for name, value in msgspec.structs.asdict(number).items() if value is not None}


def check_credentials_allowed(kind: str, field: str) -> None:
    """Reject a field that only channels with credentials have."""
    if not NETWORK_KINDS[kind].credentials:
        raise invalid_field(field, "belongs to official channels only")


def seal_secrets(vault: Vault, channel_id: UUID, kept: ChannelSecrets) -> bytes:
    """Return the checked secrets of a channel, encrypted."""
    for field, value in msgspec.structs.asdict(kept).items():
        check_token(value, field)
    return vault.seal(msgspec.json.encode(kept), channel_context(channel_id))


async def _insert(
    db: Database,
    channel: ChannelConfig,
    actor: Actor,
    now: datetime,
    once: IdempotentRequest[ChannelConfig],
    channels_max: int | None,
) -> ChannelConfig:
    entry = _entry(channel, actor, "channel_created", now, name=channel.name, kind=channel.kind, phone=channel.phone)
    number = channel.network.get("phone_number_id") if actor is not OPERATOR else None
    made = await store.insert_channel(db, channel, now, entry, once, limit=channels_max, number=number)
    check_found(made, "acc", channel.account_id)
    return channel


def _entry(channel: ChannelConfig, actor: Actor, action: str, now: datetime, **details: Any) -> LogEntry:
    target = ids.format_id("ch", channel.id)
    return new_entry(channel.account_id, actor, action, now, target=target, details=details)
