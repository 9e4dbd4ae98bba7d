"""A client that cancels a call under way: it is finished and recorded once, and a repetition says so."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import product

import anyio

from gatepost.model.mcp_policy import Policy
from gatepost.store.mcp.calls import CallRow, list_calls
from tests.gateway.checks import until
from tests.mcp.assistant import ERAS, Assistant, channel_of, mcp_key, set_policy, write
from tests.mcp.forwarders import counting_closed
from tests.mcp.transports import TRANSPORTS, connected
from tests.patience import patience
from tests.running_gateway import Gateway

Closed = Callable[[], int]
CLIENTS = list(product(TRANSPORTS, ERAS))
SEND = Policy(mode="send", no_crossing=False, unanswered=100, sends_per_conversation=100)


@asynccontextmanager
async def calls_held(gateway: Gateway) -> AsyncIterator[None]:
    """Keep calls from being recorded, so that each one is under way until the end of the block."""
    async with gateway.db.transaction() as conn:
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # on a slow machine, calls arrive late
        await conn.execute("LOCK TABLE mcp_calls IN EXCLUSIVE MODE")
        yield


async def waiting(gateway: Gateway) -> bool:
    """Whether a call waits to be recorded. Housekeeping and other databases of the server may wait, too."""
    held = """SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
              WHERE l.relation = 'mcp_calls'::regclass AND NOT l.granted
                AND a.datname = current_database() AND a.query LIKE '%INSERT INTO mcp_calls%'"""
    return bool(await gateway.db.fetchval(held))


async def cancel_under_way(gateway: Gateway, mine: Assistant, closed: Closed | None, tool: str, **given: str) -> None:
    """Begin a call, and cancel it when the gateway has almost finished it; wait until its connection is closed."""
    async with calls_held(gateway):
        async with anyio.create_task_group() as group:
            group.start_soon(mine.client.call_tool, tool, given)
            await until(lambda: waiting(gateway))
            before = closed() if closed else 0
            group.cancel_scope.cancel()
        async with patience(lambda: "the connection is open"):
            while closed and closed() == before:
                await anyio.sleep(0.02)


@asynccontextmanager
async def connected_by(
    gateway: Gateway, key: str, transport: str, era: str
) -> AsyncIterator[tuple[Assistant, Closed | None]]:
    """Connect an assistant; over stdio, by a proxy that counts the connections that `gatepost mcp` has closed."""
    if transport == "http":  # how the SDK cancels there is its own affair
        async with connected(gateway, key, transport, era) as mine:
            yield mine, None
        return
    async with counting_closed(gateway.url) as (url, closed), connected(gateway, key, transport, era, url) as mine:
        yield mine, closed


async def newest(gateway: Gateway, count: int) -> CallRow:
    """Return the last call, when so many are recorded."""

    async def recorded() -> list[CallRow]:
        found = await list_calls(gateway.db, channel_of(gateway), before=None, limit=100)
        return found if len(found) == count else []

    found: list[CallRow] = await until(recorded)
    return found[0]


async def test_a_cancelled_call_is_finished_and_recorded_once(gateway: Gateway) -> None:
    conversation, calls = await write(gateway, "Hi"), 0
    texts = [f"{transport} {era}" for transport, era in CLIENTS]
    for (transport, era), text in zip(CLIENTS, texts, strict=True):
        key = await mcp_key(gateway)
        await set_policy(gateway, key, SEND)
        async with connected_by(gateway, key, transport, era) as (mine, closed):
            await cancel_under_way(gateway, mine, closed, "read_conversation", conversation=conversation)
            last = await newest(gateway, calls + 1)
            assert (last.tool, last.outcome) == ("read_conversation", "done"), text
            await cancel_under_way(gateway, mine, closed, "send_text", conversation=conversation, text=text)
            last = await newest(gateway, calls + 2)
            assert (last.tool, last.outcome) == ("send_text", "sent"), text
            again = await mine.ask("send_text", conversation=conversation, text=text)
            assert (again["repeated"], [again["message"]]) == (True, list(last.ids)), text
            shown = await mine.ask("read_conversation", conversation=conversation, limit=1)
            assert shown["messages"][0]["id"] == again["message"], text
            calls += 4
    accepted: list[str] = []

    async def all_sent() -> bool:
        entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        accepted[:] = [entry["content"]["body"] for entry in entries]
        return len(accepted) >= len(texts)

    await until(all_sent)
    assert sorted(accepted) == sorted(texts)
