"""The address of the gateway that runs on a data folder, as it is reached from outside: commands beside it show it."""

import os
from pathlib import Path

_FILE = "gateway.url"


def note_address(folder: Path, url: str) -> None:
    """Writes down where the gateway is reached. A folder that cannot be written to goes without."""
    draft = folder / f"{_FILE}.{os.getpid()}"
    try:
        draft.write_text(url + "\n", "utf-8")
        draft.replace(folder / _FILE)
    except OSError:
        draft.unlink(missing_ok=True)


def noted_address(folder: Path) -> str | None:
    """Where the gateway of a folder was last reached; None where none has run yet."""
    try:
        return (folder / _FILE).read_text("utf-8").strip() or None
    except OSError:
        return None
