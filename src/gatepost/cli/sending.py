"""`gatepost send`: send one message, as through the API."""

import asyncio
from typing import Annotated
from uuid import UUID

import msgspec
import typer

from gatepost.api.contract.operations import SentMessage
from gatepost.cli.arguments import given, read_duration
from gatepost.cli.command import CommandSession, command, new_group
from gatepost.cli.output import CommandResult
from gatepost.cli.records import ChannelArgument
from gatepost.cli.webhooks import allowed_hosts
from gatepost.model import ids
from gatepost.model.account import Caller, check_access
from gatepost.model.errors import NotFound, invalid_field
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import Acceptor
from gatepost.store.keys import get_operator
from gatepost.store.messages.history import get_message
from gatepost.store.partitions import make_partitions
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.link_fetch import check_link

group = new_group()

_POLL_SECONDS = 0.25
_ENDS = ("DELIVERED", "READ", "PLAYED", "FAILED", "EXPIRED", "CANCELED")
_COLUMNS = ("id", "phone", "status", "type", "content", "error", "created_at", "sent_at", "delivered_at")


@command(group, "send")
async def send(
    session: CommandSession,
    channel: ChannelArgument,
    recipient: Annotated[
        str, typer.Argument(help="The recipient's number in digits with its country code, or the id of a contact.")
    ],
    body: Annotated[str | None, typer.Argument(help="The text.", show_default="none")] = None,
    *,
    fields: Annotated[
        str | None, typer.Option(help="More fields of POST /message/send, as a JSON object.", metavar="JSON")
    ] = None,
    wait: Annotated[str | None, typer.Option(help="How long to wait for its delivery, for example 30s.")] = None,
) -> CommandResult:
    """Send a message: a text, or any other type with --fields."""
    seconds = read_duration(wait, "wait").total_seconds() if wait else 0.0
    message_id = await _accept(session, channel.id, _request(recipient, body, fields))
    try:
        message = await _until_delivered(session, channel.id, message_id, seconds)
    except asyncio.CancelledError:  # Ctrl-C ends the wait only: somebody who sees no message sends it again
        message = await _until_delivered(session, channel.id, message_id, 0.0)
    note = "" if seconds else "A running gateway sends it. Add --wait 30s to see its delivery."
    return CommandResult(message, _COLUMNS, note=note)


def _request(recipient: str, body: str | None, fields: str | None) -> SendRequest:
    try:
        more = msgspec.json.decode(fields) if fields else {}
        if not isinstance(more, dict):
            raise invalid_field(
                "fields", 'must be a JSON object, e.g. {"type": "image", "media": {"link": "https://…"}}'
            )
        named = "contact" if recipient.startswith("ct_") else "phone"
        return msgspec.convert({**more, named: recipient, **given(body=body)}, SendRequest)
    except msgspec.ValidationError as error:
        raise invalid_field("fields", str(error)) from None
    except msgspec.DecodeError as error:
        raise invalid_field("fields", f"is not JSON: {error}") from None


async def operator_of(session: CommandSession, channel_id: UUID) -> Caller:
    """Return the operator as the caller of a channel whose account may send."""
    caller = await get_operator(session.db, channel_id)
    if caller is None:
        raise NotFound("The channel was deleted meanwhile.")
    check_access(caller, session.now)
    return caller


async def acceptor_of(session: CommandSession) -> Acceptor:
    """Return an acceptor for the messages of a command."""
    retention = session.settings.retention
    await make_partitions(session.db, session.now, retention.partition_days)  # no gateway may have run here yet
    guard = Guard(allowed_hosts(session.settings))

    async def check(link: str) -> None:
        check_link(guard, link)

    return Acceptor(session.db, session.clock, session.settings.plans, 1, check, file_days=session.settings.media.days)


async def _accept(session: CommandSession, channel_id: UUID, request: SendRequest) -> UUID:
    accepted = await (await acceptor_of(session)).accept(await operator_of(session, channel_id), request)
    id_ = ids.parse_id("", msgspec.json.decode(accepted.answer)["data"]["key"]["id"])
    assert id_ is not None
    return id_


async def _until_delivered(session: CommandSession, channel_id: UUID, message_id: UUID, seconds: float) -> SentMessage:
    """Return the message when it is delivered or final, or when the time is over."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        row = await get_message(session.db, channel_id, message_id)
        assert row is not None
        message = SentMessage.with_id(row, session.now)
        if message.status in _ENDS or asyncio.get_running_loop().time() >= end:
            return message
        await asyncio.sleep(_POLL_SECONDS)
