"""`gatepost tail`: events as they happen, of one channel or of all.

log ends (every 250 ms) ─► channels with new events ─► events after the last one shown ─► a line each
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
import typer

from gatepost.cli.arguments import read_list
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import OutputLine, cell
from gatepost.cli.records import OptionalChannel
from gatepost.model import ids
from gatepost.model.errors import invalid_field
from gatepost.model.event import ALL_TYPES
from gatepost.store.channel_head import read_all_log_ends
from gatepost.store.events import read_feed_page
from gatepost.store.pool import Database

group = new_group()

_POLL_SECONDS = 0.25
_PAGE = 100


@command(group, "tail")
async def tail(
    session: CommandSession,
    channel: OptionalChannel = None,
    *,
    types: Annotated[str | None, typer.Option(help="Event types, separated by commas.", show_default="all")] = None,
    after: Annotated[str | None, typer.Option(help="Start after this event: evt_…", show_default="now")] = None,
) -> AsyncIterator[OutputLine]:
    """Show events as they happen, until Ctrl-C."""
    types_, begin = _types(types), _after(after)
    only = channel.id if channel else None
    try:
        async for line in _lines(session, only, types_, begin):
            yield line
    except asyncio.CancelledError:
        return  # Ctrl-C ends it


async def _lines(
    session: CommandSession, only: UUID | None, types: Sequence[str] | None, begin: UUID | None
) -> AsyncIterator[OutputLine]:
    cells = [session.db] if only else list(session.all_databases().values())
    last_shown = {one: last if begin is None else begin for one, (_, last) in (await _ends(cells, only)).items()}
    ends = {} if begin is not None else dict(last_shown)
    while True:
        now = await _ends(cells, only)
        for one, (db, _) in [(one, end) for one, end in now.items() if ends.get(one) != end[1]]:
            more = True
            while more:
                page = await read_feed_page(db, one, last_shown.get(one, begin or ids.ZERO), types, _PAGE)
                last_shown[one], more = page.reached, page.more
                for event in page.events:
                    yield _line(event.body)
        ends = {one: last for one, (_, last) in now.items()}
        await asyncio.sleep(_POLL_SECONDS)


async def _ends(cells: Sequence[Database], only: UUID | None) -> dict[UUID, tuple[Database, UUID]]:
    """Return the last event of each channel, with the database that has it."""
    return {one: (db, last) for db in cells for one, last in (await read_all_log_ends(db, only)).items()}


def _line(body: str) -> OutputLine:
    event: dict[str, Any] = msgspec.json.decode(body)
    details = ", ".join(f"{name}: {cell(value)}" for name, value in _brief(event["data"]).items())
    head = f"{event['timestamp']}  {event['channel']['phone']}  {event['sequence']:>6}"
    return OutputLine(event, f"{head}  {event['type']} {event['action']}  {details}")


_BRIEF = ("direction", "type", "status", "state", "change", "changed", "name", "total", "currency", "url", "reason")


def _brief(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that summarise an event."""
    brief = {"who": _person(data)} | {name: data[name] for name in _BRIEF if data.get(name) not in (None, [], "")}
    if isinstance(data.get("content"), dict) and "body" in data["content"]:
        brief["body"] = data["content"]["body"]
    return {name: value for name, value in brief.items() if value is not None}


def _person(data: dict[str, Any]) -> str | None:
    person = data.get("contact") or data
    return person.get("phone") or (data.get("key") or {}).get("remoteJid")


def _types(text: str | None) -> tuple[str, ...] | None:
    types_ = None if text is None else read_list(text)
    unknown = [name for name in types_ or () if name not in ALL_TYPES]
    if unknown or types_ == ():
        raise invalid_field("types", f"must be some of: {', '.join(ALL_TYPES)}")
    return types_


def _after(text: str | None) -> UUID | None:
    cursor = None if text is None else ids.parse_id("evt", text)
    if text is not None and cursor is None:
        raise invalid_field("after", "must be the id of an event: evt_ and 32 hex digits")
    return cursor
