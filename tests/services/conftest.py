"""One database for all of these tests: each has its own channel."""

from pathlib import Path

import pytest

from gatepost.store.pool import Database
from tests.outbound.conftest import _function_scoped_runner, common_url, db, warm_connections
from tests.services.media_stage import MediaStage, make_media_stage

__all__ = ["_function_scoped_runner", "common_url", "db", "warm_connections"]


@pytest.fixture
async def media_stage(db: Database, tmp_path: Path) -> MediaStage:
    """Give a channel with its own files, network and clock."""
    return await make_media_stage(db, tmp_path)
