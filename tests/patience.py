"""Time limits of waits in tests.

A limit only ends a test that would wait forever. It is not a performance requirement: a busy machine may be slow, and
must not fail a test. `tests/test_suite.py` checks that no test asserts a measured time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

PATIENCE = 90.0  # seconds; the limit of a whole test is in pyproject.toml


@asynccontextmanager
async def patience(what: Callable[[], object], seconds: float = PATIENCE) -> AsyncIterator[None]:
    """Limit a wait. A failure reports what was expected and what was there instead."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise AssertionError(f"Waited {seconds:g} s in vain: {what()}") from None
