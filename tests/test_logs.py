"""The log of an error shows where it happened, and never the values of variables. A log that fails does no harm."""

import json
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


_FOREIGN = """
import structlog
from gatepost.logs import configure_logs

configure_logs("info", "console")
structlog.get_logger("test").info("refused", reason="\\x1b]0;title\\x07 \\x9b31m", code="1\\n[error] forged")
"""


def test_values_cannot_control_a_terminal_or_forge_a_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FOREIGN], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert len(done.stderr.splitlines()) == 1
    assert "\x1b]" not in done.stderr
    assert "\x07" not in done.stderr
    assert "\x9b" not in done.stderr
    assert r"\x1b]0;title\x07" in done.stderr.replace("\\\\", "\\")


_FULL = """
import structlog
from gatepost.logs import configure_logs

configure_logs("info", "json")
for _ in range(1000):
    structlog.get_logger("test").info("a line", text="x" * 100)
print("went on")
"""


def test_work_goes_on_though_the_log_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", _FULL], stdout=subprocess.PIPE, stderr=full, text=True, check=False, timeout=PATIENCE
        )
    assert done.stdout == "went on\n"


_LIBRARY = """
import logging
from gatepost.logs import configure_logs

configure_logs("info", "json")
configure_logs("info", "json", 2)
logging.getLogger("library").info("not worth a line")
try:
    raise ValueError("broken")
except ValueError:
    logging.getLogger("library").exception("It failed:\\n%s", "twice")
"""


def test_what_a_library_logs_is_one_line_of_json() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LIBRARY], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    [line] = [json.loads(line) for line in done.stderr.splitlines()]
    assert (line["event"], line["logger"], line["level"]) == ("It failed:\ntwice", "library", "error")
    assert line["exception"].endswith("ValueError: broken")
