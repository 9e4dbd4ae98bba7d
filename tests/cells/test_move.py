"""Moving an account to another cell while it is in use: nothing is lost, doubled or out of order."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.admin import account_move, endpoints
from gatepost.admin.account_move import AccountMove, MovedAccount, MovePlace
from gatepost.model.errors import Conflict, NotFound
from gatepost.store.media.objects import ObjectStorage, media_place
from gatepost.store.moves import tables
from gatepost.store.pool import Database
from tests.cells.conftest import Cells, channel_id
from tests.conftest import Receiver
from tests.faults.ledger import RunRecords, compare
from tests.gateway.people import new_person
from tests.patience import patience
from tests.running_gateway import Gateway

PEOPLE = ("5511999990001", "5511999990002", "5511999990003")
OWN = "SELECT count(*) FROM {table} WHERE {column} = $1"


class Killed(BaseException):
    """The end of the process that moves an account."""


def mover(cells: Cells, source: str, target: str, account_id: UUID | None = None) -> AccountMove:
    def place(name: str) -> MovePlace:
        one = cells.of[name]
        objects = ObjectStorage.open(*media_place("", one.settings.data_folder, name))
        return MovePlace(name, cells.urls[name], one.db, objects)

    wanted = account_id or cells.of[source].account_id
    ends = place(source), place(target)
    return AccountMove(wanted, *ends, partition_days=7, shared_devices=False, progress=lambda *_: None)


def moved(cells: Cells, source: str, target: str) -> Gateway:
    """Give the account of a cell as it is seen after its move."""
    one = cells.of[source]
    there = cells.of[target]
    gateway = Gateway(one.url, one.sandbox_url, there.db, one.vault, one.settings, one._client, one.clock)  # noqa: SLF001
    gateway.account_id, gateway.channel, gateway.key = one.account_id, one.channel, one.key
    return gateway


class Clients:
    """Clients who send without a pause, and repeat what was answered with 503."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sending = True
        self.accepted: dict[str, str] = {}
        self.statuses: list[int] = []
        self._tasks = [asyncio.create_task(self._send(person)) for person in PEOPLE]

    async def _send(self, person: str) -> None:
        number = 0
        while self._sending:
            ref = f"{person[-1]}{number:06}"
            body = {"phone": person, "body": ref, "client_ref": ref}
            answer = await self._gateway.call("POST", "/api/v1/message/send", body)
            self.statuses.append(answer.status)
            if answer.status == 200:
                self.accepted[ref] = answer.json()["data"]["key"]["id"]
                number += 1
                await asyncio.sleep(0.05)
            else:
                assert answer.status == 503, answer.body
                assert answer.headers["retry-after"]
                await asyncio.sleep(0.02)

    async def until(self, count: int) -> None:
        """Wait until so many messages were accepted in all."""
        async with patience(lambda: f"{len(self.accepted)} accepted"):
            while len(self.accepted) < count:
                self._check()
                await asyncio.sleep(0.02)

    def _check(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    async def stop(self) -> None:
        self._sending = False
        await asyncio.gather(*self._tasks)


async def read_ledger(gateway: Gateway, kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = await gateway.sandbox("GET", f"/control/ledger?kind={kind}&limit=1000&after={after}")
        entries += page["entries"]
        after = page["next"]
    return entries


async def read_records(gateway: Gateway, receiver: Receiver) -> RunRecords:
    channel, events, after = channel_id(gateway), [], ""
    while page := (await gateway.call("GET", f"/api/v1/events?limit=100{after}")).json():
        if not page["data"]:
            break
        events += page["data"]
        after = f"&after={page['paging']['next']}"
    async with gateway.db.connection() as conn:
        rows = await conn.fetch(
            """SELECT id, state, phone, client_ref, attempt, sending_at FROM messages
               WHERE channel_id = $1 AND NOT incoming ORDER BY id""",
            channel,
        )
        used = await conn.fetchval(
            """SELECT (SELECT coalesce(sum(used), 0) FROM account_usage WHERE account_id = $1)
                      - (SELECT slice_left FROM channel_heads WHERE channel_id = $2)""",
            gateway.account_id,
            channel,
        )
        unsettled = await conn.fetchval("SELECT count(*) FROM deliveries WHERE channel_id = $1 AND state <> 1", channel)
    return RunRecords(
        messages=[dict(row.items()) for row in rows],
        usage=int(used),
        events=events,
        unsettled=unsettled,
        received=receiver.requests,
        accepted=await read_ledger(gateway, "accepted"),
        callbacks=await read_ledger(gateway, "callback"),
    )


async def until_clean(gateway: Gateway, receiver: Receiver, accepted: dict[str, str]) -> None:
    """Wait until the records of the account agree."""
    problems: Any = None
    async with patience(lambda: str(problems)[:2000]):
        while problems := compare(await read_records(gateway, receiver), accepted, ()).problems():
            await asyncio.sleep(0.1)


async def rows_of(db: Database, account_id: UUID, channel: UUID) -> dict[str, int]:
    """Count the rows of an account in a database."""
    found = {}
    for table, column in (tables.STREAMED | tables.DERIVED).items():
        wanted = account_id if column == "account_id" else channel
        found[table] = await db.fetchval(OWN.format(table=table, column=column), wanted)
    found["accounts"] = await db.fetchval("SELECT count(*) FROM accounts WHERE id = $1", account_id)
    found["heads"] = await db.fetchval("SELECT count(*) FROM channel_heads WHERE channel_id = $1", channel)
    found["moves"] = await db.fetchval("SELECT count(*) FROM account_moves")
    return {name: count for name, count in found.items() if count}


async def slots(cells: Cells) -> int:
    return await cells.of["main"].db.fetchval(
        "SELECT count(*) FROM pg_replication_slots WHERE slot_name LIKE 'gatepost%'"
    )  # type: ignore[no-any-return]


async def test_an_account_moves_while_clients_send(cells: Cells, receiver: Receiver) -> None:
    west = cells.of["west"]
    await endpoints.create_endpoint(west.db, west.vault, channel_id(west), receiver.url, now=west.clock.now())
    person = await new_person(west)
    clients = Clients(west)
    await clients.until(30)
    result = await mover(cells, "west", "east").run()
    assert result.rows > 0
    before = len(clients.accepted)
    await clients.until(before + 30)
    await clients.stop()
    there = moved(cells, "west", "east")
    await until_clean(there, receiver, clients.accepted)
    assert await rows_of(west.db, west.account_id, channel_id(west)) == {}
    assert await slots(cells) == 0
    found = await rows_of(there.db, there.account_id, channel_id(there))
    assert found["messages"] == len(clients.accepted)
    assert "moves" not in found
    shown = (await person.call("GET", "/api/v1/account")).json()["data"]  # the session goes on
    assert shown["id"].endswith(west.account_id.hex)
    assert (await person.sign_in()).status == 201
