"""Orders the tests: the slowest files first.

The tests are shared among several processes. A slow file at the end would run alone while the other processes wait.
"""

import pytest

# By their time, measured in a run of all tests. A file that is missing here only runs in its usual place.
SLOWEST = (
    "console/test_mcp_drafts.py",
    "console/test_channels_page.py",
    "gateway/test_collection.py",
    "console/test_signing_in.py",
    "console/test_inbox_page.py",
    "console/test_bad_days.py",
    "console/test_templates_page.py",
    "console/test_webhooks_page.py",
    "console/test_accessibility.py",
    "cli/test_privileges.py",
    "processes/test_serving.py",
    "sandbox/test_ci_page.py",
    "console/test_mcp_page.py",
    "mcp/test_kills.py",
    "cli/test_up.py",
    "gateway/test_schemathesis.py",
    "faults/test_scenarios.py",
    "cells/test_move.py",
    "console/test_inbox_team.py",
    "console/test_inbox_large.py",
    "console/test_contacts_page.py",
    "store/test_embedded_root.py",
    "faults/test_two_owners.py",
    "console/test_account_pages.py",
    "console/test_inbox_sending.py",
    "cli/test_up_kills.py",
    "console/test_live_updates.py",
    "docs/test_tutorial.py",
    "faults/test_network_faults.py",
    "console/test_stored_scripts.py",
    "sandbox/page/test_panel.py",
    "networks/qr/test_baileys.py",
    "store/test_embedded.py",
    "faults/test_kill_points.py",
    "packages/test_packages.py",
)
_RANKS = {f"tests/{path}": rank for rank, path in enumerate(SLOWEST)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of the slowest files to the front; the order within a file stays."""
    items.sort(key=lambda item: _RANKS.get(item.nodeid.partition("::")[0], len(_RANKS)))
