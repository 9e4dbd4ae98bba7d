"""Leaves a part of the longest tests out of a run of all tests: those in a browser, of faults, and of whole programs.

`make test` runs one of some days' shares of them, another one each day; `make test-all` runs all of them, and so does
every run for which files or folders are named. What a single part of the program does is tested in every run.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

import pytest

from tests import thorough


class Collected(Protocol):
    """What a test is here: its id begins with the path of its file."""

    @property
    def nodeid(self) -> str: ...


Test = TypeVar("Test", bound=Collected)

# How tests' ids begin, after "tests/", and within how many days all of them run. Where a test samples its own rows by
# the day (`tests/thorough.py`), the two numbers have no common factor: otherwise some rows would never run.
SAMPLED = {
    # pages in a browser
    "console/test_accessibility.py": 3,
    "console/test_account_pages.py": 5,
    "console/test_bad_days.py": 5,
    "console/test_channels_page.py": 5,
    "console/test_contacts_page.py": 5,
    "console/test_developers_page.py": 5,
    "console/test_inbox_large.py": 5,
    "console/test_inbox_page.py": 5,
    "console/test_inbox_sending.py": 5,
    "console/test_inbox_team.py": 5,
    "console/test_live_updates.py": 5,
    "console/test_mcp_drafts.py": 5,
    "console/test_mcp_page.py": 5,
    "console/test_orders_page.py": 5,
    "console/test_phone.py": 5,
    "console/test_signing_in.py": 5,
    "console/test_templates_page.py": 5,
    "console/test_trace_page.py": 5,
    "console/test_usage_page.py": 5,
    "console/test_webhooks_page.py": 5,
    "sandbox/page/test_messenger": 5,
    "sandbox/page/test_panel": 5,
    # faults, kills and processes that are started and stopped
    "cells/test_commands.py": 5,
    "cells/test_move.py": 3,
    "cells/test_outage.py": 5,
    "cells/test_processes.py": 5,
    "cli/test_draining.py": 5,
    "cli/test_links.py": 5,
    "cli/test_move_database.py": 5,
    "cli/test_privileges.py": 5,
    "cli/test_up.py": 5,
    "cli/test_up_kills.py": 5,
    "conformance/test_linking.py": 5,
    "conformance/test_phone_alone.py": 5,
    "conformance/test_reconnects.py": 5,
    "faults/test_database_stop.py": 5,
    "faults/test_full_disk.py": 5,
    "faults/test_network_faults.py": 5,
    "faults/test_own_database.py": 5,
    "faults/test_owner_faults.py": 3,
    "faults/test_scenarios.py": 5,
    "faults/test_two_owners.py": 5,
    "faults/test_unknown_outcomes.py": 5,
    "mcp/test_kills.py": 5,
    "networks/qr/test_baileys.py": 5,
    "networks/qr/test_baileys_attacks.py": 5,
    "networks/qr/test_real_child.py": 5,
    "processes/test_serving.py": 5,
    "store/test_devices.py": 5,
    "store/test_embedded.py": 5,
    "store/test_embedded_roles.py": 5,
    "store/test_embedded_root.py": 5,
    # runs of another program for every request, and of every example of a page
    "gateway/test_collection.py::test_newman": 3,
    "sandbox/test_ci_page.py::test_every_example_runs": 5,
}


def keep_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in the sample of this day, in a run of all tests."""
    if thorough.THOROUGH or config.args != config.getini("testpaths"):
        return
    kept = sample(items)
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def sample(items: Sequence[Test]) -> list[Test]:
    """Return the tests without those of other days. The tests of a part have their days in turn, in their order."""
    numbers: Counter[str] = Counter()
    kept = []
    for item in items:
        part = part_of(item.nodeid)
        if part is not None:
            number = numbers[part] + zlib.crc32(part.encode()) + thorough.DAY
            numbers[part] += 1
            if number % SAMPLED[part]:
                continue
        kept.append(item)
    return kept


def part_of(nodeid: str) -> str | None:
    """Return the line of the table that a test belongs to."""
    name = nodeid.removeprefix("tests/")
    file = name.partition("::")[0]
    if file in SAMPLED:
        return file
    return next((part for part in SAMPLED if name.startswith(part)), None)
