"""The MCP Inspector's command line, a client of others, lists and calls tools: by HTTP and by `gatepost mcp`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.mcp.assistant import mcp_key, write
from tests.node import NODE, environment, installed
from tests.running_gateway import Gateway

CALL = ("--method", "tools/call", "--tool-name", "find_conversations", "--tool-args-json", '{"unread": true}')


async def test_it_lists_and_calls_tools(gateway: Gateway, tmp_path: Path) -> None:
    conversation, key = await write(gateway, "Is my order ready?"), await mcp_key(gateway)
    http = [f"{gateway.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {key}"]
    stdio = ["-e", f"GATEPOST_KEY={key}", "-e", f"GATEPOST_URL={gateway.url}", sys.executable, "-m", "gatepost.cli"]
    stdio += ["mcp", "--transport", "stdio"]
    runs = [
        inspect(tmp_path, *target, "--protocol-era", era, *asked)
        for target in (http, stdio)
        for era in ("legacy", "modern")
        for asked in (("--method", "tools/list", "--strict"), CALL)
    ]
    answers = await asyncio.gather(*runs)
    for listed, called in zip(answers[::2], answers[1::2], strict=True):
        assert {"find_conversations", "read_conversation"} <= {tool["name"] for tool in listed["tools"]}
        assert not called.get("isError")
        assert [one["id"] for one in called["structuredContent"]["conversations"]] == [conversation]
    code, text = await run(tmp_path, *http[:-1], "Authorization: Bearer gpk_wrong", *CALL)
    assert code != 0
    assert "auth_required" in text


async def inspect(folder: Path, *arguments: str) -> Any:
    """Run the Inspector, which has to succeed; return the result."""
    code, text = await run(folder, *arguments)
    assert code == 0, text
    result = msgspec.json.decode(text)
    return result.get("result", result)


async def run(folder: Path, *arguments: str) -> tuple[int | None, str]:
    """Run the Inspector; return its exit code, and its output or errors."""
    package = installed("mcp-inspector") / "node_modules" / "@modelcontextprotocol" / "inspector"
    program = package / "clients" / "launcher" / "build" / "index.js"
    pipe, home = asyncio.subprocess.PIPE, {"HOME": str(folder)}
    running = await asyncio.create_subprocess_exec(
        *(str(NODE), str(program), "--cli", *arguments, "--format", "json", "--quiet"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        env=environment() | home,
    )
    out, errors = await running.communicate()
    return running.returncode, (out or errors).decode()
