"""Who runs the server: we ourselves, or under root a user without rights, because PostgreSQL refuses root."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import TypedDict

import msgspec

from gatepost.store.embedded.errors import EmbeddedPostgresError

SERVICE_USER = "gatepost"


class OsUser(msgspec.Struct, frozen=True):
    """A user of the operating system."""

    name: str
    uid: int
    gid: int


class ProcessIdentity(TypedDict, total=False):
    """The arguments of subprocess that change the user of a child."""

    user: int
    group: int
    extra_groups: list[int]


def is_root() -> bool:
    """Tell whether we may, and for PostgreSQL must, become somebody else."""
    return os.geteuid() == 0


def account_of(uid: int) -> OsUser:
    """Look a user up by number; one without an entry keeps its number as name."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return OsUser(name=str(uid), uid=uid, gid=os.getegid() if uid == os.geteuid() else uid)
    return OsUser(name=entry.pw_name, uid=uid, gid=entry.pw_gid)


def runner_of_new_cluster() -> OsUser:
    """Choose who shall own and run a cluster that is not there yet."""
    return service_account() if is_root() else account_of(os.geteuid())


def runner_of(cluster: Path) -> OsUser:
    """Tell who runs a cluster that exists: its owner, so that no ownership changes when root lends a hand."""
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
    """Hand a cluster that root owns (a restored copy) to the service user."""
    account = service_account()
    for folder, _, names in os.walk(cluster):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return account


def service_account() -> OsUser:
    """Return the system user for the server, made on first use; where none can be made, nobody."""
    for name in (SERVICE_USER, "nobody"):
        try:
            return account_of(pwd.getpwnam(name).pw_uid)
        except KeyError:
            if name == SERVICE_USER and create_service_user():
                return account_of(pwd.getpwnam(name).pw_uid)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and this system has neither a user gatepost (nor a way to make one) "
        "nor a user nobody. Make a system user named gatepost, run Gatepost as another user, or set database_url."
    )


def create_service_user() -> bool:
    """Try to make the system user, and tell whether it is there now."""
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        return False
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    shell = ["--shell", "/usr/sbin/nologin"]
    # Another gateway may make the same user at this moment, so the outcome is looked up, not taken from the exit code.
    subprocess.run([program, *options, *shell, SERVICE_USER], check=False, capture_output=True)  # noqa: S603
    return any(entry.pw_name == SERVICE_USER for entry in pwd.getpwall())


def identity(account: OsUser) -> ProcessIdentity:
    """Return what subprocess needs to run a child as this user."""
    if account.uid == os.geteuid():
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def can_pass(account: OsUser, folder: Path) -> bool:
    """Try, as that user, to enter a folder: the kernel knows of modes, access lists and mounts alike."""
    return _succeeds(account, ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)])


def can_run(account: OsUser, program: Path) -> bool:
    """Try, as that user, to run a program, its shared libraries included."""
    return _succeeds(account, [str(program), "--version"])


def _succeeds(account: OsUser, command: list[str]) -> bool:
    try:
        done = subprocess.run(command, check=False, capture_output=True, cwd="/", **identity(account))  # noqa: S603
    except OSError:
        return False
    return done.returncode == 0
