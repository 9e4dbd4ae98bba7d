"""The note that the database of a data folder was moved to another server: the old one must not be used any more."""

from datetime import datetime
from pathlib import Path

from gatepost.store.embedded.errors import EmbeddedPostgresError

NOTE = "database.moved"


def write_moved(data: Path, target: str, now: datetime) -> None:
    """Record where the database went."""
    draft = data / f"{NOTE}.new"
    draft.write_text(f"{target} on {now:%Y-%m-%d}\n", "utf-8")
    draft.replace(data / NOTE)


def check_not_moved(data: Path) -> None:
    """Refuse a database that was moved: its messages would be sent twice."""
    if (data / NOTE).exists():
        where = (data / NOTE).read_text("utf-8").strip()
        raise EmbeddedPostgresError(
            f"The database of {data} was moved to {where}. Set database.url to it. "
            f"To use the old database in this folder again, delete {data / NOTE}."
        )
