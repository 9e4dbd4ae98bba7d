"""Handing a data folder over from root to the user that the gateway goes on as.

The folder itself changes owner only if everything in it is Gatepost's: --data may name any folder, somebody's home
among them. Nothing is done by name twice, and no link is followed: the folder may already belong to that user.
"""

import os
import stat
from pathlib import Path

from gatepost.store.embedded.account import OsUser, account_of
from gatepost.store.embedded.lock import LOCK_FILE, make_data_folder
from gatepost.store.embedded.place import NOTE

# What Gatepost makes in a data folder; drafts of these begin with a dot.
OURS = ("secret.key", "quickstart.json", LOCK_FILE, NOTE, "gateway.url", "postgres", "media", "sandbox")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class CannotHandOver(Exception):
    """Why the folder stays root's."""


def hand_over(data: Path, account: OsUser) -> None:
    """Make the data folder, with what root made in it, that user's; one of a third user is left alone."""
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


def check_contents(data: Path, folder: int) -> None:
    """Refuse a folder that is not Gatepost's alone."""
    if os.fstat(folder).st_mode & _WRITABLE_BY_OTHERS:
        raise CannotHandOver(f"the data folder {data} is writable by others")
    for name in os.listdir(folder):
        if not is_ours(name):
            raise CannotHandOver(f"the data folder {data} also holds {name}: give Gatepost a folder of its own")


def is_ours(name: str) -> bool:
    """Tell whether Gatepost makes a file or folder of this name in a data folder, drafts included."""
    return name.lstrip(".").startswith(OURS)


def _give(name: str, folder: int, account: OsUser, *, deep: bool) -> None:
    """Give one file to the user, and of a folder that was root's until now, all that is in it."""
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
    """Give a file of root's; one with a second name may be somebody else's file, linked here."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_uid == 0 and status.st_nlink == 1:
            os.fchown(descriptor, account.uid, account.gid)
    finally:
        os.close(descriptor)
