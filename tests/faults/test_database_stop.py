"""The database goes away under a running gateway, and comes back: nothing is promised meanwhile, nothing is lost."""

import asyncio

from gatepost.store.embedded import EmbeddedPostgres
from gatepost.store.migrate import migrate
from tests.conftest import Receiver
from tests.faults.callbacks import post_callback, text
from tests.faults.clients import Clients, Order, plan
from tests.faults.own_server import server
from tests.faults.run_records import check, find_in_doubt, read_records, until_settled
from tests.faults.stage import Stage, running_stage
from tests.patience import PATIENCE

__all__ = ["server"]

HUNG = "5511966660000"


async def test_the_gateway_says_so_and_comes_back_by_itself(server: EmbeddedPostgres, receiver: Receiver) -> None:
    url = await server.start()
    await migrate(url)
    async with running_stage(url, receiver) as stage:
        await stage.create_channel(throughput=60)
        node = await stage.start()
        clients = Clients(stage)
        await clients.send(plan(recipients=5, each=4))
        # A call that hangs for longer than the lease lasts must not keep the gateway from coming back either.
        await stage.sandbox("POST", "/control/faults", {"fault": "accept_hang", "to": HUNG, "seconds": 12, "times": 1})
        await clients.send([[Order(HUNG, 0)]])
        await until_the_network_has(stage, HUNG)
        in_doubt = await find_in_doubt(stage)  # its status may come after the time for which the gateway waits for one
        await server.stop()
        accepted = dict(clients.accepted_ids)
        late = asyncio.create_task(clients.send([[Order("5511966661111", number) for number in range(3)]]))
        try:
            await expect_no_promises(stage)
            await asyncio.sleep(stage.settings.lease.ttl)
            assert clients.accepted_ids == accepted
            assert set(clients.refused) == {503}
            await server.start()
            async with asyncio.timeout(PATIENCE):
                await until_ready(stage)
                sent = await stage.send(phone="5511966662222", body="Message 0", client_ref="x")
                await stage.until_status(sent, "READ")
            async with asyncio.timeout(PATIENCE):
                await late
        finally:
            late.cancel()
        await until_settled(stage, 25)
        [row] = await stage.rows("SELECT id FROM messages WHERE client_ref = 'x'")
        check(await read_records(stage), clients.accepted_ids | {"x": row["id"].hex.upper()}, in_doubt)
        assert node.alive


async def test_answers_that_come_while_the_database_is_away_are_not_forgotten(
    server: EmbeddedPostgres, receiver: Receiver
) -> None:
    """No status says that the messages were sent, and the lease ends meanwhile: only the gateway knows the answers."""
    url = await server.start()
    await migrate(url)
    async with running_stage(url, receiver, sending__unknown_grace=3) as stage:
        await stage.create_channel(throughput=60)
        await stage.start()
        phones = [f"551196666{number:04}" for number in range(3)]
        for phone in phones:
            await stage.sandbox(
                "POST", "/control/faults", {"fault": "accept_hang", "to": phone, "seconds": 2, "nth": 1}
            )
            await stage.sandbox("POST", "/control/faults", {"fault": "suppress", "to": phone})
        sent = [await stage.send(phone=phone, body="Message 0") for phone in phones]
        for phone in phones:
            await until_the_network_has(stage, phone)
        await server.stop()
        await asyncio.sleep(stage.settings.sending.unknown_grace + 0.5)  # longer than the answers and the lease take
        await server.start()
        for one in sent:
            await stage.until_status(one, "SENT", PATIENCE)
        later = await stage.send(phone="5511966665555", body="Message 0")
        await stage.until_status(later, "READ", PATIENCE)
        assert [len(await stage.ledger("accepted", to=phone)) for phone in phones] == [1, 1, 1]


async def until_the_network_has(stage: Stage, phone: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await stage.ledger("accepted", to=phone):
            await asyncio.sleep(0.01)


async def expect_no_promises(stage: Stage) -> None:
    """Alive, but not ready; and every write is refused in a way that says to come back."""
    send = await stage.call("POST", "/api/v1/message/send", {"phone": "5511966663333", "body": "Hello"})
    assert (send.status, send.json()["error"]["code"]) == (503, "database_unavailable")
    assert send.json()["error"]["retryable"]
    assert int(send.headers["retry-after"]) >= 1
    assert (await post_callback(stage, [text("wamid.late", "5511966664444")])).status == 503
    assert (await stage.call("GET", "/readyz", key="")).status == 503
    assert (await stage.call("GET", "/healthz", key="")).status == 200


async def until_ready(stage: Stage) -> None:
    while (await stage.call("GET", "/readyz", key="")).status != 200:
        await asyncio.sleep(0.05)
