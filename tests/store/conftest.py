"""A stage for tests that need a channel: the same as for sending and receiving."""

from tests.outbound.conftest import common_url, db, stage

__all__ = ["common_url", "db", "stage"]
