"""The folder of a cluster: inside the data folder, unless the server's user cannot enter it."""

import os
import secrets
import shutil
import subprocess
from pathlib import Path

import msgspec
import structlog

from gatepost.store.embedded.account import OsUser, can_pass, identity, runner_of, runner_of_new_cluster
from gatepost.store.embedded.conf import SUPERUSER, child_environment
from gatepost.store.embedded.data_folder import EmbeddedPostgresError
from gatepost.store.embedded.programs import MAJOR, make_open_folder, programs_for

log = structlog.get_logger("gatepost.store")

ROOT_HOME = Path("/var/lib/gatepost")
NOTE = "postgres.path"


class ClusterPlace(msgspec.Struct, frozen=True):
    """A cluster, the folder of PostgreSQL's programs, and the user they run as."""

    cluster: Path
    programs: Path
    account: OsUser


def find_cluster(data: Path) -> Path | None:
    """Return the cluster of a data folder; None if it has none yet."""
    if (data / "postgres" / "PG_VERSION").exists():
        return data / "postgres"
    note = data / NOTE
    if not note.exists():
        return None
    cluster = Path(note.read_text("utf-8").strip())
    if not (cluster / "PG_VERSION").exists():
        # Continuing would create an empty database where the operator expects the existing one.
        raise EmbeddedPostgresError(
            f"{note} says that the database is in {cluster}, but there is none. "
            f"Bring it back, or delete {note} to begin with an empty one."
        )
    return cluster


def settle(data: Path, root_home: Path = ROOT_HOME) -> ClusterPlace:
    """Find the cluster of a data folder, or create it."""
    data = data.resolve()
    cluster = find_cluster(data)
    if cluster is None:
        return create_cluster(data, root_home)
    account = runner_of(cluster)
    check_version(cluster)
    if not can_pass(account, cluster):
        raise EmbeddedPostgresError(
            f"The server runs as the user {account.name}, who cannot get to {cluster}: "
            "a folder above it is closed to others. Open that folder for passing (chmod o+x), or move the data folder."
        )
    return ClusterPlace(cluster=cluster, programs=programs_for(account, root_home), account=account)


def check_version(cluster: Path) -> None:
    """Reject a cluster of another major version, which this server cannot read."""
    found = (cluster / "PG_VERSION").read_text("utf-8").strip()
    if found != str(MAJOR):
        raise EmbeddedPostgresError(
            f"The database in {cluster} was made by PostgreSQL {found}; this Gatepost brings {MAJOR}. "
            f"Dump it with the programs of {found} and restore it into a new data folder."
        )


def create_cluster(data: Path, root_home: Path) -> ClusterPlace:
    """Create a new cluster next to its final path, and move it there when it is complete."""
    account = runner_of_new_cluster()
    place = ClusterPlace(
        cluster=choose_folder(data, account, root_home), programs=programs_for(account, root_home), account=account
    )
    draft = place.cluster.with_name("postgres.new")
    shutil.rmtree(draft, ignore_errors=True)
    make_private_folder(draft, account)
    run_initdb(place, draft)
    move_into_place(draft, place.cluster)
    if place.cluster.parent != data:
        write_note(data, place.cluster)
    return place


def choose_folder(data: Path, account: OsUser, root_home: Path) -> Path:
    """Return the path of a new cluster: in the data folder, or in `root_home` if the server's user cannot enter it."""
    if can_pass(account, data):
        return data / "postgres"
    # The name is not derived from DATA alone: a deleted and recreated data folder must not get its old database.
    home = root_home / f"{data.name}-{secrets.token_hex(4)}"
    make_open_folder(home)
    (home / "data-folder").write_text(f"{data}\n", "utf-8")
    log.warning(
        "the data folder is closed to the server's user: its database is kept elsewhere",
        data=str(data),
        user=account.name,
        database=str(home / "postgres"),
    )
    return home / "postgres"


def run_initdb(place: ClusterPlace, folder: Path) -> None:
    """Create an empty cluster in a folder."""
    options = ["--username", SUPERUSER, "--auth", "peer", "--encoding", "UTF8", "--data-checksums", "--no-instructions"]
    # Byte order with Unicode case rules: fast comparisons, and the same order on every machine and after every upgrade.
    locale = ["--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"]
    done = subprocess.run(  # noqa: S603
        [str(place.programs / "initdb"), "--pgdata", str(folder), *options, *locale],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=child_environment(),
        **identity(place.account),
    )
    if done.returncode != 0:
        words = done.stdout.decode("utf-8", "replace").strip()
        raise EmbeddedPostgresError(f"PostgreSQL's initdb failed in {folder} as user {place.account.name}:\n{words}")


def move_into_place(draft: Path, cluster: Path) -> None:
    """Rename a complete cluster to its final name, durably."""
    try:
        draft.rename(cluster)
    except OSError as error:
        raise EmbeddedPostgresError(
            f"{cluster} cannot be made ({error.strerror}): something else is there. Gatepost wants to make this folder "
            "itself; mount a volume at the data folder, not below it, and keep other files out."
        ) from error
    sync_folder(cluster.parent)


def write_note(data: Path, cluster: Path) -> None:
    """Record the path of the cluster in the data folder."""
    draft = data / f"{NOTE}.new"
    with draft.open("w", encoding="utf-8") as file:
        file.write(f"{cluster}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(data / NOTE)
    sync_folder(data)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_folder(folder: Path, account: OsUser) -> None:
    """Create a folder that only the server's user (and root) can enter."""
    folder.mkdir(mode=0o700)
    if account.uid != os.geteuid():
        os.chown(folder, account.uid, account.gid)
