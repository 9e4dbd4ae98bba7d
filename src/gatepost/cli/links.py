"""`gatepost channel link` and `logout`: linking a phone from the terminal.

request (row) ─► notification ─► the gateway that owns the channel ─► codes, state (rows) ─► polled, printed

This program does not open the link: it requests it, and shows the progress.
"""

import asyncio
import io
import sys
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

import segno
import typer

from gatepost.api.contract.operations import LinkProgress, LogoutRequest
from gatepost.cli.arguments import read_duration
from gatepost.cli.channels import group
from gatepost.cli.command import CommandSession, command
from gatepost.cli.output import CommandResult, OutputLine, cell
from gatepost.cli.records import CHANNEL, ChannelArgument
from gatepost.model import ids, times
from gatepost.model.errors import Conflict, invalid_field
from gatepost.model.number_status import CONNECTED
from gatepost.model.phone import check_phone
from gatepost.networks.qr.reasons import reason_of
from gatepost.services import link as link_service
from gatepost.store.channel_notifier import notify_now
from gatepost.store.channels import ChannelConfig
from gatepost.store.links import LinkRow, get_link, request_link

_POLL_SECONDS = 0.2
_NOTIFY_SECONDS = 2.0  # a notification may be lost, and requests are not swept
_PATIENCE = 10.0  # seconds without a change after which a line asks whether a gateway is running
_BLACK_AND_WHITE = "\x1b[97;40m{}\x1b[0m"
_HOW = "On the phone: Linked devices, then Link a device."


@command(group, "link")
async def link(
    session: CommandSession,
    channel: ChannelArgument,
    phone: Annotated[
        str | None,
        typer.Argument(
            metavar="[PHONE]", help="With --pairing-code: number of the phone.", show_default="the channel's number"
        ),
    ] = None,
    *,
    pairing_code: Annotated[
        bool, typer.Option("--pairing-code", help="Show a code to type on the phone instead of one to scan.")
    ] = False,
    wait: Annotated[str, typer.Option(help="How long to wait for the phone, at most.")] = "5m",
) -> AsyncIterator[OutputLine]:
    """Link a phone to a QR channel. Shows the code to scan until the phone is linked."""
    if phone is not None and not pairing_code:
        raise invalid_field("phone", "needs --pairing-code; a code to scan works with any phone")
    seconds = read_duration(wait, "wait").total_seconds()
    await _request_link(session, channel, phone or channel.phone if pairing_code else None)
    async for line in _watch(session, channel, seconds, codes=not pairing_code):
        yield line


@command(group, "logout")
async def logout(session: CommandSession, channel: ChannelArgument) -> CommandResult:
    """Unlink the phone of a QR channel."""
    await link_service.log_out(session.db, channel, session.now)
    await notify_now(session.db, [channel.id])
    request = LogoutRequest(ids.format_id("ch", channel.id), channel.phone, was=channel.connection)
    return CommandResult(request, note=f"The gateway unlinks the phone. See: gatepost channel show {request.id}")


async def _request_link(session: CommandSession, channel: ChannelConfig, pair_phone: str | None) -> None:
    """Ask the gateway to link; with a phone, by a code that is typed on it."""
    number = None if pair_phone is None else check_phone(pair_phone)
    await link_service.connect(session.db, channel, session.now)
    if number is not None and channel.connection not in CONNECTED:
        await request_link(session.db, channel.id, session.now, pair_phone=number, pairing_code=None)


async def _watch(
    session: CommandSession, channel: ChannelConfig, seconds: float, *, codes: bool
) -> AsyncIterator[OutputLine]:
    """Yield each change until the phone is linked; raise an error if that fails."""
    channel_id = ids.format_id("ch", channel.id)
    began, notified_at, last_text, warned = time.monotonic(), 0.0, "", False
    while True:
        now = time.monotonic()
        if now - notified_at >= _NOTIFY_SECONDS:
            notified_at = now
            await notify_now(session.db, [channel.id])
        row, config = await get_link(session.db, channel.id), await session.find(CHANNEL, channel_id)
        line = _line(config, row, session.now, codes=codes)
        if line is not None and line.text != last_text:
            last_text = line.text
            yield line
        if config.connection in CONNECTED:
            return
        if not row.wanted or link_service.waits_for_ban(row, config):
            raise Conflict(f"The phone was not linked. {config.reason or 'The link was given up.'}")
        if not codes and link_service.is_pairing_rejected(row, config):
            raise Conflict(f"The phone was not linked. {config.reason or ''}".rstrip())
        if now - began >= seconds:
            raise Conflict(_too_late(config))
        if not warned and config.connection == channel.connection and now - began >= _PATIENCE:
            warned = True
            text = "Nothing has happened yet. Is a gateway running? Start it with: gatepost serve"
            yield OutputLine(LinkProgress("waiting"), text)
        await asyncio.sleep(_POLL_SECONDS)


def _line(config: ChannelConfig, row: LinkRow, now: datetime, *, codes: bool) -> OutputLine | None:
    """Return the line to print, or None; an unchanged state gives the same text."""
    state = LinkProgress("connection", state=config.connection, reason=config.reason)
    if config.connection in CONNECTED:
        more = (config.reason or "").removeprefix(reason_of("linked").text).strip()
        return OutputLine(state, f"The phone is linked: {config.phone} is {config.connection}. {cell(more)}".rstrip())
    if not codes and row.pairing_code:
        progress = LinkProgress("pairing_code", code=row.pairing_code)
        return OutputLine(progress, f"{_HOW}\nChoose to link with the phone number, and type: {cell(row.pairing_code)}")
    if codes and row.qr and row.qr_until and row.qr_until > now:
        return _code_line(row.qr, row.qr_until)
    if config.connection == "connecting" and row.wanted:
        return OutputLine(state, "Connecting…", passing=True)
    return None


def _code_line(code: str, until: datetime) -> OutputLine:

    text = f"{draw(code)}\n{_HOW} The code is valid until {until.astimezone():%H:%M:%S}."
    return OutputLine(LinkProgress("qr", code=code, until=times.format_time(until)), text, passing=True)


def draw(code: str) -> str:
    """Draw the code in half blocks; on a terminal with explicit black and white."""
    out = io.StringIO()
    segno.make(code, error="l", micro=False).terminal(out, border=2, compact=True)
    lines = out.getvalue().rstrip("\n").split("\n")
    return "\n".join(_BLACK_AND_WHITE.format(line) if sys.stdout.isatty() else line for line in lines)


def _too_late(config: ChannelConfig) -> str:
    reason = f" {config.reason}" if config.reason else ""
    return (
        f"No phone was linked in time; the channel is {config.connection}.{reason} "
        "If nothing happened at all, check that a gateway is running: gatepost serve"
    )
