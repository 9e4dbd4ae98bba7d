"""`gatepost mcp log`, `policy`, `stop` and `resume`: what assistants did, and what they may do."""

from functools import partial
from typing import Annotated, Any

import msgspec
import typer

from gatepost.admin import mcp_policies as admin
from gatepost.api.contract.mcp import McpAccess, McpCall, McpPolicy
from gatepost.cli.arguments import given, read_id, read_time
from gatepost.cli.channels import gateway_url
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import Column, CommandResult
from gatepost.cli.records import AccountArgument, ChannelArgument, KeyArgument
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import read_choice
from gatepost.model.mcp_call import CALL_OUTCOMES
from gatepost.model.mcp_policy import Policy
from gatepost.store.accounts import Account
from gatepost.store.keys import list_keys
from gatepost.store.mcp.calls import CallFilter, list_calls

group = new_group()

_CALLS: tuple[Column, ...] = (
    "at",
    ("key", lambda call: call["key"]["name"] or call["key"]["id"]),
    "client",
    "tool",
    "arguments",
    "outcome",
    "rule",
    "code",
    "ids",
)
_POLICY = ("mode", "updated_at", "updated_by")


@command(group, "log")
async def log(
    session: CommandSession,
    channel: ChannelArgument,
    key: Annotated[str | None, typer.Option(help="Only calls with this key: key_…", show_default="all")] = None,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool.", show_default="all")] = None,
    outcome: Annotated[
        str | None, typer.Option(help="Only calls that ended like this, for example refused.", show_default="all")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The maximum number of calls.")] = 50,
) -> CommandResult:
    """List what assistants called on a channel, the newest first."""
    ended = None if outcome is None else read_choice("outcome", outcome, CALL_OUTCOMES)
    filter_ = CallFilter(key_id=None if key is None else read_id("key", key), tool=tool, outcome=ended)
    rows = await list_calls(session.db, channel.id, before=None, limit=limit, filter_=filter_)
    names = {one.id: one.name for one in await list_keys(session.db, channel.id)}
    return CommandResult([McpCall.of(row, names) for row in rows], _CALLS)


@command(group, "policy")
async def policy(
    session: CommandSession,
    key: KeyArgument,
    *,
    mode: Annotated[str | None, typer.Option(help="read, draft or send.", show_default="unchanged")] = None,
    dry_run: Annotated[
        bool | None, typer.Option(help="Whether to send nothing and record what would have happened.")
    ] = None,
    sends_per_hour: Annotated[
        int | None, typer.Option(help="Messages and drafts in an hour.", show_default="unchanged")
    ] = None,
    ends: Annotated[str | None, typer.Option(help="When it ends: 30d or 2027-01-31.", show_default="unchanged")] = None,
    rules: Annotated[
        str | None, typer.Option(help="Any rules, as a JSON object of the policy's fields.", metavar="JSON")
    ] = None,
) -> CommandResult:
    """Show what an assistant with this key may do, in plain sentences. Options change the rules."""
    found = await admin.get_policy(session.db, key.channel_id, key.id)
    admin.check_scope(found.key)
    ends_at = read_time(ends, "ends", session.now)
    changes = _read_rules(rules) | given(mode=mode, dry_run=dry_run, sends_per_hour=sends_per_hour, ends_at=ends_at)
    if changes:
        change = partial(_changed, changes)
        found = await admin.change_policy(session.db, key.channel_id, key.id, change, session.now)
    shown = McpPolicy.of(found.stored, found.key, found.labels)
    warning = [f"\nWarning: {shown.warning}"] if shown.warning else []
    return CommandResult(shown, _POLICY, note="\n".join([*shown.sentences, *warning]))


@command(group, "stop")
async def stop(session: CommandSession, account: AccountArgument) -> CommandResult:
    """Stop all assistants of an account. Their keys and policies stay."""
    return await _switch(session, account, stopped=True)


@command(group, "resume")
async def resume(session: CommandSession, account: AccountArgument) -> CommandResult:
    """Let the assistants of an account go on."""
    return await _switch(session, account, stopped=False)


async def _switch(session: CommandSession, account: Account, *, stopped: bool) -> CommandResult:
    stop = await admin.set_stop(session.db, account.id, session.now, stopped=stopped)
    return CommandResult(McpAccess.of(stop, gateway_url(session.settings)))


def _read_rules(text: str | None) -> dict[str, Any]:
    try:
        rules = msgspec.json.decode(text) if text else {}
    except msgspec.DecodeError as error:
        raise invalid_field("rules", f"is not JSON: {error}") from None
    if not isinstance(rules, dict):
        raise invalid_field("rules", 'must be a JSON object, e.g. {"link_hosts": []}')
    return rules


def _changed(changes: dict[str, Any], policy: Policy) -> Policy:
    """Return a policy with changes; of the recipients, those fields that are given."""
    fields = msgspec.structs.asdict(policy)
    if isinstance(changes.get("recipients"), dict):
        changes = changes | {"recipients": msgspec.structs.asdict(policy.recipients) | changes["recipients"]}
    try:
        return msgspec.convert(fields | changes, Policy)
    except msgspec.ValidationError as error:
        raise invalid_field("rules", str(error)) from None
