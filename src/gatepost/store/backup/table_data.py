"""What a copy of a database says about itself: its tables, its migrations, and the tables of linked devices."""

import asyncpg
import msgspec

# The text of values must not depend on the settings of a server.
SESSION = {
    "application_name": "gatepost backup",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}


class TableData(msgspec.Struct, frozen=True):
    """A table or a partition, and an estimate of its size in bytes."""

    schema: str
    name: str
    columns: tuple[str, ...]
    parent: str | None = None
    size: int = 0


class DeviceTable(msgspec.Struct, frozen=True):
    """A table of linked devices, which its engine created: statements that create it empty, and its references."""

    name: str
    create: tuple[str, ...]
    references: tuple[str, ...]


class DatabaseContent(msgspec.Struct, frozen=True):
    """All tables of a database, those first that others refer to."""

    server: str
    migrations: tuple[int, ...]
    key_check: bytes | None
    tables: tuple[TableData, ...]
    device_tables: tuple[DeviceTable, ...]

    @property
    def level(self) -> int:
        """The newest migration."""
        return max(self.migrations, default=0)


async def connect_for_copy(dsn: str) -> "asyncpg.Connection[asyncpg.Record]":
    """Return a connection whose text format is the same on every server."""
    return await asyncpg.connect(dsn, server_settings=SESSION, timeout=30)
