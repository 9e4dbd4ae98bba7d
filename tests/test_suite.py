"""The tests themselves: none of them asserts how long something took on this machine.

A full machine is slow, and a test that compares a measured time with a number fails there for no fault of the code.
Wait for the thing to happen instead (`tests/patience.py`), move the clock, or show the order: what must not be waited
for is still under way when the other is done.
"""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Awaitable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests import thorough
from tests.daily_sample import SAMPLED, part_of, sample
from tests.for_each import for_each
from tests.patience import PATIENCE
from tests.shared_compilation import share
from tests.slow_first import SLOWEST, slow_first

TESTS = Path(__file__).parent
FILES = sorted(path for path in TESTS.rglob("*.py") if "node_modules" not in path.parts)
CLOCKS = {
    "time": {"time", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time_ns"},
    "": {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"},
    "loop": {"time"},
}
MEASURED = {"latency_ms"}  # what our own code measures
_MENTIONED = re.compile(r"monotonic|perf_counter|time_ns|time\(|latency_ms")  # without one, nothing is measured
WAITS = {"timeout": 0, "wait_for": 1}  # of asyncio: where the limit stands


def reads_clock(node: ast.AST) -> bool:
    """Whether this is a call of a clock of the machine: time.monotonic(), get_running_loop().time()."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr=name)):
            return name in CLOCKS["time"]
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
            return owner.endswith("loop") and name in CLOCKS["loop"]
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr=owner)), attr=name)):
            return owner.endswith("_loop") and name in CLOCKS["loop"]
        case ast.Call(func=ast.Name(id=name)):
            return name in CLOCKS[""]
    return False


def differences(function: ast.AST) -> Iterator[ast.BinOp]:
    """The subtractions in a function that have a time of the machine in them."""
    moments = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and reads_clock(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            sides = (node.left, node.right)
            if any(reads_clock(side) or (isinstance(side, ast.Name) and side.id in moments) for side in sides):
                yield node


def measured_in(function: ast.AST) -> set[str]:
    """The names of durations that a function measures: began = clock(); took = clock() - began."""
    found = set(differences(function))
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(inner in found for inner in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def is_measured(node: ast.AST) -> bool:
    """Whether this is something that our code has measured: result.latency_ms, row["latency_ms"]."""
    match node:
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name in MEASURED
    return False


def is_limit(node: ast.AST) -> bool:
    """A number, other than 0: that a time was measured at all may be asserted."""
    return any(
        isinstance(inner, ast.Constant) and isinstance(inner.value, int | float) and inner.value != 0
        for inner in ast.walk(node)
    )


def timed_asserts(source: str) -> list[int]:
    """The lines where a measured time is compared with a number."""
    lines: set[int] = set()
    if not _MENTIONED.search(source):
        return []
    text = source.splitlines()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not any(map(_MENTIONED.search, text[function.lineno - 1 : function.end_lineno])):
            continue
        names, found = measured_in(function), set(differences(function))
        for node in ast.walk(function):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            timed = [
                side
                for side in sides
                if any(inner in found or is_measured(inner) for inner in ast.walk(side))
                or (isinstance(side, ast.Name) and side.id in names)
                or (reads_clock(side) and _is_short_deadline(sides))
            ]
            if timed and (any(is_limit(side) for side in sides if side not in timed) or any(map(reads_clock, timed))):
                lines.add(node.lineno)
    return sorted(lines)


def _is_short_deadline(sides: list[ast.expr]) -> bool:
    """clock() < began + 1: the same assert, written otherwise."""
    return any(isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add) and is_limit(side) for side in sides)


def short_waits(source: str) -> list[int]:
    """The lines with a limit of a few seconds: asyncio.timeout(5), asyncio.wait_for(x, 5), queue.get(timeout=5)."""
    lines: list[int] = []
    if "timeout" not in source and "wait_for" not in source:
        return lines
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="timeout" | "wait_for" as name)):
                limits = [*node.args[WAITS[name] :], *(word.value for word in node.keywords if word.arg == "timeout")]
            case ast.Call(func=ast.Attribute(attr="get" | "communicate" | "run" | "wait" | "result" | "join")):
                limits = [word.value for word in node.keywords if word.arg == "timeout"]
            case _:
                continue
        numbers = [limit.value for limit in limits if isinstance(limit, ast.Constant)]
        if any(isinstance(number, int | float) and 1 < number < PATIENCE for number in numbers):
            lines.append(node.lineno)
    return lines


def test_no_test_asserts_a_time_of_the_machine() -> None:
    assert len(FILES) > 300
    for path in FILES:
        source, name = path.read_text(), path.relative_to(TESTS)
        assert timed_asserts(source) == [], (
            f"{name} compares a measured time with a number in these lines. A full machine is slow: wait for the "
            "thing to happen (tests/patience.py), move the clock, or show the order of things."
        )
        assert short_waits(source) == [], f"{name} waits for only a few seconds in these lines; use PATIENCE."


@for_each(
    "lines",
    [
        "began = time.monotonic()\n    await x()\n    assert time.monotonic() - began < 3",
        "began = time.perf_counter()\n    took = time.perf_counter() - began\n    assert took < 0.5",
        "began = loop.time()\n    end = loop.time()\n    assert 1 < end - began",
        "now = asyncio.get_running_loop().time()\n    assert asyncio.get_running_loop().time() - now <= 2",
        "began = monotonic()\n    while x():\n        assert time.monotonic() < began + 1",
        "assert abs(y - time.time()) < 60",
        "assert result.latency_ms < 1000",
        'assert row["latency_ms"] < 1000',
    ],
)
def test_such_an_assert_is_found(lines: str) -> None:
    assert len(timed_asserts(f"async def test_it():\n    {lines}\n")) == 1


@for_each(
    "lines",
    [
        "assert before <= shown <= time.time()",
        "assert result.latency_ms > 0",
        "assert clock.now() - began < timedelta(seconds=3)",
        "end = time.monotonic() + PATIENCE\n    while x():\n        assert time.monotonic() < end",
        "times = stage.times\n    assert times[-1] - times[0] >= 1",
        "print(time.monotonic() - began)",
    ],
)
def test_other_comparisons_are_left_alone(lines: str) -> None:
    assert timed_asserts(f"async def test_it():\n    {lines}\n") == []


def test_a_short_wait_is_found() -> None:
    waits = "await asyncio.wait_for(x(), {0})\n    async with asyncio.timeout({0}):\n        q.get(timeout={0})"
    source = f"async def test_it():\n    {waits}"
    assert short_waits(source.format("5")) == [2, 3, 4]
    assert short_waits(source.format("PATIENCE")) == short_waits(source.format("0.05")) == []


def test_every_failing_row_is_reported() -> None:
    @for_each(("number", "limit"), [(1, 2), (3, 2), (5, 4)])
    def is_below(number: int, limit: int) -> None:
        assert number < limit

    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows failed") as failed:
        is_below()
    notes = [failure.__notes__ for failure in failed.value.exceptions]
    assert notes == [["row: {'number': 3, 'limit': 2}"], ["row: {'number': 5, 'limit': 4}"]]


async def test_a_loop_over_rows_keeps_the_fixtures_of_its_test(tmp_path: Path) -> None:
    @for_each("name", ["a", "b"])
    async def is_written(name: str, tmp_path: Path) -> None:
        (tmp_path / name).touch()

    assert list(inspect.signature(is_written).parameters) == ["tmp_path"]
    await cast(Awaitable[None], is_written(tmp_path=tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_a_sample_has_each_kind_and_all_rows_within_some_days(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{kind}{number}" for kind in "ab" for number in range(7)]
    monkeypatch.setattr(thorough, "THOROUGH", False)
    seen: list[str] = []
    due: list[str] = []
    for day in range(100, 103):
        monkeypatch.setattr(thorough, "DAY", day)
        assert {"a0", "b0"} <= set(thorough.rotated(rows, 3, kind=lambda row: row[0]))
        seen += thorough.rotated(rows, 3)
        due += [row for row in rows if thorough.is_due(row, 3)]
    assert sorted(seen) == sorted(due) == rows
    monkeypatch.setattr(thorough, "THOROUGH", True)
    assert thorough.rotated(rows, 3) == rows
    assert all(thorough.is_due(row, 3) for row in rows)


def test_a_daily_sample_has_every_test_within_its_days(monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["model/test_ids.py", "faults/test_own_database.py", "cells/test_move.py"]
    tests = [SimpleNamespace(nodeid=f"tests/{path}::{number}") for path in files for number in range(7)]
    seen: Counter[str] = Counter()
    for day in range(100, 115):
        monkeypatch.setattr(thorough, "DAY", day)
        seen.update(test.nodeid for test in sample(tests))
    assert {nodeid.split("::")[0].removeprefix("tests/"): count for nodeid, count in seen.items()} == {
        "model/test_ids.py": 15,
        "faults/test_own_database.py": 15 // SAMPLED["faults/test_own_database.py"],
        "cells/test_move.py": 15 // SAMPLED["cells/test_move.py"],
    }
    assert len(seen) == len(tests)


def test_every_line_of_the_daily_sample_has_tests() -> None:
    names = [
        f"{path.relative_to(TESTS)}::{name}"
        for path in FILES
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    ]
    assert {part for name in names if (part := part_of(name))} == set(SAMPLED)


def test_no_test_describes_the_page_while_it_waits() -> None:
    """Playwright's `to_be_visible` does, each time that it looks; `wait_for` does not."""
    wrong = f".{'to_be_visible'}("
    assert [path.name for path in FILES if wrong in path.read_text()] == [], "use `await locator.wait_for()`"


def test_the_slowest_files_exist() -> None:
    assert [path for path in SLOWEST if not (TESTS / path).is_file()] == []


def test_each_process_starts_with_slow_files() -> None:
    tests = [SimpleNamespace(nodeid=f"tests/{path}::{n}") for path in ["a.py", "b.py", *SLOWEST] for n in range(20)]
    ordered = slow_first(tests, 4)
    assert sorted(test.nodeid for test in ordered) == sorted(test.nodeid for test in tests)
    quarter = len(tests) // 4
    assert [ordered[n * quarter].nodeid for n in range(4)] == [f"tests/{SLOWEST[n]}::0" for n in range(4)]


def test_each_module_is_in_the_share_of_one_process() -> None:
    shares = [share(FILES, number, 4) for number in range(4)]
    assert sorted(path for one in shares for path in one) == FILES
    sizes = [sum(path.stat().st_size for path in one) for one in shares]
    assert max(sizes) < 1.2 * min(sizes)
