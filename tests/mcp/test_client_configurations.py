"""Each configuration of the page about AI assistants is used as it is written there: its address, headers, command."""

import asyncio
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.assistant import mcp_key, write
from tests.running_gateway import Gateway

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-an-ai-assistant.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WRITTEN_KEYS = ("gpk_…", "${GATEPOST_KEY}", "${env:GATEPOST_KEY}", "${input:gatepost-key}")


def blocks(heading: str, gateway: Gateway, key: str) -> dict[str, str]:
    """Return the code of a section by its language, with the address and the key that a reader would put in."""
    section = re.split(r"^#+ ", PAGE.read_text().partition(f"\n### {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    found = {}
    for language, written_code in BLOCK.findall(section):
        assert "http://127.0.0.1:8080" in written_code, (heading, written_code)
        code = written_code.replace("http://127.0.0.1:8080", gateway.url)
        for written in WRITTEN_KEYS:
            code = code.replace(written, key)
        found[language] = code
    assert found, heading
    return found


def server(text: str) -> Any:
    """Return the only server of a configuration."""
    [(_, one)] = next(found for name, found in msgspec.json.decode(text).items() if "erver" in name).items()
    return one


async def by_http(url: str, headers: Mapping[str, str]) -> list[str]:
    """Connect as a client with this configuration does. Return the names of the tools."""
    http = httpx2.AsyncClient(headers=dict(headers), timeout=60, trust_env=False)
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def by_command(command: str, arguments: list[str], environment: Mapping[str, str]) -> list[str]:
    """Start the command as a client does. Return the names of the tools."""
    program = Path(sys.executable).parent / command  # where `which` finds it after an installation
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    parameters = StdioServerParameters(command=str(program), args=arguments, env=kept | dict(environment))
    async with Client(stdio_client(parameters)) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def test_every_configuration_of_the_page(gateway: Gateway, tmp_path: Path) -> None:
    key = await mcp_key(gateway)
    code = blocks("Claude Code", gateway, key)
    words = shlex.split(code["sh"])
    assert words[:3] == ["claude", "mcp", "add"]
    name, value = words[words.index("--header") + 1].split(": ", 1)
    openai = blocks("OpenAI", gateway, key)
    tool = msgspec.json.decode(openai["json"])
    codex = tomllib.loads(openai["toml"])["mcp_servers"]["gatepost"]
    assert codex["bearer_token_env_var"] == "GATEPOST_KEY"
    http = [
        (next(word for word in words if word.startswith("http:")), {name: value}),
        (tool["server_url"], tool["headers"]),
        (codex["url"], {"Authorization": f"Bearer {key}"}),
    ]
    for text in (code["json"], *(blocks(heading, gateway, key)["json"] for heading in ("Cursor", "VS Code"))):
        one = server(text)
        http.append((one["url"], one["headers"]))
    desktop = server(blocks("Claude Desktop", gateway, key)["json"])
    found = await asyncio.gather(
        *(by_http(url, headers) for url, headers in http),
        by_command(desktop["command"], desktop["args"], desktop["env"]),
    )
    assert len(found) == 7
    assert all("find_conversations" in tools for tools in found)

    conversation = await write(gateway, "Hello")
    program = tmp_path / "program.py"
    program.write_text(blocks("Your own program", gateway, key)["python"])
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, str(program)),
        env=os.environ | {"GATEPOST_KEY": key},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await running.communicate()
    assert running.returncode == 0, errors.decode()
    assert conversation in out.decode()
