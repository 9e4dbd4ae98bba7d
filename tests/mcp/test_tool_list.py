"""The list of tools: fixed, small, and without data of customers. A change of it changes the committed file."""

import json
from pathlib import Path

import msgspec
import pytest

from gatepost.mcp.calls import _read_arguments
from gatepost.mcp.registry import Tool
from gatepost.mcp.tools import TOOLS

PINNED = Path(__file__).parent / "tools.json"
LIMIT = 24 * 1024


def encoded() -> bytes:
    return msgspec.json.encode([tool.listed() for tool in TOOLS.values()])


def test_it_is_the_committed_one() -> None:
    """To accept a change: python -m tests.mcp.test_tool_list"""
    assert json.loads(PINNED.read_text()) == json.loads(encoded())


def test_it_is_small() -> None:
    assert len(encoded()) < LIMIT


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_each_tool_is_described(tool: Tool) -> None:
    assert tool.title
    assert tool.description.endswith(".")
    listed = tool.listed()
    assert listed["inputSchema"]["additionalProperties"] is False
    assert listed["outputSchema"]["type"] == "object"
    assert _read_arguments(tool, tool.example) is not None
    assert listed["annotations"]["readOnlyHint"] is tool.hints.read_only


if __name__ == "__main__":
    PINNED.write_text(json.dumps(json.loads(encoded()), indent=1, ensure_ascii=False) + "\n")
