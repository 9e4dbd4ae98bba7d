"""CPU-bound work that does not block the event loop: in a worker thread, or in parts with turns for other tasks.

The whole process has one worker thread, so that the event loop competes with only one thread for the interpreter. A
call must be short (tens of milliseconds), so that callers take turns; callers split longer work. No single operation
on a caller's data may be long either: C code keeps the interpreter lock until it returns.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compute")


async def compute(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Return the function's result, computed in the worker thread."""
    return await asyncio.get_running_loop().run_in_executor(_thread, partial(function, *args, **options))


_PART = 100  # calls after which other tasks get a turn


async def in_parts(function: Callable[..., T], *columns: Iterable[object]) -> list[T]:
    """Call the function for each row of the columns, and return the results. Other tasks get turns in between."""
    results = []
    for done, row in enumerate(zip(*columns, strict=True), 1):
        results.append(function(*row))
        if done % _PART == 0:
            await asyncio.sleep(0)
    return results
