"""The SDK's own client over `gatepost mcp`, in both eras, against a running gateway."""

import sys
from pathlib import Path

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from gatepost.model import ids
from gatepost.store.mcp.calls import list_calls
from tests.mcp.assistant import ERAS, Assistant, channel_of, mcp_key
from tests.running_gateway import Gateway


@pytest.mark.parametrize("era", ERAS)
async def test_tools_over_stdin_and_stdout(gateway: Gateway, tmp_path: Path, era: str) -> None:
    environment = {"GATEPOST_KEY": await mcp_key(gateway), "GATEPOST_URL": gateway.url}
    server = StdioServerParameters(command=sys.executable, args=["-m", "gatepost.cli", "mcp"], env=environment)
    with (tmp_path / "stderr").open("w+") as errors:
        async with Client(stdio_client(server, errlog=errors), mode=era) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert {"find_conversations", "get_channel"} <= set(tools)
            asked = Assistant(client)
            found = []
            async with anyio.create_task_group() as group:

                async def ask() -> None:
                    found.append(await asked.ask("get_channel"))

                for _ in range(10):
                    group.start_soon(ask)
            assert len(found) == 10
            error = await asked.fail("read_conversation", conversation="cv_" + ids.ZERO.hex)
            assert error["code"] == "not_found"
        errors.seek(0)
        assert errors.read() == ""
    calls = await list_calls(gateway.db, channel_of(gateway), before=None, limit=20)
    assert len(calls) == 11
    assert {call.transport for call in calls} == {"stdio"}
    assert len({call.client for call in calls}) == 1
