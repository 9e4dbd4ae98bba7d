"""The log of deliveries on the command line: looked at, retried, recovered."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from gatepost.channel_task import ChannelContext
from gatepost.clock import SystemClock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.services.recoveries import RecoveryTask
from gatepost.store.deliveries.recover import open_recoveries
from gatepost.store.leases import claim_channel
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.cli.conftest import Run
from tests.conftest import run_apart
from tests.patience import PATIENCE
from tests.store import delivery_rows

NOW = datetime.now(UTC)


class Scene:
    """A channel with a webhook, and three events: one given up, one delivered, one that it never received."""

    def __init__(self, url: str, channel: str, hook: str) -> None:
        self._url = url
        self.channel_id, self.hook_id = _id("ch", channel), _id("we", hook)
        self.channel, self.hook = channel, hook
        self.events: list[UUID] = self.run(self._fill)

    def run(self, work: Any) -> Any:
        async def inside() -> Any:
            db = await Database.connect(self._url, connections=2)
            try:
                return await work(db)
            finally:
                await db.close()

        return run_apart(inside())

    async def _fill(self, db: Database) -> list[UUID]:
        await make_partitions(db, NOW, 7)
        events = await delivery_rows.add_events(db, self.channel_id, 3, start=NOW - timedelta(hours=1))
        await delivery_rows.add_deliveries(db, self.channel_id, self.hook_id, events[:2], [2, 1], attempts=1)
        await delivery_rows.add_attempts(db, self.channel_id, self.hook_id, events[:1], status=503)
        return events

    def delivery(self, number: int) -> str:
        return f"dl_{self.hook_id.hex}{self.events[number].hex}"

    async def own(self, db: Database) -> None:
        """What the channel's owner does in a gateway that runs."""
        lease = await claim_channel(db, self.channel_id, UUID(int=1), 60)
        assert lease
        ref = ChannelRef(ids.format_id("ch", self.channel_id), "official", "15550001111")
        find = GroupedLookup(partial(open_recoveries, db)).find
        task = RecoveryTask(ChannelContext(db, SystemClock(), lease, ref, lambda: True), find)
        async with asyncio.timeout(PATIENCE):
            while "done" not in await task.step():
                await asyncio.sleep(0.05)


def _id(prefix: str, text: str) -> UUID:
    found = ids.parse_id(prefix, text)
    assert found
    return found


@pytest.fixture
def scene(run: Run, channel: str, database_url: str) -> Scene:
    """Give the scene."""
    made = run("webhook", "create", channel, "https://example.com/hooks", "--json").json()
    return Scene(database_url, channel, made["id"])


def test_deliveries_are_listed_and_shown(run: Run, scene: Scene) -> None:
    found = run("webhook", "deliveries", scene.hook, "--json").json()
    assert [(one["id"], one["status"]) for one in found] == [
        (scene.delivery(1), "delivered"),
        (scene.delivery(0), "exhausted"),
    ]
    given_up = run("webhook", "deliveries", scene.hook, "--status", "exhausted", "--json").json()
    assert [one["id"] for one in given_up] == [scene.delivery(0)]
    assert len(run("webhook", "deliveries", scene.hook, "--limit", "1", "--json").json()) == 1
    assert run("webhook", "deliveries", scene.hook, "--to", "2026-01-01", "--json").json() == []
    table = run("webhook", "deliveries", scene.hook).out
    assert scene.delivery(0) in table
    assert "The endpoint answered 503" in table
    whole = run("webhook", "delivery", scene.delivery(0), "--json").json()
    assert [attempt["status"] for attempt in whole["attempts"]] == [503]
    for wrong, field in ((["--status", "lost"], "status"), (["--type", "x"], "type"), (["--tz", "Moon"], "tz")):
        told_ = run("webhook", "deliveries", scene.hook, *wrong, "--json").error()
        assert told_["fields"][0]["field"] == field
    assert run("webhook", "delivery", "dl_1", "--json").error()["fields"][0]["field"] == "delivery"
    run("webhook", "delete", scene.hook, "--json")
    assert run("webhook", "deliveries", scene.hook, "--json").error()["code"] == "not_found"
    kept = run("webhook", "deliveries", scene.hook, "--channel", scene.channel, "--json").json()
    assert {one["endpoint"]["state"] for one in kept} == {"deleted"}
    assert run("webhook", "delivery", scene.delivery(0), "--channel", scene.channel, "--json").json()["attempts"]


def test_deliveries_are_retried(run: Run, scene: Scene) -> None:
    done = run("webhook", "retry", scene.delivery(0), scene.delivery(2), "--json").json()
    assert [(one["id"], one["retried"]) for one in done] == [(scene.delivery(0), True), (scene.delivery(2), False)]
    assert "no such delivery" in done[1]["reason"]
    (first,) = run("webhook", "deliveries", scene.hook, "--status", "pending", "--json").json()
    assert first["id"] == scene.delivery(0)
    run("webhook", "change", scene.hook, "--state", "disabled")
    assert "Enable it first" in run("webhook", "retry", scene.delivery(0), "--json").json()[0]["reason"]


def test_what_was_missed_is_recovered(run: Run, scene: Scene) -> None:
    begun = json.loads(run("webhook", "recover", scene.hook, "--since", "2h", "--json").out)
    assert (begun["status"], begun["progress"], begun["recovered"]) == ("running", 0.0, 0)
    assert run("webhook", "recover", scene.hook, "--since", "2h", "--json").error()["code"] == "wrong_state"
    scene.run(scene.own)
    wrong = run("webhook", "recover", scene.hook, "--since", "later", "--json").error()
    assert wrong["fields"][0]["field"] == "since"
    pending = run("webhook", "deliveries", scene.hook, "--status", "pending", "--json").json()
    assert {one["id"] for one in pending} == {scene.delivery(0), scene.delivery(2)}


def test_it_waits_until_all_is_done(run: Run, scene: Scene) -> None:
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(scene.run, scene.own)
        ran = run("webhook", "recover", scene.hook, "--since", "2h", "--statuses", "delivered,missing", "--wait")
        working.result()
    assert ran.code == 0
    assert ran.out.splitlines()[-1].endswith("100%  2 events to be delivered again. Done.")
