"""`gatepost channel link` and `logout`: linking a phone from the terminal.

request (row) ─► notification ─► the gateway that owns the channel ─► codes, state (rows) ─► polled, printed

This program never holds the link itself; it asks, and watches what becomes of it.
"""

import asyncio
import io
import sys
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from gatepost.cli.channels import ChannelId, find_channel
from gatepost.cli.command import CommandSession, command, stream_command
from gatepost.cli.output import CommandResult, ProgressLine, cell

if TYPE_CHECKING:
    from datetime import datetime

    from gatepost.store.channels import ChannelConfig
    from gatepost.store.links import LinkRow

_POLL_SECONDS = 0.2
_NOTIFY_SECONDS = 2.0  # a notification may be lost, and nobody sweeps for wishes
_PATIENCE = 10.0  # before we wonder aloud whether a gateway runs
_UP = ("connected", "limited")
_BLACK_AND_WHITE = "\x1b[97;40m{}\x1b[0m"
_HOW = "On the phone: Linked devices, then Link a device."


def add_commands(group: typer.Typer) -> None:
    """Add these commands to those of channels."""
    stream_command(group, "link")(link)
    command(group, "logout")(logout)


async def link(
    session: CommandSession,
    channel: ChannelId,
    phone: Annotated[
        str | None, typer.Argument(metavar="[PHONE]", help="With --pairing-code: the phone, if it has another number.")
    ] = None,
    *,
    pairing_code: Annotated[
        bool, typer.Option("--pairing-code", help="Show a code to type on the phone instead of one to scan.")
    ] = False,
    wait: Annotated[str, typer.Option(help="How long to wait for the phone at most.")] = "5m",
) -> AsyncIterator[ProgressLine]:
    """Link a phone to a QR channel: shows the code to scan until the phone is linked."""
    from gatepost.cli.arguments import read_duration
    from gatepost.model.errors import invalid_field

    if phone is not None and not pairing_code:
        raise invalid_field("phone", "goes with --pairing-code; a code to scan fits any phone")
    seconds = read_duration(wait, "wait").total_seconds()
    found = await find_channel(session, channel)
    await _request_link(session, found, phone or found.phone if pairing_code else None)
    async for line in _watch(session, found, seconds, codes=not pairing_code):
        yield line


async def logout(session: CommandSession, channel: ChannelId) -> CommandResult:
    """Unlink the phone of a QR channel."""
    from gatepost.model import ids
    from gatepost.services import link as link_service
    from gatepost.store.channel_notifier import notify_now

    found = await find_channel(session, channel)
    await link_service.log_out(session.db, found, session.now)
    await notify_now(session.db, [found.id])
    view = {"id": ids.format_id("ch", found.id), "phone": found.phone, "was": found.connection, "logout": "asked"}
    return CommandResult(view, note="The gateway unlinks the phone. See: gatepost channel show " + view["id"])


async def _request_link(session: CommandSession, channel: "ChannelConfig", pair_phone: str | None) -> None:
    """Ask the gateway to link; with a phone, by a code that is typed on it."""
    from gatepost.model.phone import check_phone
    from gatepost.services import link as link_service
    from gatepost.store.links import request_link

    number = None if pair_phone is None else check_phone(pair_phone)
    await link_service.connect(session.db, channel, session.now)
    if number is not None and channel.connection not in _UP:
        await request_link(session.db, channel.id, session.now, pair_phone=number, pairing_code=None)


async def _watch(
    session: CommandSession, channel: "ChannelConfig", seconds: float, *, codes: bool
) -> AsyncIterator[ProgressLine]:
    """Yield each change until the phone is linked; raise an error if that fails."""
    from gatepost.model.errors import Conflict
    from gatepost.store.channel_notifier import notify_now
    from gatepost.store.links import get_link

    began, notified_at, last_text, warned = time.monotonic(), 0.0, "", False
    while True:
        now = time.monotonic()
        if now - notified_at >= _NOTIFY_SECONDS:
            notified_at = now
            await notify_now(session.db, [channel.id])
        row, config = await get_link(session.db, channel.id), await _again(session, channel)
        line = _line(config, row, session.now, codes=codes)
        if line is not None and line.text != last_text:
            last_text = line.text
            yield line
        if config.connection in _UP:
            return
        if not row.wanted:
            raise Conflict(f"The phone was not linked. {config.reason or 'The link was given up.'}")
        if now - began >= seconds:
            raise Conflict(_too_late(config))
        if not warned and config.connection == channel.connection and now - began >= _PATIENCE:
            warned = True
            yield ProgressLine(
                {"event": "waiting"}, "Nothing has happened yet. Is a gateway running? Start it: gatepost serve"
            )
        await asyncio.sleep(_POLL_SECONDS)


async def _again(session: CommandSession, channel: "ChannelConfig") -> "ChannelConfig":
    from gatepost.model.errors import NotFound
    from gatepost.store.channels import get_config

    found = await get_config(session.db, channel.id)
    if found is None:
        raise NotFound("The channel was removed meanwhile.")
    return found


def _line(config: "ChannelConfig", row: "LinkRow", now: "datetime", *, codes: bool) -> ProgressLine | None:
    """Return the line to print, or None; an unchanged state gives the same text."""
    state = {"event": "connection", "state": config.connection, "reason": config.reason}
    if config.connection in _UP:
        more = f" {cell(config.reason)}" if config.reason and config.connection == "limited" else ""
        return ProgressLine(state, f"The phone is linked: {config.phone} is {config.connection}.{more}")
    if not codes and row.pairing_code:
        data = {"event": "pairing_code", "code": row.pairing_code}
        return ProgressLine(data, f"{_HOW}\nChoose to link with the phone number, and type: {cell(row.pairing_code)}")
    if codes and row.qr and row.qr_until and row.qr_until > now:
        return _code_line(row.qr, row.qr_until)
    if config.connection == "connecting" and row.wanted:
        return ProgressLine(state, "Connecting…", passing=True)
    return None


def _code_line(code: str, until: "datetime") -> ProgressLine:
    from gatepost.model import times

    shown = times.format_time(until)
    text = f"{draw(code)}\n{_HOW} The code is good until {until.astimezone():%H:%M:%S}."
    return ProgressLine({"event": "qr", "code": code, "until": shown}, text, passing=True)


def draw(code: str) -> str:
    """Draw the code in half blocks; on a terminal with explicit black and white."""
    import segno

    out = io.StringIO()
    segno.make(code, error="l", micro=False).terminal(out, border=2, compact=True)
    lines = out.getvalue().rstrip("\n").split("\n")
    return "\n".join(_BLACK_AND_WHITE.format(line) if sys.stdout.isatty() else line for line in lines)


def _too_late(config: "ChannelConfig") -> str:
    reason = f" {config.reason}" if config.reason else ""
    return (
        f"No phone was linked in time; the channel is {config.connection}.{reason} "
        "If nothing happened at all, see that a gateway runs: gatepost serve"
    )
