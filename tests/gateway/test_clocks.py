"""Nodes whose machines disagree about the time: the database's clock decides, and nothing is late."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.app import Gatepost
from gatepost.clock import DatabaseClock, SystemClock
from gatepost.clock_sync import follow_database
from gatepost.store.checks import read_time
from gatepost.store.pool import Database
from tests.conftest import Receiver
from tests.gateway.checks import TEXT
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SKEW = 600.0  # seconds: more than any test waits


class SkewedClock(SystemClock):
    """The clock of a machine that is wrong."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._ahead


@asynccontextmanager
async def two_nodes(url: str, api: float, worker: float) -> AsyncIterator[Gateway]:
    """One that accepts and one that sends, on machines that are so many seconds ahead."""
    async with running_gateway(url, role="api", clock=DatabaseClock(SkewedClock(api))) as gateway:
        db = await Database.connect(url, connections=4)
        node = Gatepost(gateway.settings, db, url, DatabaseClock(SkewedClock(worker)), "worker")
        await node.start()
        try:
            yield gateway
        finally:
            await node.stop()
            await db.close()


@pytest.mark.parametrize(("api", "worker"), [(SKEW, 0.0), (-SKEW, 0.0), (0.0, SKEW), (0.0, -SKEW)])
async def test_a_first_message_leaves_at_once_with_either_clock_ahead(
    parted_database_url: str, receiver: Receiver, api: float, worker: float
) -> None:
    async with two_nodes(parted_database_url, api, worker) as gateway:
        await gateway.call("POST", "/api/v1/webhooks", {"url": receiver.url + "/hook"})
        await gateway.until_status(await gateway.send(**TEXT), "READ")
        await receiver.wait_for(1)


@pytest.mark.parametrize("ahead", [SKEW, -SKEW])
async def test_a_scheduled_message_leaves_at_its_time(parted_database_url: str, ahead: float) -> None:
    async with two_nodes(parted_database_url, ahead, -ahead) as gateway:
        for seconds in (1, 10, 60):  # later only where a full machine takes longer to accept it
            at = (await read_time(gateway.db, SystemClock().now))[1] + timedelta(seconds=seconds)
            answer = await gateway.call("POST", "/api/v1/message/send", TEXT | {"send_at": at.isoformat()})
            if answer.status == 200:
                break
        await gateway.until_status(answer.json()["data"]["key"]["id"], "READ")
        [entry] = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        assert datetime.now(UTC) >= at, entry


async def test_a_message_shows_the_time_of_the_database(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, clock=DatabaseClock(SkewedClock(SKEW))) as gateway:
        sent = (await gateway.call("POST", "/api/v1/message/send", TEXT)).json()["data"]["key"]["id"]
        shown = (await gateway.call("GET", f"/api/v1/messages/{sent}")).json()["data"]["created_at"]
        assert abs(datetime.fromisoformat(shown) - datetime.now(UTC)) < timedelta(seconds=SKEW / 2)


async def test_a_clock_that_jumps_is_brought_back(parted_database_url: str) -> None:
    db = await Database.connect(parted_database_url, connections=1)
    local = SkewedClock(0)
    clock = DatabaseClock(local)
    for ahead in (0.0, 3600.0, -3600.0):
        local._ahead = timedelta(seconds=ahead)
        await follow_database(db, clock)
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=1800)
    await db.close()


# -- the rule ----------------------------------------------------------------------------------------------------------


def test_what_lies_within_the_question_changes_nothing() -> None:
    clock = DatabaseClock(MovableClock(NOON))
    assert not clock.correct(NOON, NOON + timedelta(milliseconds=3), NOON + timedelta(milliseconds=5))
    assert clock.now() == NOON
    assert clock.correct(NOON, NOON + timedelta(seconds=20), NOON + timedelta(milliseconds=4))
    assert clock.now() == NOON + timedelta(seconds=20, milliseconds=-2)


def test_a_local_clock_that_went_back_meanwhile_says_nothing() -> None:
    clock = DatabaseClock(MovableClock(NOON))
    assert not clock.correct(NOON, NOON + timedelta(seconds=20), NOON - timedelta(seconds=1))
    assert clock.offset == timedelta(0)


@given(st.floats(-1e6, 1e6), st.floats(0, 5), st.floats(0, 5))
def test_it_is_never_further_off_than_the_question_took(skew: float, there: float, back: float) -> None:
    clock = DatabaseClock(MovableClock(NOON))
    shown = NOON + timedelta(seconds=skew + there)
    clock.correct(NOON, shown, NOON + timedelta(seconds=there + back))
    assert abs((clock.offset - timedelta(seconds=skew)).total_seconds()) <= there + back + 1e-3
    assert clock.monotonic() == NOON.timestamp()


async def test_the_clock_is_followed_all_the_time(parted_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.clock_sync._EVERY", 0.02)
    local = SkewedClock(0)
    async with running_gateway(parted_database_url, clock=DatabaseClock(local)) as gateway:
        local._ahead = timedelta(seconds=SKEW)
        async with asyncio.timeout(PATIENCE):
            while abs(gateway.clock.now() - datetime.now(UTC)) > timedelta(seconds=SKEW / 2):
                await asyncio.sleep(0.01)
        await gateway.until_status(await gateway.send(**TEXT), "READ")
