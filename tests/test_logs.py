"""The log of an error shows where it happened, and never the values of variables."""

import subprocess
import sys

import pytest

from tests.patience import PATIENCE

_PROGRAM = """
import structlog
from gatepost.{module} import {name} as set_up

def fail(authorization):
    raise ValueError("broken")

set_up{arguments}
try:
    fail("Bearer gpk_s3cret")
except ValueError as error:
    structlog.get_logger("test").error("request failed", exc_info=error)
"""


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("logs", "configure_logs", ("info", "console")),
        ("logs", "configure_logs", ("info", "json")),
        ("cli.output", "_log_to_stderr", ()),
    ],
)
def test_a_traceback_shows_no_variables(module: str, name: str, arguments: tuple[str, ...]) -> None:
    program = _PROGRAM.format(module=module, name=name, arguments=arguments).replace("gpk_s3cret", '" + "gpk_s3cret')
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "request failed" in done.stderr
    assert "ValueError: broken" in done.stderr
    assert "gpk_s3cret" not in done.stderr.replace('" + "gpk_s3cret', "")
