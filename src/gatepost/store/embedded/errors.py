"""The errors of a data folder. Each message says what to do."""


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot be created, started or reached."""


class DataFolderInUse(Exception):
    """Another gateway holds the data folder."""
