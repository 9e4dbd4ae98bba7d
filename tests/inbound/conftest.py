"""The same stage as for sending: one channel over a real database, with a clock that is moved by hand."""

from tests.outbound.conftest import common_url, db, stage

__all__ = ["common_url", "db", "stage"]
