"""How a business shows itself on the network, and how its number stands there. Official channels only."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from gatepost.model import ids, times
from gatepost.model.errors import invalid_field
from gatepost.model.event import ChannelRef
from gatepost.model.field_readers import read_list, read_texts, read_url
from gatepost.model.number_status import changed_connection
from gatepost.model.problem_collector import ProblemCollector, read_each
from gatepost.networks.cloud.manage import CloudAccount, NumberState
from gatepost.networks.cloud.values import items, some
from gatepost.services.network_errors import network_call
from gatepost.store.channels import ChannelConfig, note_number, tell_connection
from gatepost.store.pool import Database

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class ProfileChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is left out stays as it is. An empty address, description or e-mail, and an empty list, take it away."""

    about: str | None = None
    address: str | None = None
    description: str | None = None
    email: str | None = None
    websites: list[str] | None = None
    vertical: str | None = None
    profile_picture_handle: str | None = None


SHOWN = ("about", "address", "description", "email", "websites", "vertical", "profile_picture_url")
_TEXTS = {
    "about": "profile.about",
    "address": "profile.address",
    "description": "profile.description",
    "email": "profile.email",
    "vertical": "profile.vertical",
    "profile_picture_handle": "profile.picture",
}


async def show_profile(business: CloudAccount) -> dict[str, Any]:
    """The profile as the network has it."""
    with network_call():
        profile = await business.read_profile()
    return {field: profile.get(field) for field in SHOWN}


async def change_profile(business: CloudAccount, change: ProfileChange) -> dict[str, Any]:
    """Changes what is given; returns the whole profile."""
    fields = check_profile(change)
    with network_call():
        await business.update_profile(fields)
    return await show_profile(business)


async def check_health(db: Database, channel: ChannelConfig, business: CloudAccount, now: datetime) -> dict[str, Any]:
    """Asks the network how the number stands, and follows what it says."""
    with network_call():
        number = await business.read_number()
    health = read_health(number) | {"checked_at": times.show(now)}
    patch = {name: value for name, value in health.items() if value is not None}
    if number.tier not in (None, channel.state.get("tier")):
        patch["tier_since"] = times.show(now)
    await note_number(db, channel.id, patch, number.tier)
    changed = changed_connection(channel.state.get("status"), number.status)
    if changed is not None:
        ref = ChannelRef(ids.show("ch", channel.id), channel.kind, channel.phone)
        await tell_connection(db, ref, channel.id, *changed, now)
    return health


def read_health(number: NumberState) -> dict[str, Any]:
    """How a number stands, for people. What the network does not tell is None; a tier of 0 is no limit."""
    entities = items(some(number.details.get("health_status")).get("entities"))
    return {
        "status": number.status,
        "quality": number.quality,
        "throughput": number.throughput,
        "tier": number.tier,
        "name": number.verified_name,
        "name_status": number.name_status,
        "can_send": number.can_send,
        "problems": [problem for entity in entities for problem in _problems(some(entity))],
    }


def _problems(entity: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What keeps a part of the business from sending."""
    about = {"about": entity.get("entity_type"), "can_send": entity.get("can_send_message")}
    return [about | {"error": error} for error in items(entity.get("errors"))]


def check_profile(change: ProfileChange) -> dict[str, Any]:
    """The fields that are given, each within the network's limits."""
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
