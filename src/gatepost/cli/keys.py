"""`gatepost key`: API keys of a channel."""

from typing import Annotated

import typer

from gatepost.admin import keys as admin
from gatepost.api.contract.account import ApiKey, NewApiKey, RefusedRequest
from gatepost.cli.arguments import read_duration, read_list, read_time
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.records import ChannelArgument, KeyArgument
from gatepost.store.keys import list_keys
from gatepost.store.refused_requests import ROWS_PER_KEY, list_refused

group = new_group()

Expires = Annotated[str | None, typer.Option(help="Expiry: 90d, 2027-01-31 or 2027-01-31T10:00:00Z.")]
_COLUMNS = ("id", "name", "hint", "scopes", "expires_at", "revoked_at", "last_used_at")

_REFUSED_COLUMNS = ("at", "method", "path", "status", "code", "message", "count")


@command(group, "create")
async def create(
    session: CommandSession,
    channel: ChannelArgument,
    name: Annotated[str, typer.Argument(help="Name of the key, for example of the program that uses it.")],
    scopes: Annotated[
        str, typer.Option(help="Some of send, read, manage, mcp; separated by commas.")
    ] = "send,read,manage",
    expires: Expires = None,
) -> CommandResult:
    """Create a key. It is shown only once."""
    now = session.now
    ends = read_time(expires, "expires", now)
    new = await admin.create_key(session.db, channel.id, name, scopes=read_list(scopes), expires_at=ends, now=now)
    return _shown_once(new)


@command(group, "list")
async def list_(session: CommandSession, channel: ChannelArgument) -> CommandResult:
    """List the keys of a channel, including revoked and expired ones."""
    return CommandResult([ApiKey.of(row) for row in await list_keys(session.db, channel.id)], _COLUMNS)


@command(group, "refused")
async def refused(
    session: CommandSession,
    key: KeyArgument,
    limit: Annotated[int, typer.Option(min=1, max=ROWS_PER_KEY, help="The maximum number of rows.")] = 50,
) -> CommandResult:
    """List the requests with a key that got an error in the last day, the newest first."""
    rows = await list_refused(session.db, key.channel_id, key_id=key.id, now=session.now, before=None, limit=limit)
    return CommandResult([RefusedRequest.of(row) for row in rows], _REFUSED_COLUMNS)


@command(group, "rotate")
async def rotate(
    session: CommandSession,
    key: KeyArgument,
    overlap: Annotated[str, typer.Option(help="How long the old key stays valid: 0, 30m, 24h, 7d.")] = "24h",
    expires: Expires = None,
) -> CommandResult:
    """Create a key with the same name and scopes. The old one expires after the overlap."""
    now = session.now
    new = await admin.rotate_key(
        session.db,
        key.channel_id,
        key.id,
        overlap=read_duration(overlap, "overlap"),
        expires_at=read_time(expires, "expires", now),
        now=now,
    )
    return _shown_once(new)


@command(group, "revoke")
async def revoke(session: CommandSession, key: KeyArgument) -> CommandResult:
    """Revoke a key now."""
    return CommandResult(ApiKey.of(await admin.revoke_key(session.db, key.channel_id, key.id, session.now)))


def _shown_once(new: admin.NewKey) -> CommandResult:
    shown, note = NewApiKey.of(new.key, key=new.text), "Store the key now: it is not shown again."
    return CommandResult(shown, note=f"{note}\n\nWarning: {shown.warning}" if shown.warning else note)
