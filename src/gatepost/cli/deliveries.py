"""`gatepost webhook deliveries`, `delivery`, `retry` and `recover`: why a webhook did not arrive, and retries."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from gatepost.api.contract.deliveries import Delivery, Recovery, WholeDelivery
from gatepost.api.contract.operations import RetriedDelivery
from gatepost.cli.arguments import TimeZone, given, read_duration, read_id, read_list
from gatepost.cli.command import CommandSession, command
from gatepost.cli.output import CommandResult, OutputLine
from gatepost.cli.records import WebhookArgument
from gatepost.cli.webhooks import group
from gatepost.model import ids, times
from gatepost.model.delivery import read_delivery_id
from gatepost.model.errors import NotFound, invalid_field
from gatepost.services import recoveries
from gatepost.services.deliveries import (
    SELECTION_MAX,
    access_delivery,
    attempts_of,
    find_deliveries,
    read_filter,
    retry_many,
)
from gatepost.store.channel_notifier import notify_now
from gatepost.store.channels import get_config
from gatepost.store.deliveries.log import DeliveryFilter, LoggedDelivery
from gatepost.store.deliveries.recover import RecoveryRow, get_recovery
from gatepost.store.endpoints import Endpoint, find_endpoint
from gatepost.store.idempotency import NEVER

WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Id of the webhook: we_…")]
DeliveryId = Annotated[str, typer.Argument(metavar="DELIVERY", help="Id of the delivery: dl_…")]
Channel = Annotated[str | None, typer.Option(help="Id of the channel, if the webhook was deleted: ch_…")]
_POLL_SECONDS = 0.3
_NOTIFY_SECONDS = 5.0
_WIDTH = 30


@command(group, "deliveries")
async def deliveries(
    session: CommandSession,
    webhook: WebhookId,
    *,
    status: Annotated[
        str | None, typer.Option(help="Some of pending, delivered, exhausted, dropped, canceled; separated by commas.")
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Event types, separated by commas.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="First date or time of the events, inclusive.")] = None,
    to: Annotated[str | None, typer.Option(help="Last date or time of the events, exclusive.")] = None,
    tz: TimeZone = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of deliveries.")] = 20,
    channel: Channel = None,
) -> CommandResult:
    """List deliveries to a webhook, newest event first."""
    endpoint_id = read_id("we", webhook)
    filter_ = read_filter(given(endpoint=webhook, status=status, type=type_, to=to, tz=tz, **{"from": from_}))
    found = await _read(session, await _channel_of(session, endpoint_id, channel), filter_, limit)
    columns = (
        "id",
        "event.type",
        "event.action",
        "event.timestamp",
        "status",
        "attempt_count",
        ("error", _problem),
        "next_attempt_at",
    )
    return CommandResult([Delivery.of(one, session.now) for one in found], columns, empty="There are none.")


@command(group, "delivery")
async def delivery(session: CommandSession, delivery: DeliveryId, channel: Channel = None) -> CommandResult:
    """Show a delivery with every attempt: request, response and error."""
    channel_id = await _channel_of(session, _endpoint_of(delivery), channel)
    row = await access_delivery(session.db, channel_id, delivery)
    attempts, bodies = await attempts_of(session.db, channel_id, row)
    return CommandResult(WholeDelivery.with_attempts(row, attempts, bodies, session.now))


@command(group, "retry")
async def retry(
    session: CommandSession,
    deliveries: Annotated[list[str], typer.Argument(metavar="DELIVERY…", help="Ids of deliveries: dl_…")],
) -> CommandResult:
    """Retry deliveries now."""
    results: list[RetriedDelivery] = []
    for endpoint_id, ids_ in _by_endpoint(deliveries).items():
        channel_id = await _channel_of(session, endpoint_id, None)
        results += await _retry(session, channel_id, ids_)
        await notify_now(session.db, [channel_id])
    return CommandResult(results, ("id", "retried", "reason"))


@command(group, "recover")
async def recover(
    session: CommandSession,
    webhook: WebhookArgument,
    *,
    since: Annotated[str, typer.Option(help="Time of the first event: 24h (ago), 2027-01-31 or 2027-01-31T10:00:00Z.")],
    until: Annotated[str | None, typer.Option(help="Time of the last event, likewise.", show_default="now")] = None,
    types: Annotated[str | None, typer.Option(help="Event types, separated by commas.", show_default="all")] = None,
    statuses: Annotated[
        str | None,
        typer.Option(
            help="Some of missing, pending, exhausted, dropped, delivered; separated by commas.",
            show_default="all but delivered",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Show the progress until it is done.")] = False,
) -> AsyncIterator[OutputLine]:
    """Deliver the events that a webhook missed."""
    request = recoveries.RecoverRequest(
        _ago(since, session.now),
        None if until is None else _ago(until, session.now),
        None if types is None else list(read_list(types)),
        None if statuses is None else list(read_list(statuses)),
    )
    begun = await recoveries.recover(session.db, webhook, request, NEVER, session.now)
    await notify_now(session.db, [webhook.channel_id])
    yield _line(begun)
    if wait:
        async for line in _watch(session, webhook, begun):
            yield line


async def _watch(session: CommandSession, endpoint: Endpoint, begun: RecoveryRow) -> AsyncIterator[OutputLine]:
    """Yield how far a recovery is, whenever that has changed, until it is done."""
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


def _line(one: RecoveryRow) -> OutputLine:
    recovery = Recovery.of(one)
    done = round(_WIDTH * recovery.progress)
    bar = "█" * done + "░" * (_WIDTH - done)
    text = f"{bar} {recovery.progress:4.0%}  {one.recovered:,} events to be delivered again"
    return OutputLine(recovery, text if one.ended_at is None else f"{text}. Done.", passing=one.ended_at is None)


async def _read(session: CommandSession, channel_id: UUID, filter_: DeliveryFilter, limit: int) -> list[LoggedDelivery]:
    found: list[LoggedDelivery] = []
    before = None
    while len(found) < limit:
        page = await find_deliveries(session.db, channel_id, filter_, before, min(100, limit - len(found)))
        found += page.found
        before = page.reached
        if before is None:
            break
    return found


def _problem(delivery: dict[str, Any]) -> Any:
    return (delivery["last_attempt"] or {}).get("error") or delivery["waiting"]


async def _retry(session: CommandSession, channel_id: UUID, texts: Sequence[str]) -> list[RetriedDelivery]:
    results: list[RetriedDelivery] = []
    for start in range(0, len(texts), SELECTION_MAX):
        done = await retry_many(session.db, channel_id, texts[start : start + SELECTION_MAX], session.now)
        results += [RetriedDelivery.of(text, error) for text, error in done.items()]
    return results


def _by_endpoint(texts: Sequence[str]) -> dict[UUID, list[str]]:
    grouped: dict[UUID, list[str]] = {}
    for text in texts:
        grouped.setdefault(_endpoint_of(text), []).append(text)
    return grouped


def _endpoint_of(text: str) -> UUID:
    key = read_delivery_id(text)
    if key is None:
        raise invalid_field("delivery", f"{text[:100]!r} is not an id; ids look like dl_ and 64 hex digits")
    return key[0]


async def _channel_of(session: CommandSession, endpoint_id: UUID, channel: str | None) -> UUID:
    """Return the channel of a webhook; for a deleted one the caller must name it."""
    if channel is not None:
        channel_id = read_id("ch", channel)
        await session.find_by(lambda db: get_config(db, channel_id))
        return channel_id
    found = await session.find_by(lambda db: find_endpoint(db, endpoint_id))
    if found is None:
        text = ids.format_id("we", endpoint_id)
        raise NotFound(f"There is no webhook endpoint {text}. If it was deleted, name its channel: --channel ch_…")
    return found.channel_id


def _ago(text: str, now: datetime) -> str:
    """Return a time as the API reads it; a duration counts back from now."""
    if re.fullmatch(r"[0-9]{1,6}[smhd]", text):
        try:
            return times.format_time(now - read_duration(text, "since"))
        except OverflowError:
            raise invalid_field("since", "is before the year 1") from None
    return text
