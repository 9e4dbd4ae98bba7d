"""Orders the tests: the slowest files first, in each process.

The tests are shared among several processes. A slow file at the end would run alone while the other processes wait.
"""

import os
from collections.abc import Sequence
from typing import Protocol, TypeVar

import pytest


class Collected(Protocol):
    """What a test is here: its id begins with the path of its file."""

    @property
    def nodeid(self) -> str: ...


Test = TypeVar("Test", bound=Collected)

# By their time, measured in a run of all tests. A file that is missing here only runs in its usual place. Those of
# tests/conformance are missing on purpose: they share two gateways, which each process would start for itself.
SLOWEST = (
    "networks/qr/test_baileys.py",
    "processes/test_serving.py",
    "store/test_embedded.py",
    "sandbox/test_ci_page.py",
    "faults/test_network_faults.py",
    "console/test_accessibility.py",
    "cli/test_privileges.py",
    "console/test_signing_in.py",
    "console/test_inbox_page.py",
    "console/test_channels_page.py",
    "store/test_quota.py",
    "console/test_bad_days.py",
    "cli/test_up.py",
    "console/test_mcp_drafts.py",
    "gateway/test_collection.py",
    "cli/test_up_kills.py",
    "console/test_inbox_sending.py",
    "console/test_webhooks_page.py",
    "mcp/test_kills.py",
    "console/test_templates_page.py",
    "store/test_embedded_root.py",
    "faults/test_kill_points.py",
    "console/test_contacts_page.py",
    "networks/qr/test_baileys_attacks.py",
    "cli/test_draining.py",
    "cells/test_commands.py",
    "faults/test_scenarios.py",
    "packages/test_packages.py",
    "console/test_mcp_page.py",
    "cells/test_move.py",
    "sandbox/page/test_panel.py",
    "console/test_inbox_team.py",
    "gateway/test_schemathesis.py",
    "console/test_developers_page.py",
    "console/test_account_pages.py",
    "console/test_live_updates.py",
    "cli/test_links.py",
    "gateway/test_revoked.py",
    "faults/test_two_owners.py",
    "sandbox/page/test_messenger_media.py",
)
_RANKS = {f"tests/{path}": rank for rank, path in enumerate(SLOWEST)}


def put_slow_first(items: list[pytest.Item]) -> None:
    """Move the tests of the slowest files to the front of each process's share; the order within a file stays."""
    items[:] = slow_first(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def slow_first(items: Sequence[Test], processes: int) -> list[Test]:
    """Return the tests in a new order. With `--dist worksteal` each process starts with an equal part of the list."""
    ranks = [_RANKS.get(item.nodeid.partition("::")[0]) for item in items]
    rest = [item for item, rank in zip(items, ranks, strict=True) if rank is None]
    ordered: list[Test] = []
    for number in range(processes):
        length = (len(items) - len(ordered)) // (processes - number)
        for slow in range(number, len(SLOWEST), processes):
            ordered += [item for item, rank in zip(items, ranks, strict=True) if rank == slow]
            length -= ranks.count(slow)
        ordered += rest[: max(0, length)]
        del rest[: max(0, length)]
    return ordered
