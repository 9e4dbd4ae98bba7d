"""Linking of a phone to a QR channel: requests, and the codes to show.

connect ─► requested ─► the owner opens the link ─► a series of codes to scan, or a code to type
logout  ─► the phone is unlinked, and nothing connects until the next request
"""

import asyncio
import io
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.clock import Clock
from gatepost.model.errors import Conflict, Invalid
from gatepost.model.number_status import CONNECTED
from gatepost.model.phone import check_phone
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.links import LinkRow, get_link, request_link
from gatepost.store.pool import Database

_LOOK_EVERY = 0.1


class LinkCode(msgspec.Struct, frozen=True):
    """A code to scan, and when it expires."""

    text: str
    until: datetime


async def connect(db: Database, channel: ChannelConfig, now: datetime) -> None:
    """Request the link. A phone that is linked connects; otherwise codes are shown, also after a logout under way."""
    check_linked(channel)
    await request_link(db, channel.id, now, wanted=True, **_tried_at_once(channel))


async def log_out(db: Database, channel: ChannelConfig, now: datetime) -> None:
    """Unlink the phone."""
    check_linked(channel)
    await request_link(db, channel.id, now, wanted=False, logout=True, pair_phone=None, pairing_code=None)


async def current_code(db: Database, clock: Clock, channel: ChannelConfig, wait: float) -> LinkCode:
    """Return the current code to scan; wait up to `wait` seconds for it."""
    check_linked(channel)
    until = clock.monotonic() + wait
    while True:
        row, now = await get_link(db, channel.id), clock.now()
        if row.qr and row.qr_until and row.qr_until > now:
            return LinkCode(row.qr, row.qr_until)
        await _check_may_come(db, channel.id, row)
        if clock.monotonic() >= until:
            raise Conflict("There is no code yet. Ask again in a moment.", retry_after=1)
        await asyncio.sleep(_LOOK_EVERY)


async def want_pairing_code(db: Database, channel: ChannelConfig, phone: str | None, now: datetime) -> None:
    """Request a code to type on the phone instead of one to scan."""
    check_linked(channel)
    number = check_phone(phone if phone is not None else channel.phone)
    await request_link(
        db, channel.id, now, wanted=True, pair_phone=number, pairing_code=None, **_tried_at_once(channel)
    )


def _tried_at_once(channel: ChannelConfig) -> dict[str, None]:
    """Return the change that lets the owner open the link of a banned number before the ban ends."""
    return {"locked_until": None} if channel.connection == "banned" else {}


async def pairing_code(db: Database, clock: Clock, channel: ChannelConfig, wait: float) -> str:
    """Return the requested pairing code; wait up to `wait` seconds for it."""
    until = clock.monotonic() + wait
    while clock.monotonic() < until:
        row = await get_link(db, channel.id)
        if row.pairing_code:
            return row.pairing_code
        config = await _check_may_come(db, channel.id, row)
        if config is not None and is_pairing_rejected(row, config):
            raise Conflict(config.reason or "The network gave no pairing code.")
        await asyncio.sleep(_LOOK_EVERY)
    raise Conflict("The network has given no pairing code yet. Ask again in a moment.", retry_after=2)


def is_pairing_rejected(row: LinkRow, channel: ChannelConfig) -> bool:
    """Return whether the network rejected a request for a pairing code; the channel's `reason` says why."""
    return row.pair_phone is None and row.pairing_code is None and channel.connection == "waiting_for_scan"


def waits_for_ban(row: LinkRow, channel: ChannelConfig) -> bool:
    """Return whether the gateway waits for the end of a ban before it connects; the channel's `reason` names it."""
    return channel.connection == "banned" and row.locked_until is not None


async def _check_may_come(db: Database, channel_id: UUID, row: LinkRow) -> ChannelConfig | None:
    config = await get_config(db, channel_id)
    if config is not None and config.connection in CONNECTED and not row.logout:
        raise Conflict("The phone is linked already: there is nothing to scan. Log out first to link another one.")
    if config is not None and waits_for_ban(row, config):
        raise Conflict(f"There is no code for a number that is banned.{_because(config)}")
    if not row.wanted:
        raise Conflict(f"Nobody asked to link a phone. POST /api/v1/channel/connect first.{_because(config)}")
    return config


def _because(config: ChannelConfig | None) -> str:
    return f" {config.reason}" if config and config.reason else ""


def check_linked(channel: ChannelConfig) -> None:
    """Reject channels that are not linked by QR code."""
    if not NETWORK_KINDS[channel.kind].linked:
        raise Invalid("This channel is not linked by QR code: it needs no linking.", "unsupported_on_channel")


def picture(code: LinkCode, kind: str) -> bytes:
    """Return the code as an image, svg or png."""
    import segno  # noqa: PLC0415  (few processes ever show a code)

    out = io.BytesIO()
    segno.make(code.text, error="m").save(out, kind=kind, scale=8, border=4)
    return out.getvalue()
