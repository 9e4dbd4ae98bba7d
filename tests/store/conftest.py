"""A stage for tests that need a channel, as for sending and receiving; databases that record plans; quick new clusters.

A test module with plans has an `async def fill_database(url)`.
"""

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gatepost.outbound.recent_recipients import RecentRecipients
from gatepost.store.embedded import place
from tests.conftest import PostgresServer, scratch_folder
from tests.outbound.conftest import _function_scoped_runner, common_url, db, stage, warm_connections
from tests.store.query_plans import Explained, explained_copy, filled_once

__all__ = ["_function_scoped_runner", "common_url", "db", "stage", "warm_connections"]


@pytest.fixture(scope="module")
def filled(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[dict[str, str]]:
    """Yield the names of the databases that the test module fills, without statistics and with them."""
    with filled_once(postgres_server, request.module.fill_database) as names:
        yield names


@pytest.fixture(params=["fresh", "analyzed"])
async def explained(
    request: pytest.FixtureRequest, postgres_server: PostgresServer, filled: dict[str, str]
) -> AsyncIterator[Explained]:
    """Yield a copy of each of them that records plans."""
    async with explained_copy(postgres_server, filled[request.param]) as found:
        yield found


@pytest.fixture(params=["general", "alike", "to contacts", "to new people"])
def each_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept every message by the general path, or try one of the statements for plain messages first."""
    if request.param == "general":
        monkeypatch.setattr("gatepost.outbound.accept.is_plain", lambda _submission: False)
    if request.param == "to contacts":
        monkeypatch.setattr("gatepost.store.messages.accept_alike.are_alike", lambda _batch: False)
    known = request.param in ("alike", "to contacts")
    monkeypatch.setattr(RecentRecipients, "include", lambda _recent, _channel_id, _phones: known)


@pytest.fixture(scope="session")
def empty_cluster() -> Iterator[Path]:
    """Yield the path for a copy of what the first initdb creates."""
    folder = scratch_folder()
    yield folder / "cluster"
    shutil.rmtree(folder)


@pytest.fixture
def initdb_once(empty_cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run initdb for the first cluster only, and copy it for the others: it takes most of the time of a first start."""
    real = place.run_initdb

    def run_or_copy(where: place.ClusterPlace, folder: Path) -> None:
        if empty_cluster.exists():
            subprocess.run(["cp", "-a", f"{empty_cluster}/.", folder], check=True)
            return
        real(where, folder)
        subprocess.run(["cp", "-a", folder, empty_cluster], check=True)

    monkeypatch.setattr(place, "run_initdb", run_or_copy)
