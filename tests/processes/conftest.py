"""What these tests share: a database for gateways that go by the real time."""

import pytest


@pytest.fixture
def database_url(parted_database_url: str) -> str:
    """Give the address of a fresh database with today's partitions."""
    return parted_database_url
