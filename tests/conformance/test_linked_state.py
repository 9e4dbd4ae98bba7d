"""The state of a linked number: time-locks of the network, and restarts of the gateway."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from gatepost.app import Gatepost
from gatepost.clock import SystemClock
from gatepost.networks.qr.reasons import reason_of
from gatepost.store.pool import Database
from tests.conformance.conftest import new_qr_line, quick_network
from tests.conformance.line import Line, new_person, until
from tests.running_gateway import Gateway, running_gateway


class ShiftedClock(SystemClock):
    """The time of this machine, and what a test adds to it."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


@asynccontextmanager
async def worker(gateway: Gateway, url: str) -> AsyncIterator[None]:
    """A process that owns channels, beside the one that answers requests."""
    db = await Database.connect(url, connections=gateway.settings.database.connections)
    gatepost = Gatepost(gateway.settings, db, url, gateway.clock, "worker")
    await gatepost.start()
    try:
        yield
    finally:
        await gatepost.stop()
        await db.close()


async def because(line: Line, message_id: str) -> str:
    """Why a message has not left, once that is known."""

    async def look() -> str | None:
        waiting = (await line.get(f"/messages/{message_id}/trace"))["waiting"]
        reason: str = (waiting or {}).get("because", "")
        return reason if "new people" in reason else None

    found = await until(look)
    assert found is not None
    return found


async def test_a_time_lock_keeps_new_people_waiting_and_nobody_else(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, sandbox=quick_network()) as gateway:
        line, friend, asker, stranger = await new_qr_line(gateway), new_person(), new_person(), new_person()
        await line.until_status(await line.send(friend, body="Hello"), "READ")
        await line.phone_does("lock", {"seconds": 3600})
        channel = await line.until_state("limited")
        assert channel["connection"]["reason"].startswith(reason_of("time_locked").text)
        assert channel["link"]["locked_until"]
        waits = await line.send(stranger, body="May I?")
        assert await because(line, waits)
        await line.until_status(await line.send(friend, body="How are you?"), "READ")
        await line.say(asker, "text", {"body": "Are you open?"})
        await line.received(asker, 1)
        await line.until_status(await line.send(asker, body="Yes"), "READ")
        assert (await line.message(waits))["status"] == "PENDING"
        await line.advance(3600)
        channel = await line.until_state("connected")
        assert channel["link"]["locked_until"] is None
        await line.until_status(waits, "READ")
        refused = (await line.control("GET", f"/phones/{line.phone}/messages"))["refused"]
        assert sum(refused.values()) <= 1
        states = [one["state"] for one in await line.connections()]
        assert states[-2:] == ["limited", "connected"]


async def test_a_banned_number_sends_again_after_the_ban(parted_database_url: str) -> None:
    clock = ShiftedClock()
    async with running_gateway(parted_database_url, sandbox=quick_network(), clock=clock) as gateway:
        line, friend = await new_qr_line(gateway), new_person()
        await line.phone_does("ban", {"seconds": 3600})
        channel = await line.until_state("banned")
        assert "The ban ends at" in channel["connection"]["reason"]
        waits = await line.send(friend, body="Hello")
        await line.advance(3600 + 90)
        clock.ahead = timedelta(seconds=3600 + 90)
        later = await line.send(friend, body="Are you there?")
        for message_id in (waits, later):
            await line.until_status(message_id, "READ")


async def test_a_refusal_opens_the_breaker(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, sandbox=quick_network()) as gateway:
        line, friend, stranger = await new_qr_line(gateway), new_person(), new_person()
        await line.until_status(await line.send(friend, body="Hello"), "READ")
        await line.fault(fault="refuse", code=463, to=stranger)
        waits = await line.send(stranger, body="May I?")
        channel = await line.until_state("limited")
        assert "new people" in channel["connection"]["reason"]
        await line.until_status(await line.send(friend, body="How are you?"), "READ")
        assert (await line.message(waits))["status"] == "PENDING"
        refused = (await line.control("GET", f"/phones/{line.phone}/messages"))["refused"]
        assert refused == {waits: 1}


async def test_a_restart_keeps_the_link_and_all_that_came_meanwhile(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, sandbox=quick_network(), role="api") as gateway:
        async with worker(gateway, parted_database_url):
            line, person = await new_qr_line(gateway), new_person()
            await line.until_status(await line.send(person, body="Before"), "READ")
        channel = await line.get("/channel")
        assert channel["connection"]["state"] == "disconnected"
        assert channel["connection"]["reason"]
        assert channel["link"]["wanted"]
        waits = [await line.send(person, body=f"Number {number}") for number in range(3)]
        for number in range(3):
            await line.say(person, "text", {"body": f"Meanwhile {number}"})
        async with worker(gateway, parted_database_url):
            for message_id in waits:
                await line.until_status(message_id, "READ")
            received = await line.received(person, 3)
        assert [event["data"]["content"]["body"] for event in received] == [
            f"Meanwhile {number}" for number in range(3)
        ]
        assert [taken.id for taken in await line.taken()][1:] == waits
        codes = [one for one in await line.connections() if "qr" in one]
        assert len(codes) == 1, "scanned once, and never again"
