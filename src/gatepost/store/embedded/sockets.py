"""The folder of the socket: inside the cluster, or a private folder with a short path if that address is too long."""

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from gatepost.store.embedded.account import OsUser, can_pass
from gatepost.store.embedded.data_folder import EmbeddedPostgresError
from gatepost.store.embedded.place import ClusterPlace, make_private_folder

SOCKET_NAME = ".s.PGSQL.5432"
# The smaller limit of Linux and macOS (macOS: 104 bytes including the terminating zero).
LONGEST_SOCKET_PATH = 103


def socket_folder(place: ClusterPlace) -> Path:
    """Return the folder for the socket, created if missing: in the cluster, or elsewhere if its path does not fit."""
    inside = place.cluster / "run"
    if fits(inside):
        with contextlib.suppress(FileExistsError):
            make_private_folder(inside, place.account)
        return inside
    return short_socket_folder(place)


def fits(folder: Path) -> bool:
    """Return whether a socket in this folder has an address that fits the kernel's limit and a database URL."""
    # A comma separates two hosts in a database URL, even if it is escaped.
    return len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_SOCKET_PATH and "," not in str(folder)


def short_socket_folder(place: ClusterPlace) -> Path:
    """Return a private folder in the runtime or temporary folder, normally the same one at each start."""
    name = f"gatepost-{hashlib.sha256(os.fsencode(place.cluster)).hexdigest()[:12]}"
    folder = runtime_folder(place.account) / name
    try:
        make_private_folder(folder, place.account)
    except FileExistsError:
        # Anyone can create entries in a shared temporary folder, so an existing one is used only if it is ours.
        if not is_private(folder, place.account):
            folder = Path(tempfile.mkdtemp(prefix="gatepost-", dir=folder.parent))
            os.chown(folder, place.account.uid, place.account.gid)
    return folder


def runtime_folder(account: OsUser) -> Path:
    """Return the runtime or temporary folder for sockets."""
    candidates = [tempfile.gettempdir(), "/tmp"]  # noqa: S108
    if account.uid == os.geteuid():
        candidates.insert(0, os.environ.get("XDG_RUNTIME_DIR", ""))
    for folder in (Path(candidate) for candidate in candidates if candidate):
        if folder.is_dir() and fits(folder / f"gatepost-{'x' * 12}") and can_pass(account, folder):
            return folder
    raise EmbeddedPostgresError(
        "No folder has a path short enough for the database's socket: set TMPDIR to a short one."
    )


def is_private(folder: Path, account: OsUser) -> bool:
    """Return whether a path is a real folder, owned by this user and closed to all others."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == account.uid and stat.S_IMODE(status.st_mode) == 0o700


def remove_short_sockets(place: ClusterPlace, sockets: Path | None) -> None:
    """Remove the socket folder if it is outside the cluster and empty."""
    if sockets is not None and place.cluster not in sockets.parents:
        with contextlib.suppress(OSError):
            sockets.rmdir()
