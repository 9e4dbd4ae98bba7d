"""Changes the owner of a data folder from root to the user that the gateway will run as.

The folder itself changes owner only if everything in it is Gatepost's: --data may name any folder, even a home folder.
Files are changed through open descriptors and no link is followed, as the folder may already belong to that user.
"""

import os
import stat
from pathlib import Path

from gatepost.store.embedded.account import OsUser, account_of
from gatepost.store.embedded.data_folder import LOCK_FILE, make_data_folder
from gatepost.store.embedded.place import NOTE

# The names that Gatepost creates in a data folder; drafts of them begin with a dot.
OURS = (
    "secret.key",
    "quickstart.json",
    LOCK_FILE,
    NOTE,
    "gateway.url",
    "postgres",
    "media",
    "sandbox",
    "last-backup.json",
    "database.moved",
)
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class CannotHandOver(Exception):
    """The owner of the folder was not changed. The text is the reason."""


def hand_over(data: Path, account: OsUser) -> None:
    """Give the data folder, and what root created in it, to a user. A folder of a third user is rejected."""
    made = not data.exists()
    make_data_folder(data)
    folder = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        owner = os.fstat(folder).st_uid
        if owner not in (0, account.uid):
            raise CannotHandOver(f"the data folder {data} belongs to the user {account_of(owner).name}")
        if owner == 0 and not made:
            check_contents(data, folder)
        for name in sorted(os.listdir(folder)):
            if is_ours(name):
                _give(name, folder, account, deep=owner == 0)
        if owner == 0:
            os.fchown(folder, account.uid, account.gid)
    finally:
        os.close(folder)


def hand_over_media(data: Path) -> None:
    """Give the files of messages that root has just written to the owner of the data folder."""
    owner = data.stat().st_uid
    if os.geteuid() != 0 or owner == 0 or not (data / "media").is_dir():
        return
    folder = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _give("media", folder, account_of(owner), deep=True)
    finally:
        os.close(folder)


def check_contents(data: Path, folder: int) -> None:
    """Reject a folder that is not used by Gatepost alone."""
    if os.fstat(folder).st_mode & _WRITABLE_BY_OTHERS:
        raise CannotHandOver(f"the data folder {data} is writable by others")
    for name in os.listdir(folder):
        if not is_ours(name):
            raise CannotHandOver(f"the data folder {data} also holds {name}: give Gatepost a folder of its own")


def is_ours(name: str) -> bool:
    """Return whether Gatepost creates files or folders of this name in a data folder, including drafts."""
    return name.lstrip(".").startswith(OURS)


def _give(name: str, folder: int, account: OsUser, *, deep: bool) -> None:
    """Give one file to the user, or with `deep` a folder and its contents."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        _give_file(name, folder, account)
    elif stat.S_ISDIR(status.st_mode) and deep:
        for _, _, files, inner in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
            for file in files:
                if stat.S_ISREG(os.stat(file, dir_fd=inner, follow_symlinks=False).st_mode):
                    _give_file(file, inner, account)
            if os.fstat(inner).st_uid == 0:
                os.fchown(inner, account.uid, account.gid)


def _give_file(name: str, folder: int, account: OsUser) -> None:
    """Give a file of root to the user, unless it has several hard links: it may be a linked file of another user."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_uid == 0 and status.st_nlink == 1:
            os.fchown(descriptor, account.uid, account.gid)
    finally:
        os.close(descriptor)
