"""A client that cancels a call under way over HTTP: it is finished and recorded once, and a repetition says so."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from gatepost.model.mcp_policy import Policy
from gatepost.store.mcp.calls import CallRow, list_calls
from tests.gateway.checks import until
from tests.mcp.assistant import ERAS, Assistant, assistant, channel_of, mcp_key, set_policy, write
from tests.running_gateway import Gateway

SEND = Policy(mode="send", no_crossing=False, unanswered=100, sends_per_conversation=100)


@asynccontextmanager
async def calls_held(gateway: Gateway) -> AsyncIterator[None]:
    """Keep calls from being recorded, so that each one is under way until the end of the block."""
    async with gateway.db.transaction() as conn:
        await conn.execute("LOCK TABLE mcp_calls IN EXCLUSIVE MODE")
        yield


async def waiting(gateway: Gateway) -> bool:
    """Whether a call waits to be recorded."""
    held = "SELECT count(*) FROM pg_locks WHERE relation = 'mcp_calls'::regclass AND NOT granted"
    return bool(await gateway.db.fetchval(held))


async def cancel_under_way(gateway: Gateway, mine: Assistant, tool: str, **arguments: str) -> None:
    """Begin a call, and cancel it when the gateway has almost finished it."""
    async with calls_held(gateway), anyio.create_task_group() as group:
        group.start_soon(mine.client.call_tool, tool, arguments)
        await until(lambda: waiting(gateway))
        group.cancel_scope.cancel()


async def newest(gateway: Gateway, count: int) -> CallRow:
    """Return the last call, when so many are recorded."""

    async def recorded() -> list[CallRow]:
        found = await list_calls(gateway.db, channel_of(gateway), before=None, limit=100)
        return found if len(found) == count else []

    found: list[CallRow] = await until(recorded)
    return found[0]


async def test_a_cancelled_call_is_finished_and_recorded_once(gateway: Gateway) -> None:
    conversation, count = await write(gateway, "Hi"), 0
    for era in ERAS:
        key = await mcp_key(gateway)
        await set_policy(gateway, key, SEND)
        async with assistant(gateway, key, era) as mine:
            await cancel_under_way(gateway, mine, "read_conversation", conversation=conversation)
            last = await newest(gateway, count + 1)
            assert (last.tool, last.outcome) == ("read_conversation", "done"), era
            await cancel_under_way(gateway, mine, "send_text", conversation=conversation, text=era)
            last = await newest(gateway, count + 2)
            assert (last.tool, last.outcome) == ("send_text", "sent"), era
            again = await mine.ask("send_text", conversation=conversation, text=era)
            assert (again["repeated"], [again["message"]]) == (True, list(last.ids)), era
            shown = await mine.ask("read_conversation", conversation=conversation, limit=1)
            assert shown["messages"][0]["id"] == again["message"], era
            count += 4
    accepted: list[str] = []

    async def all_sent() -> bool:
        entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        accepted[:] = [entry["content"]["body"] for entry in entries]
        return len(accepted) >= len(ERAS)

    await until(all_sent)
    assert sorted(accepted) == sorted(ERAS)
