"""What the tests of faults share: a database for gateways that go by the real time."""

import pytest


@pytest.fixture
def database_url(parted_database_url: str) -> str:
    """Give the address of a fresh database with today's partitions, which each gateway would make before it starts."""
    return parted_database_url
