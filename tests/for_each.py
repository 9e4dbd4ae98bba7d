"""One test for all rows of a table, which reports every row that fails.

`pytest.mark.parametrize` makes a test of each row, which costs milliseconds per row. Use it where a row needs fixtures
of its own, and `for_each` for the others.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

Test = Callable[..., Awaitable[None] | None]
FAILURES = (Exception, pytest.fail.Exception)


def for_each(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Call the test with each row. The arguments are those of `pytest.mark.parametrize`."""
    fields = [names] if isinstance(names, str) else list(names)
    table = [dict(zip(fields, [row] if isinstance(names, str) else row, strict=True)) for row in rows]
    assert table, "a table without rows checks nothing"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        async def check_all_async(**fixtures: Any) -> None:
            failed = FailedRows()
            for row in table:
                with failed.collect(row):
                    await test(**fixtures, **row)  # type: ignore[misc]
            failed.report(len(table))

        @functools.wraps(test)
        def check_all(**fixtures: Any) -> None:
            failed = FailedRows()
            for row in table:
                with failed.collect(row):
                    test(**fixtures, **row)
            failed.report(len(table))

        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in fields]
        looped: Any = check_all_async if inspect.iscoroutinefunction(test) else check_all
        looped.__signature__ = signature.replace(parameters=fixtures)
        return cast(Test, looped)

    return decorate


class FailedRows:
    """The failures of a table, each with its row as a note."""

    def __init__(self) -> None:
        self._failures: list[BaseException] = []

    @contextmanager
    def collect(self, row: dict[str, Any]) -> Iterator[None]:
        """Keep a failure for the report."""
        try:
            yield
        except FAILURES as failure:
            failure.add_note(f"row: {row!r:.1000}")
            self._failures.append(failure)

    def report(self, total: int) -> None:
        """Raise the failures, if there are any."""
        if len(self._failures) == 1:
            raise self._failures[0]
        if self._failures:
            raise BaseExceptionGroup(f"{len(self._failures)} of {total} rows failed", self._failures)
