"""The official conformance suite for MCP servers, against a running gateway. `conformance.toml` says what must pass."""

import asyncio
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from tests.mcp.assistant import mcp_key
from tests.mcp.forwarders import adding_key
from tests.node import NODE, installed, run_node
from tests.running_gateway import Gateway

REVISIONS = ("2025-11-25", "2026-07-28")
EXPECTED = tomllib.loads((Path(__file__).parent / "conformance.toml").read_text())
PASSED = {"SUCCESS", "INFO", "SKIPPED"}


def suite() -> str:
    """Return the program."""
    package = installed("mcp-conformance") / "node_modules" / "@modelcontextprotocol" / "conformance"
    return str(package / "dist" / "index.js")


def test_every_scenario_is_known(tmp_path: Path) -> None:
    listed = re.findall(r"^  - (\S+) ", run_node([suite(), "list", "--server"], tmp_path), re.MULTILINE)
    assert sorted(listed) == sorted([*EXPECTED["passes"], *EXPECTED["does_not_apply"]])


async def test_the_suite_passes(gateway: Gateway, tmp_path: Path) -> None:
    async with adding_key(gateway.url, await mcp_key(gateway)) as url:
        runs = [run_suite(url, revision, tmp_path / revision) for revision in REVISIONS]
        check_passed([check for checks in await asyncio.gather(*runs) for check in checks])


async def run_suite(url: str, revision: str, folder: Path) -> list[dict[str, Any]]:
    """Run all scenarios of a revision. Return the checks of those that have to pass."""
    arguments = ["server", "--url", f"{url}/mcp", "--suite", "all", "--spec-version", revision, "-o", str(folder)]
    quiet = asyncio.subprocess.DEVNULL
    await (await asyncio.create_subprocess_exec(NODE, suite(), *arguments, stdout=quiet, stderr=quiet)).wait()
    found = []
    for scenario in EXPECTED["passes"]:
        for file in folder.glob(f"server-{scenario}-{revision[:2]}*/checks.json"):
            found += [{**check, "scenario": scenario} for check in msgspec.json.decode(file.read_bytes())]
    return found


def check_passed(checks: list[dict[str, Any]]) -> None:
    """Check that all checks passed, but those that cannot be tested."""
    failed = []
    for check in checks:
        note = check.get("errorMessage", "")
        if check["id"] in EXPECTED["not_testable"]:
            assert note.startswith("Not testable: server does not list the diagnostic tool"), check
        elif check["status"] not in PASSED:
            failed.append(f"{check['scenario']}: {check['id']}: {note}")
    assert not failed, "\n".join(failed)
    assert {check["scenario"] for check in checks} == set(EXPECTED["passes"])
