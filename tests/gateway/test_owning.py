"""Who sends, and what first: chat before bulk, and one node accepting what another sends."""

import gc
from functools import partial
from typing import Any

from gatepost.app import Gatepost
from gatepost.clock import SystemClock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.owned_channel import OwnedChannel
from gatepost.store.channel_head import Lease
from gatepost.store.endpoints import list_delivering
from gatepost.store.pool import Database
from tests.conftest import Receiver, serve_app
from tests.gateway.checks import SEND, TEXT, check_refused, until
from tests.gateway.test_batch import BATCH
from tests.running_gateway import FAST_NETWORK, Gateway, running_gateway


async def _order_of_arrival(gateway: Gateway, count: int) -> list[str]:
    async def arrived() -> list[str] | None:
        entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        return [entry["content"]["body"] for entry in entries] if len(entries) == count else None

    found: list[str] = await until(arrived)
    return found


async def test_chat_goes_ahead_of_a_campaign(gateway: Gateway) -> None:
    slow = FAST_NETWORK | {"throughput": 20}
    channel = await gateway.new_channel(gateway.account_id, "15550004444", "100000000000004", slow)
    gateway.key = await gateway.new_key(channel.id)
    campaign = [{"phone": f"55119000000{number:02}", "body": "Campaign", "priority": "bulk"} for number in range(40)]
    assert (await gateway.call("POST", BATCH, {"messages": campaign})).status == 200
    await gateway.send(phone="5511999998888", body="Reply")
    gone = (await gateway.sandbox("GET", "/control/ledger/summary"))["total"].get("accepted", 0)
    arrived = await _order_of_arrival(gateway, 41)
    assert gone < 30
    assert arrived.index("Reply") <= gone + 4


async def test_messages_to_one_person_keep_their_order(gateway: Gateway) -> None:
    for number in range(10):
        await gateway.send(phone="5511999998888", body=f"Line {number}")
    assert await _order_of_arrival(gateway, 10) == [f"Line {number}" for number in range(10)]


async def test_one_node_accepts_and_another_sends(parted_database_url: str, receiver: Receiver) -> None:
    async with running_gateway(parted_database_url, role="api", lease__sweep=3600) as gateway:
        waiting = await gateway.send(**TEXT)
        assert (await gateway.call("GET", "/readyz", key="")).status == 200
        db = await Database.connect(parted_database_url, connections=4)
        worker = Gatepost(gateway.settings, db, parted_database_url, SystemClock(), "worker")
        await worker.start()
        try:
            await gateway.until_status(waiting, "READ")
            await gateway.call("POST", "/api/v1/webhooks", {"url": receiver.url + "/hook"})
            message_id = await gateway.send(**TEXT)
            await gateway.until_status(message_id, "READ")  # by a notification: the next sweep is an hour away
            await receiver.wait_for(4)
        finally:
            await worker.stop()
            await db.close()


async def test_a_worker_answers_for_its_health_only(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url) as gateway:
        db = await Database.connect(parted_database_url, connections=2)
        worker = Gatepost(gateway.settings, db, parted_database_url, SystemClock(), "worker")
        await worker.start()
        try:
            async with serve_app(worker.web) as url:
                assert (await gateway.call("GET", url + "/healthz", key="")).status == 200
                assert (await gateway.call("GET", url + "/readyz", key="")).status == 200
                check_refused(await gateway.call("POST", url + SEND, TEXT), 404, "not_found")
        finally:
            await worker.stop()
            await db.close()


async def test_a_cancel_on_one_node_frees_the_conversation_on_another(parted_database_url: str) -> None:
    slow: dict[str, Any] = {"sending__retry_base": 600, "sending__retry_most": 600, "lease__sweep": 600}
    async with running_gateway(parted_database_url, role="api", **slow) as gateway:
        await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 131000, "times": 1})
        first = await gateway.send(**TEXT)
        db = await Database.connect(parted_database_url, connections=4)
        worker = Gatepost(gateway.settings, db, parted_database_url, SystemClock(), "worker")
        await worker.start()
        try:

            async def backed_off() -> bool:
                found = (await gateway.call("GET", f"/api/v1/messages/{first}")).json()["data"]
                return bool(found["waiting"]["rule"] == "retry")

            await until(backed_off)
            second = await gateway.send(**TEXT)
            waiting = (await gateway.call("GET", f"/api/v1/messages/{second}")).json()["data"]["waiting"]
            assert (waiting["rule"], waiting["message_id"]) == ("retry", first)
            assert (await gateway.call("POST", f"/api/v1/messages/{first}/cancel")).status == 200
            await gateway.until_status(second, "READ")
        finally:
            await worker.stop()
            await db.close()


async def test_what_changed_while_no_notification_came_is_read_afterwards(
    parted_database_url: str, receiver: Receiver
) -> None:
    async with running_gateway(parted_database_url, role="api", lease__sweep=3600) as gateway:
        await gateway.call("POST", "/api/v1/webhooks", {"url": receiver.url + "/old"})
        waiting = await gateway.send(**TEXT)
        db = await Database.connect(parted_database_url, connections=4)
        worker = Gatepost(gateway.settings, db, parted_database_url, SystemClock(), "worker")
        await worker.start()
        try:
            await gateway.until_status(waiting, "READ")
            await receiver.wait_for(4)
            assert worker._owner is not None
            (owned,) = worker._owner._owned.values()

            async def quiet() -> bool:
                return owned._refreshing is None or owned._refreshing.done()

            await until(quiet)
            await gateway.db.execute("UPDATE endpoints SET url = $1", receiver.url + "/new")
            await gateway.db.execute(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND query LIKE 'LISTEN%'"""
            )

            async def followed() -> bool:
                (deliverer,) = owned._deliverers.values()
                return deliverer.target.url.endswith("/new")

            await until(followed)
        finally:
            await worker.stop()
            await db.close()


async def test_a_linked_channel_that_is_given_away_leaves_nothing_behind(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, role="api") as gateway:
        channel = await gateway.new_qr_channel(gateway.account_id)
        worker = Gatepost(gateway.settings, gateway.db, parted_database_url, SystemClock(), "worker")
        worker._make_owner()
        assert worker._workers is not None
        keepers = worker._workers.keepers
        owned = OwnedChannel(
            gateway.db,
            SystemClock(),
            Lease(channel.id, 1),
            float("inf"),
            GroupedLookup(partial(list_delivering, gateway.db)).find,
        )
        made = await worker._workers.make_workers([owned])
        assert keepers[channel.id] is made[channel.id].keeper
        del owned, made
        gc.collect()
        assert not keepers
        await worker.stop()
