"""A stage for tests that need a channel: the same as for sending and receiving. And quick new clusters."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.store.embedded import place
from tests.conftest import scratch_folder
from tests.outbound.conftest import common_url, db, stage

__all__ = ["common_url", "db", "stage"]


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
