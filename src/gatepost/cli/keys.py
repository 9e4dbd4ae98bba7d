"""`gatepost key`: API keys of a channel."""

from typing import TYPE_CHECKING, Annotated

import typer

from gatepost.cli.channels import find_channel
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult

if TYPE_CHECKING:
    from gatepost.admin.keys import NewKey
    from gatepost.store.keys import ApiKey

group = new_group("Keys: what programs call the API with.")

ChannelId = Annotated[str, typer.Argument(metavar="CHANNEL", help="Id of the channel: ch_…")]
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="Id of the key: key_…")]
Expires = Annotated[str | None, typer.Option(help="When it ends: 90d, 2027-01-31 or 2027-01-31T10:00:00Z.")]


@command(group, "create")
async def create(
    session: CommandSession,
    channel: ChannelId,
    name: Annotated[str, typer.Argument(help="Name of the key, to know it by.")],
    scopes: Annotated[str, typer.Option(help="Of send, read, manage, mcp, separated by commas.")] = "send,read,manage",
    expires: Expires = None,
) -> CommandResult:
    """Create a key; it is shown once."""
    from gatepost.admin import keys
    from gatepost.cli.arguments import read_list, read_time

    found, now = await find_channel(session, channel), session.now
    ends = read_time(expires, "expires", now)
    made = await keys.create_key(session.db, found.id, name, scopes=read_list(scopes), expires_at=ends, now=now)
    return _shown_once(made)


@command(group, "list")
async def list_(session: CommandSession, channel: ChannelId) -> CommandResult:
    """List the keys of a channel, including revoked and expired ones."""
    from gatepost.cli.views import key_view
    from gatepost.store import keys

    found = await find_channel(session, channel)
    views = [key_view(key) for key in await keys.list_keys(session.db, found.id)]
    return CommandResult(views, ("id", "name", "hint", "scopes", "expires_at", "revoked_at", "last_used_at"))


@command(group, "rotate")
async def rotate(
    session: CommandSession,
    key: KeyId,
    overlap: Annotated[str, typer.Option(help="How long the old key works on: 0, 30m, 24h, 7d.")] = "24h",
    expires: Expires = None,
) -> CommandResult:
    """Create a new key with the same name and scopes, and let the old one expire."""
    from gatepost.admin import keys
    from gatepost.cli.arguments import read_duration, read_time

    old, now = await _find(session, key), session.now
    made = await keys.rotate_key(
        session.db,
        old.channel_id,
        old.id,
        overlap=read_duration(overlap, "overlap"),
        expires_at=read_time(expires, "expires", now),
        now=now,
    )
    return _shown_once(made)


@command(group, "revoke")
async def revoke(session: CommandSession, key: KeyId) -> CommandResult:
    """Revoke a key now."""
    from gatepost.admin import keys
    from gatepost.cli.views import key_view

    found = await _find(session, key)
    return CommandResult(key_view(await keys.revoke_key(session.db, found.channel_id, found.id, session.now)))


def _shown_once(made: "NewKey") -> CommandResult:
    from gatepost.cli.views import key_view

    return CommandResult({**key_view(made.key), "key": made.text}, note="The key is shown this once.")


async def _find(session: CommandSession, key: str) -> "ApiKey":
    """Return a key of any channel."""
    from gatepost.cli.arguments import read_id
    from gatepost.model.errors import NotFound
    from gatepost.store.keys import find_key

    found = await find_key(session.db, read_id("key", key))
    if found is None:
        raise NotFound(f"There is no key {key}.")
    return found
