"""The scenarios of `make faults`: some of them for some seconds, and the page that says what covers each case."""

import re

import msgspec
import pytest

from faults.__main__ import SCENARIOS
from faults.report import as_json
from faults.scenario import run_scenario
from tests.test_suite import TESTS

ROOT = TESTS.parent
PAGE = (ROOT / "docs" / "explanation" / "faults.md").read_text()
SHORT_FORM = [("cut-off", 4, 3.0), ("cell-killed", 6, 0.1)]  # what no other test does


@pytest.mark.parametrize(("name", "channels", "seconds"), SHORT_FORM)
async def test_a_scenario_for_some_seconds(name: str, channels: int, seconds: float) -> None:
    scenario = msgspec.structs.replace(SCENARIOS[name], channels=channels)
    outcome = await run_scenario(scenario, seed=1, seconds=seconds, rate=20)
    assert outcome.problems == {}
    assert outcome.faults >= 1
    assert outcome.accepted > 0
    assert as_json([outcome]).startswith(b'[\n  {\n    "passed": true')


def test_the_page_names_every_scenario_with_its_invariant() -> None:
    listed, _, _ = PAGE.partition("### Measured")
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| (.*) \|$", listed, re.MULTILINE)
    assert dict(rows) == {name: scenario.invariant for name, scenario in SCENARIOS.items()}


def test_the_page_names_only_what_exists() -> None:
    _, _, catalogue = PAGE.partition("## What covers which case")
    cases = re.findall(r"^\| (\d+) \|", catalogue, re.MULTILINE)
    assert cases == [str(number) for number in range(1, 48) if number != 9]
    files = re.findall(r"`((?:tests|dashboard)/[\w/.-]+)`", catalogue)
    assert len(files) > 50
    assert [file for file in files if not (ROOT / file).exists()] == []
    cells = [row.split("|")[3] for row in catalogue.splitlines() if re.match(r"\| \d+ \|", row)]
    named = set(re.findall(r"`([a-z-]+)`", " ".join(cells)))
    of_our_own = {
        "stop-gateways",
        "rolling-restart",
        "kill-embedded",
        "upgrade",
        "cell-killed",
        "cell-silent",
        "cell-moves",
    }
    assert named == set(SCENARIOS) - of_our_own
