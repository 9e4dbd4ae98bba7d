"""`gatepost draft`: messages that a person has to approve."""

from typing import Annotated

import typer

from gatepost.api.contract.drafts import Draft
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import Column, CommandResult
from gatepost.cli.records import ChannelArgument
from gatepost.cli.sending import acceptor_of, operator_of
from gatepost.services import drafts as service

group = new_group("Drafts: messages that a person has to approve.")

DraftArgument = Annotated[str, typer.Argument(metavar="DRAFT", help="Id of the draft: drf_…")]
_COLUMNS: tuple[Column, ...] = (
    "id",
    "state",
    "phone",
    ("message", lambda draft: draft["message"].get("body") or draft["message"]["type"]),
    ("by", lambda draft: draft["created_by"]["label"] or draft["created_by"]["kind"]),
    "reason",
    "written_since",
    "expires_at",
    "comment",
)


@command(group, "list")
async def list_(
    session: CommandSession,
    channel: ChannelArgument,
    state: Annotated[str, typer.Option(help="waiting, sent, refused or expired; all shows every draft.")] = "waiting",
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The maximum number of drafts.")] = 50,
) -> CommandResult:
    """List the drafts of a channel, the newest first."""
    wanted = None if state == "all" else state
    rows = await service.list_drafts(session.db, channel.id, state=wanted, before=None, limit=limit, now=session.now)
    return CommandResult([Draft.of(row) for row in rows], _COLUMNS)


@command(group, "approve")
async def approve(
    session: CommandSession,
    channel: ChannelArgument,
    draft: DraftArgument,
    *,
    anyway: Annotated[bool, typer.Option(help="Send it although the person has written since.")] = False,
) -> CommandResult:
    """Send the message of a draft. A running gateway sends it."""
    caller, acceptor = await operator_of(session, channel.id), await acceptor_of(session)
    sent = await service.approve_draft(session.db, acceptor.approve, caller, draft, session.now, anyway=anyway)
    return CommandResult(Draft.of(sent), _COLUMNS)


@command(group, "refuse")
async def refuse(
    session: CommandSession,
    channel: ChannelArgument,
    draft: DraftArgument,
    comment: Annotated[str | None, typer.Option(help="Why; the author can read it.", show_default="none")] = None,
) -> CommandResult:
    """Refuse a draft."""
    caller = await operator_of(session, channel.id)
    refused = await service.refuse_draft(session.db, caller, draft, comment, session.now)
    return CommandResult(Draft.of(refused), _COLUMNS)
