"""The business profile on the network, and the state of the number there. Official channels only."""

import re
from datetime import datetime
from typing import Any

import msgspec

from gatepost.model import times
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import read_list, read_texts, read_url
from gatepost.model.number_status import (
    TOKEN_ACCEPTED,
    TOKEN_REJECTED,
    NumberHealth,
    changed_connection,
    connection_of,
)
from gatepost.model.problem_collector import ProblemCollector, read_each
from gatepost.networks.base import BusinessAccount, CallFailed
from gatepost.services.network_errors import network_call, refusal
from gatepost.store.channels import ChannelConfig, save_connection
from gatepost.store.numbers import save_number
from gatepost.store.pool import Database

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class ProfileChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields to change; the others keep their values. An empty string or list removes a value."""

    about: str | None = None
    address: str | None = None
    description: str | None = None
    email: str | None = None
    websites: list[str] | None = None
    vertical: str | None = None
    profile_picture_handle: str | None = None


_TEXTS = {
    "about": "profile.about",
    "address": "profile.address",
    "description": "profile.description",
    "email": "profile.email",
    "vertical": "profile.vertical",
    "profile_picture_handle": "profile.picture",
}


async def read_profile(business: BusinessAccount) -> dict[str, Any]:
    """Return the profile as the network has it."""
    with network_call():
        return dict(await business.read_profile())


async def change_profile(business: BusinessAccount, change: ProfileChange) -> dict[str, Any]:
    """Change the given fields and return the whole profile."""
    fields = check_profile(change)
    with network_call():
        await business.update_profile(fields)
    return await read_profile(business)


async def check_health(db: Database, channel: ChannelConfig, business: BusinessAccount, now: datetime) -> NumberHealth:
    """Ask the network for the state of the number, and store what it reports, unless something newer is known."""
    health = await _read_number(db, channel, business, now)
    patch = {name: value for name, value in msgspec.to_builtins(health).items() if value is not None}
    patch["checked_at"] = times.format_time(now)
    if health.tier not in (None, channel.state.get("tier")):
        patch["tier_since"] = times.format_time(now)
    connection: tuple[str, str | None] | None = changed_connection(channel.state.get("status"), health.status)
    accepted = TOKEN_REJECTED in channel.state  # until now, the network rejected the token
    if accepted:
        connection = connection_of(health.status) or ("connected", TOKEN_ACCEPTED)
    await save_number(
        db,
        channel.ref,
        channel.id,
        patch,
        health.tier,
        now,
        connection=connection,
        token_rejected=False if accepted else None,
    )
    return health


async def _read_number(db: Database, channel: ChannelConfig, business: BusinessAccount, now: datetime) -> NumberHealth:
    """Read the state of the number; a token that the network rejects becomes a state of the channel."""
    try:
        return await business.read_number()
    except CallFailed as failed:
        if failed.error.token_rejected and TOKEN_REJECTED not in channel.state:
            reason = failed.error.advice or failed.error.title
            await save_connection(db, channel.ref, channel.id, "limited", reason, now, token_rejected=True)
        raise refusal(failed) from failed


def check_profile(change: ProfileChange) -> dict[str, Any]:
    """Return the given fields, or raise if one exceeds the network's limits."""
    given = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not None}
    if not given:
        raise invalid_field("body", f"names nothing to change; there are: {', '.join(ProfileChange.__struct_fields__)}")
    problems = ProblemCollector()
    problems.read(read_texts, "", given, _TEXTS)
    problems.read(_check_email, given.get("email"))
    problems.read(_check_websites, given.get("websites", []))
    problems.check()
    return given


def _check_email(email: str | None) -> None:
    if email and not _EMAIL.fullmatch(email):
        raise invalid_field("email", "must be an e-mail address, e.g. hello@example.com")


def _check_websites(websites: list[str]) -> None:
    read_each("websites", read_list("websites", websites, "profile.websites"), read_url, name="profile.website")
