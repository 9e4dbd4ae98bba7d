"""One database for all of these tests: each has a shelf of its own, as strangers share a real one."""

from pathlib import Path

import pytest

from gatepost.store.pool import Database
from tests.outbound.conftest import common_url, db
from tests.services.shelf import Shelf, make_shelf

__all__ = ["common_url", "db"]


@pytest.fixture
async def shelf(db: Database, tmp_path: Path) -> Shelf:
    """Give a channel with its own files, network and clock."""
    return await make_shelf(db, tmp_path)
