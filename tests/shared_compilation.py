"""Shares the compilation of the test modules among the processes of a run.

In a new checkout nothing is compiled, and rewriting the asserts of all modules takes longer than importing them. All
processes collect all tests in the same order, so each of them would compile everything. Instead each first imports a
share of its own, and finds the others' modules compiled when it collects them.
"""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import this process's share, in a run of all tests by several processes."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1 or session.config.args != session.config.getini("testpaths"):
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    for path in share(sorted(_ROOT.glob("tests/**/test_*.py")), number, processes):
        with suppress(Exception):  # the collection reports it
            import_module(".".join(path.relative_to(_ROOT).with_suffix("").parts))


def share(paths: list[Path], number: int, processes: int) -> list[Path]:
    """Return the modules that one process compiles: about as many bytes as each of the others, and of all folders."""
    return sorted(paths, key=lambda path: path.stat().st_size, reverse=True)[number::processes]
