"""A database server that a test may stop."""

import shutil
from collections.abc import AsyncIterator

import pytest

from gatepost.store.embedded import EmbeddedPostgres
from tests.conftest import scratch_folder


@pytest.fixture
async def server() -> AsyncIterator[EmbeddedPostgres]:
    data = scratch_folder()
    one = EmbeddedPostgres(data)
    try:
        yield one
    finally:
        await one.stop()
        shutil.rmtree(data)
