"""`gatepost webhook deliveries`, `delivery`, `retry` and `recover`: why a webhook did not arrive, and retries."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from gatepost.cli.command import CommandSession, command, stream_command
from gatepost.cli.output import CommandResult, ProgressLine
from gatepost.cli.webhooks import EndpointId, find_webhook

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from gatepost.store.deliveries.log import DeliveryFilter, LoggedDelivery
    from gatepost.store.deliveries.recover import RecoveryRow
    from gatepost.store.endpoints import Endpoint

DeliveryId = Annotated[str, typer.Argument(metavar="DELIVERY", help="Id of the delivery: dl_…")]
Channel = Annotated[str | None, typer.Option(help="Id of the channel, where the webhook was deleted: ch_…")]
_COLUMNS = ("id", "event", "at", "status", "attempts", "error", "next_attempt_at")
_POLL_SECONDS = 0.3
_NOTIFY_SECONDS = 5.0
_WIDTH = 30


def add_commands(group: typer.Typer) -> None:
    """Add these commands to those of webhooks."""
    command(group, "deliveries")(deliveries)
    command(group, "delivery")(delivery)
    command(group, "retry")(retry)
    stream_command(group, "recover")(recover)


async def deliveries(
    session: CommandSession,
    webhook: EndpointId,
    *,
    status: Annotated[
        str | None, typer.Option(help="pending, delivered, exhausted, dropped, canceled; separated by commas.")
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Event types, separated by commas.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="From this date or time on.")] = None,
    to: Annotated[str | None, typer.Option(help="Before this date or time.")] = None,
    tz: Annotated[str | None, typer.Option(help="Time zone of dates, e.g. America/Sao_Paulo.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    channel: Channel = None,
) -> CommandResult:
    """List deliveries to a webhook, the newest event first."""
    from gatepost.api.contract.deliveries import Delivery
    from gatepost.cli.arguments import read_id
    from gatepost.services.deliveries import read_filter

    filters = {"endpoint": webhook, "status": status, "type": type_, "from": from_, "to": to, "tz": tz}
    endpoint_id = read_id("we", webhook)
    filter_ = read_filter({name: value for name, value in filters.items() if value is not None})
    found = await _read(session, await _channel_of(session, endpoint_id, channel), filter_, limit)
    shown = [msgspec.to_builtins(Delivery.of(one, session.now)) for one in found]
    return CommandResult(shown, _COLUMNS, rows=[_row(one) for one in shown], empty="There are none.")


async def delivery(session: CommandSession, delivery: DeliveryId, channel: Channel = None) -> CommandResult:
    """Show a delivery with every attempt: request, response and error."""
    from gatepost.api.contract.deliveries import WholeDelivery
    from gatepost.services.deliveries import access_delivery, attempts_of

    channel_id = await _channel_of(session, _endpoint_of(delivery), channel)
    row = await access_delivery(session.db, channel_id, delivery)
    attempts, bodies = await attempts_of(session.db, channel_id, row)
    return CommandResult(msgspec.to_builtins(WholeDelivery.with_attempts(row, attempts, bodies, session.now)))


async def retry(
    session: CommandSession,
    deliveries: Annotated[list[str], typer.Argument(metavar="DELIVERY…", help="Ids of deliveries: dl_…")],
) -> CommandResult:
    """Retry deliveries now."""
    from gatepost.store.channel_notifier import notify_now

    results: list[dict[str, Any]] = []
    for endpoint_id, ids_ in _by_endpoint(deliveries).items():
        channel_id = await _channel_of(session, endpoint_id, None)
        results += await _retry(session, channel_id, ids_)
        await notify_now(session.db, [channel_id])
    return CommandResult(results, ("id", "retried", "reason"))


async def recover(
    session: CommandSession,
    webhook: EndpointId,
    *,
    since: Annotated[str, typer.Option(help="From when on: 24h (ago), 2027-01-31 or 2027-01-31T10:00:00Z.")],
    until: Annotated[str | None, typer.Option(help="Until when, written in the same way.", show_default="now")] = None,
    types: Annotated[str | None, typer.Option(help="Event types, separated by commas.", show_default="all")] = None,
    statuses: Annotated[
        str | None,
        typer.Option(
            help="missing, pending, exhausted, dropped, delivered; separated by commas.",
            show_default="all but delivered",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Show the progress until it is done.")] = False,
) -> AsyncIterator[ProgressLine]:
    """Deliver every event that a webhook missed."""
    from gatepost.cli.arguments import read_list
    from gatepost.services import recoveries
    from gatepost.store.channel_notifier import notify_now
    from gatepost.store.idempotency import NEVER

    request = recoveries.RecoverRequest(
        _ago(since, session.now),
        None if until is None else _ago(until, session.now),
        None if types is None else list(read_list(types)),
        None if statuses is None else list(read_list(statuses)),
    )
    endpoint = await find_webhook(session, webhook)
    begun = await recoveries.recover(session.db, endpoint, request, NEVER, session.now)
    await notify_now(session.db, [endpoint.channel_id])
    yield _line(begun)
    if wait:
        async for line in _watch(session, endpoint, begun):
            yield line


async def _watch(session: CommandSession, endpoint: "Endpoint", begun: "RecoveryRow") -> AsyncIterator[ProgressLine]:
    """Yield how far a recovery is, whenever that has changed, until it is done."""
    from gatepost.store.channel_notifier import notify_now
    from gatepost.store.deliveries.recover import get_recovery

    now: RecoveryRow | None = begun
    notified_at = time.monotonic()
    while now is not None and now.ended_at is None:
        await asyncio.sleep(_POLL_SECONDS)
        before, now = now, await get_recovery(session.db, endpoint.channel_id, endpoint.id, begun.id)
        if now is not None and now != before:
            yield _line(now)
        if time.monotonic() - notified_at >= _NOTIFY_SECONDS:  # a notification may be lost
            notified_at = time.monotonic()
            await notify_now(session.db, [endpoint.channel_id])


def _line(one: "RecoveryRow") -> ProgressLine:
    from gatepost.api.contract.deliveries import Recovery

    shown = msgspec.to_builtins(Recovery.of(one))
    done = round(_WIDTH * shown["progress"])
    bar = "█" * done + "░" * (_WIDTH - done)
    text = f"{bar} {shown['progress']:4.0%}  {one.recovered:,} events to be delivered again"
    return ProgressLine(shown, text if one.ended_at is None else f"{text}. Done.", passing=one.ended_at is None)


async def _read(
    session: CommandSession, channel_id: "UUID", filter_: "DeliveryFilter", limit: int
) -> list["LoggedDelivery"]:
    from gatepost.services.deliveries import find_deliveries

    found: list[LoggedDelivery] = []
    before = None
    while len(found) < limit:
        page = await find_deliveries(session.db, channel_id, filter_, before, min(100, limit - len(found)))
        found += page.found
        before = page.reached
        if before is None:
            break
    return found


def _row(shown: dict[str, Any]) -> dict[str, Any]:
    last = shown["last_attempt"] or {}
    return {
        "id": shown["id"],
        "event": f"{shown['event']['type']} {shown['event']['action']}",
        "at": shown["event"]["timestamp"],
        "status": shown["status"],
        "attempts": shown["attempt_count"],
        "error": last.get("error") or shown["waiting"],
        "next_attempt_at": shown["next_attempt_at"],
    }


async def _retry(session: CommandSession, channel_id: "UUID", texts: Sequence[str]) -> list[dict[str, Any]]:
    from gatepost.services.deliveries import SELECTION_MAX, retry_many

    results: list[dict[str, Any]] = []
    for start in range(0, len(texts), SELECTION_MAX):
        done = await retry_many(session.db, channel_id, texts[start : start + SELECTION_MAX], session.now)
        results += [
            {"id": text, "retried": refusal is None, "reason": refusal and refusal.message}
            for text, refusal in done.items()
        ]
    return results


def _by_endpoint(texts: Sequence[str]) -> dict["UUID", list[str]]:
    grouped: dict[UUID, list[str]] = {}
    for text in texts:
        grouped.setdefault(_endpoint_of(text), []).append(text)
    return grouped


def _endpoint_of(text: str) -> "UUID":
    from gatepost.model.delivery import read_delivery_id
    from gatepost.model.errors import invalid_field

    key = read_delivery_id(text)
    if key is None:
        raise invalid_field("delivery", f"{text[:100]!r} is not one; ids look like dl_ and 64 hex digits")
    return key[0]


async def _channel_of(session: CommandSession, endpoint_id: "UUID", channel: str | None) -> "UUID":
    """Return the channel of a webhook; for a deleted one the caller must name it."""
    from gatepost.cli.arguments import read_id
    from gatepost.model import ids
    from gatepost.model.errors import NotFound
    from gatepost.store.endpoints import find_endpoint

    if channel is not None:
        return read_id("ch", channel)
    found = await find_endpoint(session.db, endpoint_id)
    if found is None:
        shown = ids.format_id("we", endpoint_id)
        raise NotFound(f"There is no webhook endpoint {shown}. If it was deleted, name its channel: --channel ch_…")
    return found.channel_id


def _ago(text: str, now: "datetime") -> str:
    """Return a time as the API reads it; a duration counts back from now."""
    import re

    from gatepost.cli.arguments import read_duration
    from gatepost.model import times

    if re.fullmatch(r"[0-9]{1,6}[smhd]", text):
        return times.format_time(now - read_duration(text, "since"))
    return text
