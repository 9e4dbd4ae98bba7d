"""The data folder and the settings of a gateway under test."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench.processes import ROOT
from gatepost.store.embedded.place import find_cluster

_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


def file_system(folder: Path) -> str:
    """Return the type of the file system of a folder."""
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    for place in (folder.resolve(), *folder.resolve().parents):
        if place in mounts:
            return mounts[place]
    return ""


@contextmanager
def data_folder() -> Iterator[Path]:
    """Create a temporary folder on a real disk: commits to memory would be too fast."""
    places = [Path(tempfile.gettempdir()), Path("/var/tmp"), ROOT]
    place = next(place for place in places if place.is_dir() and file_system(place) not in _IN_MEMORY)
    folder = Path(tempfile.mkdtemp(prefix="gatepost-bench-", dir=place))
    folder.chmod(0o711)  # as root, the database runs as another user, who must be able to enter
    try:
        yield folder
    finally:
        with contextlib.suppress(Exception):
            cluster = find_cluster(folder)
            if cluster is not None and folder not in cluster.parents:
                shutil.rmtree(cluster.parent, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def fsync_seconds(folder: Path, times: int = 50) -> float:
    """Return the median time that this disk takes to write and sync 8 KiB."""
    took = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(times):
            began = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * 8192, 0)
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return sorted(took)[times // 2]


def write_config(folder: Path, sandbox_url: str = "http://127.0.0.1:9") -> Path:
    """Write the settings of a benchmark, without rate limits."""
    path = folder / "bench.toml"
    path.write_text(
        f'[api]\nrate = 1000000\nburst = 1000000\n[cloud]\nbase_url = "{sandbox_url}"\n'
        '[webhooks]\nallow = ["127.0.0.0/8"]\n[log]\nlevel = "warning"\n'
    )
    return path
