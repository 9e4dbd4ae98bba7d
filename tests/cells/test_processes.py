"""Several processes with several cells: each process opens every cell."""

from collections import Counter
from datetime import UTC, datetime

from gatepost.admin import accounts, channels, keys
from gatepost.store.pool import Database
from tests.conftest import Receiver
from tests.faults.stage import running_stage
from tests.processes.running_processes import running_processes

NEW_CONNECTION = {"Connection": "close"}
REQUESTS = 20


async def test_every_process_serves_every_cell(urls: dict[str, str], receiver: Receiver) -> None:
    west = await Database.connect(urls["west"], connections=2)
    async with running_stage(urls["main"], receiver) as stage:
        await stage.create_channel()
        async with running_processes(stage, cells__west=urls["west"]) as gateway:
            now = datetime.now(UTC)
            plans = stage.settings.plans
            account = await accounts.create_account(west, "West", "unlimited", plans=plans, trial_days=14, now=now)
            channel = await channels.create_qr(west, account.id, phone="15550007777", name="West", limits={}, now=now)
            key = (await keys.create_key(west, channel.id, "test", now=now)).text
            for credential, phone in ((stage.key, "15550001111"), (key, "15550007777")):
                answers = [
                    await stage.call("GET", "/api/v1/channel", key=credential, headers=NEW_CONNECTION)
                    for _ in range(REQUESTS)
                ]
                assert {answer.json()["data"]["phone"] for answer in answers} == {phone}
                assert len(Counter(answer.headers["x-request-id"][:20] for answer in answers)) == 2
            owners = gateway.lines("owner started")
            assert Counter((line["process"], line["cell"]) for line in owners) == {
                (process, cell): 1 for process in (1, 2) for cell in ("main", "west")
            }
            metrics = await gateway.metrics()
            assert metrics['gatepost_cell_up{cell="west"}'] == metrics['gatepost_cell_up{cell="main"}'] == 1
            assert metrics["gatepost_processes"] == 2
    await west.close()
