"""What can be wrong with a data folder; each message says what to do."""


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot be made, started or reached."""


class DataFolderInUse(Exception):
    """Another gateway holds the data folder."""
