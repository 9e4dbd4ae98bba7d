"""The same stage as for sending: one channel over a real database, with a clock that is moved by hand."""

from tests.outbound.conftest import _function_scoped_runner, common_url, db, stage, warm_connections

__all__ = ["_function_scoped_runner", "common_url", "db", "stage", "warm_connections"]
