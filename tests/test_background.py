"""Background loops: whatever a step raises, the loop goes on; one that ends all the same is reported."""

import asyncio
from collections.abc import Callable

import pytest
import structlog
from structlog.testing import LogCapture

from gatepost import background
from gatepost.background import Loop, Supervisor, attempt, retry_until_available, run_loop
from gatepost.model.errors import Unavailable, database_unavailable
from tests.patience import PATIENCE


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> LogCapture:
    capture = LogCapture()
    logger = structlog.wrap_logger(None, processors=[capture], wrapper_class=structlog.stdlib.BoundLogger)
    monkeypatch.setattr(background, "log", logger)
    return capture


class Steps:
    """A step that fails as the test says, and then succeeds for ever."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.done = 0
        self.enough = asyncio.Event()

    async def __call__(self) -> None:
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.done += 1
        if self.done == 3:
            self.enough.set()


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    "failure", [ValueError("no"), MemoryError(), OSError("gone"), database_unavailable(), asyncio.CancelledError()]
)
async def test_a_loop_goes_on_after_any_error(failure: BaseException, logged: LogCapture) -> None:
    steps = Steps(failure)
    loop = Loop("work", steps, first_wait=0.001)
    async with asyncio.timeout(PATIENCE):
        await steps.enough.wait()
    await loop.stop()
    assert [line["event"] for line in logged.entries] == ["work failed"]


async def test_an_error_is_logged_with_its_cause_and_its_place(logged: LogCapture) -> None:
    lost = database_unavailable()
    lost.__cause__ = ConnectionResetError("reset by peer")
    steps = Steps(KeyError("thing"), lost)
    loop = Loop("work", steps, first_wait=0.001, channel="ch_1")
    async with asyncio.timeout(PATIENCE):
        await steps.enough.wait()
    await loop.stop()
    bug, outage = logged.entries
    assert (bug["log_level"], bug["channel"], bug["exc_info"].args) == ("error", "ch_1", ("thing",))
    assert outage["log_level"] == "warning"
    assert "reset by peer" in outage["cause"]


async def test_waits_double_and_begin_again_after_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def pause(seconds: float, _wake: asyncio.Event | None) -> None:
        waits.append(seconds)

    monkeypatch.setattr(background, "_pause", pause)
    steps = Steps(*[ValueError()] * 7)
    counted: list[None] = []

    async def step() -> None:
        await steps()
        if steps.done == 1:
            steps.failures = [ValueError()]

    await run_loop("work", step, going=lambda: steps.done < 2, failed=lambda: counted.append(None))
    assert waits == [1, 2, 4, 8, 16, 30, 30, 1]
    assert len(counted) == 8


async def test_an_ordinary_end_is_an_end(logged: LogCapture) -> None:
    await asyncio.wait_for(run_loop("work", Steps(LookupError()), ends_on=(LookupError,)), PATIENCE)
    assert logged.entries == []


async def test_a_wake_up_cuts_the_wait_short() -> None:
    wake, steps = asyncio.Event(), Steps(ValueError())
    loop = Loop("work", steps, first_wait=9000, wake=wake)
    await until(lambda: not steps.failures)
    wake.set()
    async with asyncio.timeout(PATIENCE):
        await steps.enough.wait()
    await loop.stop()


async def test_a_loop_ends_when_it_is_stopped_even_if_a_step_swallows_that() -> None:
    begun = asyncio.Event()

    async def deaf() -> None:
        begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return

    loop = Loop("deaf", deaf)
    await begun.wait()
    await asyncio.wait_for(loop.stop(), PATIENCE)
    assert not loop.running


async def test_a_loop_that_ends_all_the_same_is_critical_and_reported(logged: LogCapture) -> None:
    supervisor, ended = Supervisor(), asyncio.Event()
    supervisor.start("first", Steps())
    supervisor.start("second", Steps())
    supervisor.on_end(ended.set)
    await asyncio.sleep(0)
    [task] = [task for task in asyncio.all_tasks() if task.get_name() == "second"]
    task.cancel()  # by somebody who had no business to
    await asyncio.wait_for(ended.wait(), PATIENCE)
    assert supervisor.ended == "second"
    assert [(line["log_level"], line["loop"]) for line in logged.entries] == [("critical", "second")]
    await supervisor.stop()
    assert len(logged.entries) == 1


async def test_a_late_caller_gets_the_error_too() -> None:
    supervisor, ended = Supervisor(), asyncio.Event()

    async def fatal() -> None:
        raise GeneratorExit  # no Exception

    loop = supervisor.start("work", fatal)
    await until(lambda: not loop.running)
    await asyncio.sleep(0)
    supervisor.on_end(ended.set)
    assert ended.is_set()
    await supervisor.stop()


async def test_one_thing_that_fails_is_logged_and_passed_over(logged: LogCapture) -> None:
    assert await attempt("job", Steps(ValueError("no")), job="one") is False
    assert await attempt("job", Steps()) is True
    assert [(line["event"], line["job"]) for line in logged.entries] == [("job failed", "one")]


class Outage:
    """A database step that fails this often before it succeeds."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.left, self.error = failures, error or database_unavailable()

    async def __call__(self) -> str:
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return "written"


async def test_a_database_step_is_repeated_until_the_database_is_available() -> None:
    assert await retry_until_available(Outage(3), lambda: True, wait=0) == "written"


@pytest.mark.parametrize(("ended", "raised"), [(None, Unavailable), (LookupError, LookupError)])
async def test_a_step_that_may_not_be_repeated_raises_its_error_or_the_given_one(
    ended: type[Exception] | None, raised: type[Exception]
) -> None:
    step = Outage(3)
    with pytest.raises(raised):
        await retry_until_available(step, lambda: step.left > 1, wait=0, ended=ended)
    assert step.left == 1


async def test_another_error_of_a_database_step_is_raised_at_once() -> None:
    step = Outage(3, ValueError("a fault"))
    with pytest.raises(ValueError, match="a fault"):
        await retry_until_available(step, lambda: True, wait=0)
    assert step.left == 2
