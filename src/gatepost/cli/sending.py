"""`gatepost send`: send one message, as through the API."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatepost.cli.channels import ChannelId, find_channel
from gatepost.cli.command import CommandSession, command
from gatepost.cli.output import CommandResult

if TYPE_CHECKING:
    from uuid import UUID

    from gatepost.model.send_request import SendRequest

_POLL_SECONDS = 0.25
_ENDS = ("DELIVERED", "READ", "PLAYED", "FAILED", "EXPIRED", "CANCELED")


def add_commands(app: typer.Typer) -> None:
    """Add this command to the program."""
    command(app, "send")(send)


async def send(
    session: CommandSession,
    channel: ChannelId,
    phone: Annotated[str, typer.Argument(help="The number in digits, with its country code.")],
    body: Annotated[str | None, typer.Argument(help="The text.", show_default="none")] = None,
    *,
    fields: Annotated[
        str | None, typer.Option(help="Further fields of POST /message/send, as a JSON object.", metavar="JSON")
    ] = None,
    wait: Annotated[str | None, typer.Option(help="Wait so long for its delivery, e.g. 30s.")] = None,
) -> CommandResult:
    """Send a message: a text, or any other type with --fields."""
    import msgspec

    from gatepost.cli.arguments import read_duration

    seconds = read_duration(wait, "wait").total_seconds() if wait else 0.0
    config = await find_channel(session, channel)
    accepted = await _accept(session, config.id, _request(phone, body, fields))
    data: dict[str, Any] = msgspec.json.decode(accepted)["data"]
    view = await _until_delivered(session, config.id, data["key"]["id"], seconds)
    return CommandResult(
        view, note="" if seconds else "A running gateway sends it. Add --wait 30s to see its delivery."
    )


def _request(phone: str, body: str | None, fields: str | None) -> "SendRequest":
    import msgspec

    from gatepost.model.errors import invalid_field
    from gatepost.model.send_request import SendRequest

    try:
        more = msgspec.json.decode(fields) if fields else {}
        if not isinstance(more, dict):
            raise invalid_field(
                "fields", 'must be a JSON object, e.g. {"type": "image", "media": {"link": "https://…"}}'
            )
        return msgspec.convert({**more, "phone": phone} | ({} if body is None else {"body": body}), SendRequest)
    except msgspec.ValidationError as error:
        raise invalid_field("fields", str(error)) from None
    except msgspec.DecodeError as error:
        raise invalid_field("fields", f"is not JSON: {error}") from None


async def _accept(session: CommandSession, channel_id: "UUID", request: "SendRequest") -> bytes:
    from gatepost.clock import SystemClock
    from gatepost.model.account import check_access
    from gatepost.model.errors import NotFound
    from gatepost.outbound.accept import Acceptor
    from gatepost.store.keys import get_operator
    from gatepost.store.partitions import make_partitions
    from gatepost.webhooks.guard import Guard
    from gatepost.webhooks.link_fetch import check_link

    retention = session.settings.retention
    await make_partitions(session.db, session.now, retention.partition_days)  # no gateway may have run here yet
    caller = await get_operator(session.db, channel_id)
    if caller is None:
        raise NotFound("There is no such channel any more.")
    check_access(caller, session.now)
    guard = Guard(session.settings.webhooks.allow)

    async def check(link: str) -> None:
        check_link(guard, link)

    acceptor = Acceptor(session.db, SystemClock(), session.settings.plans, 1, check)
    return (await acceptor.accept(caller, request)).answer


async def _until_delivered(
    session: CommandSession, channel_id: "UUID", message_id: str, seconds: float
) -> dict[str, Any]:
    """Return the message once it is delivered or final, or when the time is over."""
    import msgspec

    from gatepost.api.contract.messages import Message
    from gatepost.model import ids
    from gatepost.store.messages.history import get_message

    id_ = ids.parse_id("", message_id)
    assert id_ is not None
    end = asyncio.get_running_loop().time() + seconds
    while True:
        found = await get_message(session.db, channel_id, id_)
        assert found is not None
        view: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(Message.of(found, session.now)))
        if view["status"] in _ENDS or asyncio.get_running_loop().time() >= end:
            kept = ("status", "type", "content", "error", "created_at", "sent_at", "delivered_at")
            return {"id": message_id, "phone": view["contact"]["phone"], **{name: view[name] for name in kept}}
        await asyncio.sleep(_POLL_SECONDS)
