"""The SDK is loaded by the first call, never at the start."""

import subprocess
import sys

START = """
import sys, gatepost.app, gatepost.cli.root
from gatepost.api.app import make_router
make_router(1_000_000, False, figures=True)
print(*sorted({"mcp", "mcp_types", "httpx2", "sse_starlette"} & set(sys.modules)))
"""


def test_a_start_does_not_load_it() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
