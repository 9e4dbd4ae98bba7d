"""One sandbox and one webhook server for the folder; each test begins with a new world and a new pywa client."""

import logging
from collections.abc import Iterator

import pytest

from gatepost_sandbox import SandboxSettings
from tests.sandbox.conftest import running

from .stage import Hooks, Stage, hooks_running


@pytest.fixture(scope="session")
def sandbox_port() -> Iterator[int]:
    with running(SandboxSettings(seed=7, start=1_700_000_000.0, frozen=True)) as port:
        yield port


@pytest.fixture(scope="session")
def hooks() -> Iterator[Hooks]:
    with hooks_running() as made:
        yield made


@pytest.fixture
def stage(sandbox_port: int, hooks: Hooks, caplog: pytest.LogCaptureFixture) -> Iterator[Stage]:
    """A registered number whose callbacks pywa gets; a complaint in pywa's log fails the test."""
    made = Stage(sandbox_port, hooks)
    made.control("POST", "reset", {})
    made.register(f"{hooks.url}/")
    yield made
    made.close()
    complaints = [record.getMessage() for record in caplog.records if _is_complaint(record)]
    assert complaints == []


def _is_complaint(record: logging.LogRecord) -> bool:
    return record.name.startswith("pywa") and record.levelno >= logging.WARNING
