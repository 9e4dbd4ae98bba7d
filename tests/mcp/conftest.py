"""One database for all of these tests: each has its own channel."""

from tests.outbound.conftest import common_url, db, stage

__all__ = ["common_url", "db", "stage"]
