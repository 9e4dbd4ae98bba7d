"""A progress bar on stderr, for long work on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows how much of a step is done; elsewhere than on a terminal it shows nothing."""
    if not sys.stderr.isatty():
        yield lambda _step, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as shown:

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = shown.add_task(step)
            shown.update(tasks[step], completed=done, total=max(total, 1) if done < total else max(done, 1))

        yield show
