"""Drops root privileges: a gateway that is started as root continues as another user, or logs why it cannot.

root ─► bind the port ─► choose the user ─► probe as that user ─► change the data folder's owner ─► switch user
                              └────────────────────┴──────────────────────┴─► failed: warning, continue as root

The user: `server.user`; otherwise the owner of the database in the data folder; otherwise the system user of the
embedded server. Nothing outside of the data folder changes owner, and no mode is changed.
"""

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import structlog

from gatepost.settings import Settings
from gatepost.store.embedded import EmbeddedPostgresError
from gatepost.store.embedded.account import OsUser, account_of, can_pass, identity, is_root, service_account
from gatepost.store.embedded.handover import CannotHandOver, hand_over
from gatepost.store.embedded.place import find_cluster

log = structlog.get_logger("gatepost")

ROOT = "root"
_PROBE = ("-P", "-m", "gatepost.store.access_probe")
_PATIENCE = 60.0


class CannotDrop(Exception):
    """The gateway must continue as root, for the given reason."""


def drop_privileges(settings: Settings) -> None:
    """Switch to an unprivileged user if possible. Call this before threads and connections exist."""
    if not is_root() or settings.server.user == ROOT:
        return
    try:
        account = choose_account(settings)
        check_way(account, settings.data_folder)
        probe(account, settings)
        hand_over(settings.data_folder, account)
    except (CannotDrop, CannotHandOver, EmbeddedPostgresError, OSError) as error:
        log.warning(
            "started as root, and continues as root",
            reason=str(error),
            remedy='start it as another user, or set server.user ("root" to keep root without this warning)',
        )
        return
    become(account)
    log.info("started as root, continues without privileges", user=account.name)


def choose_account(settings: Settings) -> OsUser:
    """Return the user to switch to."""
    cluster = None if settings.database.url else find_cluster(settings.data_folder)
    owner = cluster.stat().st_uid if cluster is not None else 0
    if not settings.server.user:
        return named_account(owner) if owner else service_account()
    try:
        account = account_of(pwd.getpwnam(settings.server.user).pw_uid)
    except KeyError:
        raise CannotDrop(f"there is no user {settings.server.user} (server.user)") from None
    if owner not in (0, account.uid):
        raise CannotDrop(f"the database in {cluster} belongs to the user {account_of(owner).name}, not {account.name}")
    return account


def named_account(uid: int) -> OsUser:
    """Return the user with an id. One without a name, as after a move of the data, cannot log in to the database."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise CannotDrop(f"the database belongs to the user id {uid}, which has no name on this system") from None
    return account_of(uid)


def check_way(account: OsUser, data: Path) -> None:
    """Check that the user can pass the nearest existing folder above the data folder. No mode is changed for it."""
    above = next(folder for folder in data.parents if folder.is_dir())
    if not can_pass(account, above):
        raise CannotDrop(f"the user {account.name} cannot get to {data}: a folder above it is closed to others")


def probe(account: OsUser, settings: Settings) -> None:
    """Check, as that user, access to what the gateway needs besides the data folder: the program, the database."""
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, *_PROBE, *other_folders(settings)],
            input=settings.database.url.encode(),
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
            env=environment_of(account),
            **identity(account),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDrop(f"the user {account.name} cannot run {sys.executable}: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise CannotDrop(f"the user {account.name}: {said[-1] if said else f'exit code {done.returncode}'}")


def other_folders(settings: Settings) -> list[str]:
    """Return the folders outside the data folder that the gateway writes to. Their owner is not changed."""
    url = urlsplit(settings.media.url)
    return [unquote(url.path)] if url.scheme == "file" else []


def environment_of(account: OsUser) -> dict[str, str]:
    """Return the environment of this process, adapted to that user."""
    try:
        home = pwd.getpwuid(account.uid).pw_dir
    except KeyError:
        home = "/"
    ours = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    return ours | {"HOME": home, "USER": account.name, "LOGNAME": account.name}


def become(account: OsUser) -> None:
    """Switch to the user permanently."""
    environment = environment_of(account)
    os.setgroups([])
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # to be chosen again: a folder that this user may write to
