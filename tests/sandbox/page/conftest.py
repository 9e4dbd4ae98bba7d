"""A viewer of the page of the sandbox that the tests of the folder above share."""

from collections.abc import AsyncIterator

import pytest

from tests.console.shared_browser import _function_scoped_runner, browser_of_the_process
from tests.sandbox.driver import Driver

from .viewer import Viewer, viewing

__all__ = ["_function_scoped_runner", "browser_of_the_process"]


@pytest.fixture
async def viewer(empty: Driver) -> AsyncIterator[Viewer]:
    """A page of the browser, at the sandbox of the test."""
    async with viewing(empty.base) as one:
        yield one
