"""One event loop for all tests of a process in the folders whose conftest imports the fixture.

What belongs to a loop and is slow to start can outlive a test there: a browser, connections to a database.
"""

import asyncio
from asyncio import Runner
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest


@pytest.fixture
def _function_scoped_runner(_session_scoped_runner: Runner) -> Iterator[Runner]:
    """Run the test and its fixtures in the loop of the session. It replaces the fixture of pytest-asyncio."""
    with left_as_new(_session_scoped_runner):
        yield _session_scoped_runner


@contextmanager
def left_as_new(runner: Runner) -> Iterator[None]:
    """Cancel the tasks that a test leaves in the loop, as the end of a loop of its own would."""
    before = runner.run(_all_tasks())
    yield
    runner.run(_cancel_all_but(before))
    runner.get_loop().set_exception_handler(None)


async def _all_tasks() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks()


async def _cancel_all_but(before: set[asyncio.Task[object]]) -> None:
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    for task in left:
        task.cancel()
    for task in left:
        with suppress(asyncio.CancelledError):
            await task
