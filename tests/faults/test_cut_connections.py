"""Every connection to the database is cut, again and again, under load: each loss is a 503, and nothing is lost."""

import asyncio

import asyncpg

from tests.conftest import Receiver
from tests.faults.clients import Clients, plan
from tests.faults.run_records import check, find_in_doubt, read_records, until_settled
from tests.faults.stage import Stage, running_stage
from tests.thorough import choose

CUTS = choose(40, 15)
ASKED = ("/api/v1/messages", "/api/v1/conversations", "/api/v1/channel", "/api/v1/webhooks", "/api/v1/usage")


class Cutter:
    """Cuts all connections of the gateway's database but the test's own, and every fifth time only cancels."""

    def __init__(self, stage: Stage, url: str) -> None:
        self._stage = stage
        self._url = url
        self.doubted: set[str] = set()

    async def run(self) -> None:
        conn = await asyncpg.connect(self._url)
        try:
            for number in range(CUTS):
                await asyncio.sleep(0.06)
                how = "pg_cancel_backend" if number % 5 == 4 else "pg_terminate_backend"
                await conn.execute(
                    f"""SELECT {how}(pid) FROM pg_stat_activity WHERE datname = current_database()
                        AND pid <> pg_backend_pid() AND application_name = 'gatepost'"""
                )
                rows = await conn.fetch("SELECT id FROM messages WHERE state = 1")
                self.doubted |= {row["id"].hex for row in rows}
        finally:
            await conn.close()


async def test_a_lost_connection_is_an_outage_and_nothing_else(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, lease__ttl=4, lease__renew=0.5) as stage:
        await stage.create_channel(throughput=200)
        node = await stage.start()
        clients, cutter = Clients(stage), Cutter(stage, database_url)
        asked: list[int] = []
        asking = asyncio.create_task(ask_on(stage, asked))
        cutting = asyncio.create_task(cutter.run())
        sent = 0
        while not cutting.done():
            await clients.send([line[sent : sent + 3] for line in plan(recipients=12, each=sent + 3)])
            sent += 3
        asking.cancel()
        await cutting
        await until_settled(stage, 12 * sent)
        assert set(asked) == {200, 503}
        assert set(clients.refused) <= {409, 503}
        records = await read_records(stage)
        assert {row["http_status"] for row in records.callbacks} <= {200, 503, None}
        check(records, clients.accepted_ids, cutter.doubted | await find_in_doubt(stage))
        lines = [line for line in node.log_lines() if line.get("level") in ("error", "critical", "raw")]
        assert lines == []
        assert (await stage.call("GET", "/readyz", key="")).status == 200
        assert await node.stop() == 0


async def ask_on(stage: Stage, asked: list[int]) -> None:
    while True:
        for path in ASKED:
            asked.append((await stage.call("GET", path)).status)
            await asyncio.sleep(0.005)
