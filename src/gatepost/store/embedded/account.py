"""The user that runs the server: our own, or an unprivileged one if we are root, as PostgreSQL does not run as root."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import TypedDict

import msgspec

from gatepost.store.embedded.data_folder import EmbeddedPostgresError

SERVICE_USER = "gatepost"


class OsUser(msgspec.Struct, frozen=True):
    """A user of the operating system."""

    name: str
    uid: int
    gid: int


class ProcessIdentity(TypedDict, total=False):
    """The arguments of subprocess that set the user of a child."""

    user: int
    group: int
    extra_groups: list[int]


def is_root() -> bool:
    """Return whether we run as root, so that PostgreSQL has to run as another user."""
    return os.geteuid() == 0


def account_of(uid: int) -> OsUser:
    """Look up a user by uid. Without an entry, the uid is used as the name."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return OsUser(name=str(uid), uid=uid, gid=os.getegid() if uid == os.geteuid() else uid)
    return OsUser(name=entry.pw_name, uid=uid, gid=entry.pw_gid)


def runner_of_new_cluster() -> OsUser:
    """Return the user that will own and run a new cluster."""
    return service_account() if is_root() else account_of(os.geteuid())


def runner_of(cluster: Path) -> OsUser:
    """Return the user that runs an existing cluster: its owner, so that no ownership changes if root starts it."""
    owner = cluster.stat().st_uid
    if is_root():
        return account_of(owner) if owner != 0 else take_from_root(cluster)
    if owner != os.geteuid():
        raise EmbeddedPostgresError(
            f"The database in {cluster} belongs to the user {account_of(owner).name}. "
            f"Run Gatepost as {account_of(owner).name} or as root, or choose another data folder."
        )
    return account_of(owner)


def take_from_root(cluster: Path) -> OsUser:
    """Change the owner of a cluster that root owns, such as a restored copy, to the service user."""
    account = service_account()
    for folder, _, names in os.walk(cluster):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return account


def service_account() -> OsUser:
    """Return the system user for the server, created on first use; `nobody` if it cannot be created."""
    for name in (SERVICE_USER, "nobody"):
        try:
            return account_of(pwd.getpwnam(name).pw_uid)
        except KeyError:
            if name == SERVICE_USER and create_service_user():
                return account_of(pwd.getpwnam(name).pw_uid)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and this system has neither a user gatepost (nor a way to make one) "
        "nor a user nobody. Make a system user named gatepost, run Gatepost as another user, or set database.url."
    )


def create_service_user() -> bool:
    """Try to create the system user; return whether it exists now."""
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        return False
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    shell = ["--shell", "/usr/sbin/nologin"]
    # Another gateway may create the same user at the same time, so the exit code does not show whether it exists.
    subprocess.run([program, *options, *shell, SERVICE_USER], check=False, capture_output=True)  # noqa: S603
    return any(entry.pw_name == SERVICE_USER for entry in pwd.getpwall())


def identity(account: OsUser) -> ProcessIdentity:
    """Return the arguments of subprocess that run a child as this user."""
    if account.uid == os.geteuid():
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def can_pass(account: OsUser, folder: Path) -> bool:
    """Return whether a user can enter a folder. Trying it as that user covers modes, access lists and mounts."""
    return _succeeds(account, ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)])


def can_run(account: OsUser, program: Path) -> bool:
    """Return whether a user can run a program, including its shared libraries."""
    return _succeeds(account, [str(program), "--version"])


def _succeeds(account: OsUser, command: list[str]) -> bool:
    try:
        done = subprocess.run(command, check=False, capture_output=True, cwd="/", **identity(account))  # noqa: S603
    except OSError:
        return False
    return done.returncode == 0
