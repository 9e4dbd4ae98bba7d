"""Orders the tests: the slowest files first.

The tests are shared among several processes. A slow file at the end would run alone while the other processes wait.
"""

import pytest

# By their time, measured in a run of all tests. A file that is missing here only runs in its usual place.
SLOWEST = (
    "console/test_accessibility.py",
    "console/test_inbox_page.py",
    "console/test_channels_page.py",
    "sandbox/page/test_panel.py",
    "console/test_signing_in.py",
    "console/test_webhooks_page.py",
    "console/test_bad_days.py",
    "sandbox/test_ci_page.py",
    "networks/qr/test_baileys.py",
    "cli/test_privileges.py",
    "store/test_embedded.py",
    "faults/test_network_faults.py",
    "faults/test_kill_points.py",
    "gateway/test_schemathesis.py",
    "packages/test_packages.py",
    "cli/test_up_kills.py",
    "gateway/test_collection.py",
    "console/test_stored_scripts.py",
    "console/test_inbox_large.py",
    "docs/test_tutorial.py",
    "cli/test_up.py",
)
_RANKS = {f"tests/{path}": rank for rank, path in enumerate(SLOWEST)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of the slowest files to the front; the order within a file stays."""
    items.sort(key=lambda item: _RANKS.get(item.nodeid.partition("::")[0], len(_RANKS)))
