"""Writes the events of incoming messages to a channel, without the messages.

    batch of events ─► the gateway's own commit (event, deliveries, head) ─► a notification, as from another node

Events can so be written at any rate, and neither sending nor receiving is part of the results. Runs in its own
process, `python -m bench.event_writer`: a number of events as fast as possible, or a rate for a number of seconds.
"""

import argparse
import asyncio
import time
from datetime import UTC, datetime
from uuid import UUID

import uvloop

from bench.load import FIRST
from bench.processes import end_with_parent, say
from bench.tenant import NUMBER
from gatepost.model import ids
from gatepost.model.event import ChannelRef, NewEvent, render
from gatepost.model.event.messages import MessageCreated
from gatepost.store.channel_head import channel_transaction
from gatepost.store.channel_notifier import notify_now
from gatepost.store.pool import Database

_BATCH = 1000
_TICK = 0.01  # seconds between writes at a rate, like the commits of a busy gateway
_PEOPLE = 1000


def sample_data(number: int, at: datetime) -> MessageCreated:
    """Return the data of the event of an incoming text."""
    return MessageCreated.of(
        id_=ids.new_id(at),
        phone=str(FIRST + number % _PEOPLE),
        contact_id=person(number),
        name="Maria Souza",
        incoming=True,
        type_="text",
        content=f'{{"body":"Where is my order {number}? It should have been here by now."}}',
        timestamp=at,
        reply_to=None,
        client_ref=None,
        sent_by=None,
    )


def sample_body() -> bytes:
    """Return the body of an event, as an endpoint receives it."""
    now = datetime.now(UTC)
    channel = ChannelRef(ids.format_id("ch", ids.new_id(now)), "official", NUMBER["phone"])
    return render(NewEvent(ids.new_id(now), sample_data(1, now)), 1, channel, now).encode()


def person(number: int) -> UUID:
    """Return the conversation of an event; conversations alternate."""
    return UUID(int=1 + number % _PEOPLE)


class EventWriter:
    """Writes events to one channel."""

    def __init__(self, db: Database, channel_id: UUID) -> None:
        self._db = db
        self._channel_id = channel_id
        self._channel = ChannelRef(ids.format_id("ch", channel_id), "official", NUMBER["phone"])
        self.seen = 0

    async def write(self, count: int) -> None:
        """Write a number of events in one commit."""
        now = datetime.now(UTC)
        async with channel_transaction(self._db, self._channel, self._channel_id, now) as change:
            for number in range(self.seen, self.seen + count):
                change.event_buffer.add(sample_data(number, now), person(number))
        self.seen += count
        await notify_now(self._db, [self._channel_id])


async def fill(writer: EventWriter, count: int) -> None:
    """Write a number of events as fast as possible."""
    while writer.seen < count:
        await writer.write(min(_BATCH, count - writer.seen))


async def keep_writing(writer: EventWriter, rate: float, seconds: float) -> None:
    """Write events at a rate. Events that a slow commit has delayed are written with the next one."""
    began = time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        missing = int(elapsed * rate) - writer.seen
        if missing > 0:
            await writer.write(min(_BATCH, missing))
        await asyncio.sleep(max(0.0, began + elapsed + _TICK - time.perf_counter()))


async def drive(options: argparse.Namespace) -> None:
    """Write events, and report their number."""
    db = await Database.connect(options.dsn, connections=1)
    writer = EventWriter(db, UUID(options.channel))
    say("begin")
    began, cpu = time.perf_counter(), time.process_time()
    if options.events:
        await fill(writer, options.events)
    else:
        await keep_writing(writer, options.rate, options.seconds)
    say("end", count=writer.seen, seconds=time.perf_counter() - began, cpu=time.process_time() - cpu)
    await db.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--channel", required=True)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=5.0)
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(drive(parser.parse_args()))


if __name__ == "__main__":
    main()
