"""What goes wrong with ownership: a failed renewal, a dead owner, a loop that ends, and a stop that cannot be clean."""

import asyncio
import shutil
import signal
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from gatepost.store.embedded import EmbeddedPostgres
from gatepost.store.migrate import migrate
from tests.conftest import Answer, Received, Receiver, scratch_folder
from tests.faults.stage import METRICS_TOKEN, Node, Stage, running_stage
from tests.patience import PATIENCE
from tests.thorough import rotated

PHONE = "5511955550000"
_WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
_RENEWING = """SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
               AND query LIKE 'SELECT channel_id FROM channel_heads WHERE owner%'"""


async def send_and_see(stage: Stage) -> None:
    await stage.until_status(await stage.send(phone=PHONE, body="Message 0"), "READ", PATIENCE)


async def expiry(stage: Stage) -> Any:
    [row] = await stage.rows(
        "SELECT owner, epoch, expires_at FROM channel_heads WHERE channel_id = $1", stage.channel_id
    )
    return row


async def until_said(node: Node, event: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            for line in node.log_lines():
                if line["event"] == event:
                    return line
            await asyncio.sleep(0.05)


async def counted(stage: Stage, url: str, event: str) -> float:
    """How often a node has counted it."""
    text = (await stage.call("GET", url + "/metrics", key=METRICS_TOKEN)).body.decode()
    [line] = [line for line in text.splitlines() if line.startswith(f'gatepost_lease_events_total{{event="{event}"}}')]
    return float(line.split()[-1])


async def cancel_a_renewal(url: str, channel_id: Any) -> None:
    """Cancels one renewal statement, as an administrator or a timeout would, while it waits for the channel's row."""
    blocker, admin = await asyncpg.connect(url), await asyncpg.connect(url)
    try:
        async with asyncio.timeout(PATIENCE), blocker.transaction():
            await blocker.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", channel_id)
            while not (waiting := await admin.fetch(_RENEWING)):
                await asyncio.sleep(0.01)
            for row in waiting:
                await admin.execute("SELECT pg_cancel_backend($1)", row["pid"])
    finally:
        await blocker.close()
        await admin.close()


async def test_an_owner_outlives_a_renewal_that_fails(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, lease__ttl=4, lease__renew=0.4) as stage:
        await stage.create_channel()
        node = await stage.start()
        await send_and_see(stage)
        before = await expiry(stage)
        await cancel_a_renewal(database_url, stage.channel_id)
        line = await until_said(node, "lease renewal failed")
        assert "canceling statement" in line["cause"]
        async with asyncio.timeout(PATIENCE):  # longer than the lease lasts: it is renewed again
            while (after := await expiry(stage))["expires_at"] - before["expires_at"] < timedelta(seconds=5):
                await asyncio.sleep(0.05)
        assert (after["owner"], after["epoch"]) == (before["owner"], before["epoch"])
        assert (await stage.call("GET", "/readyz", key="")).status == 200
        await send_and_see(stage)
        assert await counted(stage, stage.url, "renewal_failed") >= 1
        assert await counted(stage, stage.url, "dropped") == 0


async def test_a_take_over_is_logged_and_counted(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        first = await stage.start()
        await send_and_see(stage)
        dead = (await until_said(first, "owner started"))["owner"]
        await first.kill()
        second = await stage.start()
        await send_and_see(stage)
        line = await until_said(second, "channel taken over")
        assert (line["level"], line["previous_owner"], line["channel"]) == ("warning", dead, stage.channel_id.hex)
        assert await counted(stage, second.url, "taken_over") == 1


@pytest.mark.parametrize("loop", rotated(["lease renewal", "claims", "sweep", "notifications", "housekeeping"], 5))
async def test_a_loop_that_ends_by_mistake_ends_the_process(database_url: str, receiver: Receiver, loop: str) -> None:
    """Its service manager then starts another."""
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        node = await stage.start(point=f"loop:{loop}")
        assert await node.ended(PATIENCE) == 1
        line = await until_said(node, "background loop ended")
        assert (line["level"], line["loop"]) == ("critical", loop)


async def test_a_stop_gives_each_channel_back_as_soon_as_it_is_done(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, server__drain_seconds=300, webhooks__timeout=300) as stage:
        await stage.create_channel()
        second = await stage.add_channel("/quick")  # whose receiver answers
        other = second.id
        receiver.answer = hanging("/hook")
        node = await stage.start()
        await stage.send(phone=PHONE, body="Message 0")
        stage.key = second.key
        await stage.send(phone=PHONE, body="Message 0")
        await until_delivered(stage, other)
        node.signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            while other in await owned(stage):
                await asyncio.sleep(0.02)
        assert await owned(stage) == {stage.channel_id}
        assert node.alive
        receiver.close()  # the hanging ones are answered
        assert await node.ended(PATIENCE) == 0
        assert await owned(stage) == set()


def hanging(path: str) -> Any:
    def answer(request: Received) -> Answer:
        return Answer(delay=600.0 if request.path == path else 0.0)

    return answer


async def owned(stage: Stage) -> set[Any]:
    return {
        row["channel_id"] for row in await stage.rows("SELECT channel_id FROM channel_heads WHERE owner IS NOT NULL")
    }


async def until_delivered(stage: Stage, channel_id: Any) -> None:
    """The quick receiver has all, and the other one hangs."""
    left = "SELECT count(*) AS n FROM deliveries WHERE channel_id = $1 AND state = 0"
    sent = "SELECT count(*) AS n FROM messages WHERE channel_id = $1 AND state >= 2"
    async with asyncio.timeout(PATIENCE):
        while not (
            {request.path for request in stage.receiver.requests} == {"/hook", "/quick"}
            and (await stage.rows(sent, channel_id))[0]["n"] == 1
            and (await stage.rows(left, channel_id))[0]["n"] == 0
        ):
            await asyncio.sleep(0.02)


async def test_a_request_that_a_stop_cuts_short_is_to_be_repeated(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, server__drain_seconds=1) as stage:
        await stage.create_channel()
        node = await stage.start(role="api")
        blocker = await asyncpg.connect(database_url)
        known, new, label = {"phone": PHONE, "body": "1"}, {"phone": PHONE + "0", "body": "1"}, {"name": "VIP"}
        assert (await stage.call("POST", "/api/v1/message/send", known)).status == 200
        try:
            async with blocker.transaction():
                await blocker.execute("LOCK TABLE channel_heads, labels")
                asked = [
                    asyncio.create_task(stage.call("POST", path, body))
                    for path, body in (
                        ("/api/v1/message/send", known),
                        ("/api/v1/message/send", new),
                        ("/api/v1/labels", label),
                    )
                ]
                async with asyncio.timeout(PATIENCE):
                    while len(await stage.rows(_WAITING)) < len(asked):
                        await asyncio.sleep(0.02)
                node.signal(signal.SIGTERM)
                answers = [await one for one in asked]
        finally:
            await blocker.close()
        for answer in answers:
            assert answer.status == 503, answer.body
            assert answer.json()["message"].startswith("The gateway is stopping")
            assert (answer.json()["error"]["code"], answer.headers["retry-after"]) == ("overloaded", "1")
        assert await node.ended() == 0
        assert not [line for line in node.log_lines() if "Traceback" in str(line)]


async def test_a_stop_without_a_database_is_clean(receiver: Receiver) -> None:
    data = scratch_folder()
    server = EmbeddedPostgres(data)
    try:
        url = await server.start()
        await migrate(url)
        async with running_stage(url, receiver) as stage:
            await stage.create_channel()
            node = await stage.start()
            await send_and_see(stage)
            await server.stop()
            assert await node.stop() == 0
            assert not [line for line in node.log_lines() if line.get("level") in ("error", "critical", "raw")]
    finally:
        await server.stop()
        shutil.rmtree(data)
