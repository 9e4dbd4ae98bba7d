"""The SDK is loaded by the first request that needs it: never at the start, and not for plain calls of tools."""

import subprocess
import sys

START = """
import sys, gatepost.app, gatepost.cli.root
from gatepost.api.app import make_router
make_router(1_000_000, False, figures=True)
started = set(sys.modules)
print(*sorted({"gatepost.mcp.calls", "gatepost.mcp.plain_calls", "gatepost.mcp.sdk_server"} & started))
import gatepost.mcp.plain_calls
print(*sorted({"mcp", "mcp_types", "httpx2", "sse_starlette"} & set(sys.modules)))
"""


def test_a_start_and_plain_calls_do_not_load_it() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
