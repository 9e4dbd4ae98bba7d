"""The image's entry point, run as the container would run it: its environment, its user, a root that is read-only.

There is no container engine in the tests. A mount namespace has the same effect on what the gateway sees: everything is
read-only except /data (here: /mnt) and /tmp, and the user 10001 has the name that the image gives it.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.files import ROOT, last_stage
from tests.patience import PATIENCE

STAGE = last_stage()
UID, GID = map(int, STAGE["USER"].split(":"))
NAMESPACE = ["unshare", "--mount", "--propagation", "private"]
# As the image's RUN useradd and a container's options do it.
SETUP = """
set -e
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/data" /mnt
mount --rbind /tmp /tmp
mount -o remount,ro,bind /
case "$2" in /tmp/*) ;; *) mount --bind "$2" "$2"; mount -o remount,ro,bind "$2";; esac
if touch /usr/not-read-only 2> /dev/null; then echo "the root is not read-only" >&2; exit 99; fi
cd /mnt
user=$3 group=$4
shift 4
exec setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gatepost-container-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "data").mkdir(mode=0o700)
        os.chown(folder / "data", UID, GID)
        (folder / "passwd").write_text(f"root:x:0:0::/root:/bin/sh\ngatepost:x:{UID}:{GID}::/data:/usr/sbin/nologin\n")
        yield folder


def environment(port: int) -> dict[str, str]:
    """Return the environment of the image, with the folders and a port of this machine."""
    env = dict(STAGE.env)
    assert env.pop("PATH") == "/opt/gatepost/bin:$PATH"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return env | {"PATH": path, "GATEPOST_DATA": "/mnt", "GATEPOST_SERVER__PORT": str(port)}


def is_healthy(port: int) -> bool:
    """Run the image's health check."""
    check = STAGE.words("HEALTHCHECK")
    done = subprocess.run(check, env=environment(port), check=False, timeout=PATIENCE, capture_output=True)
    return done.returncode == 0


def test_the_image_runs_as_its_user_on_a_read_only_root(folder: Path) -> None:
    command = [*STAGE.words("ENTRYPOINT"), *STAGE.words("CMD")]
    program = subprocess.Popen(
        [*NAMESPACE, "sh", "-c", SETUP, "sh", str(folder), str(ROOT), str(UID), str(GID), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(0),
    )
    assert program.stdout is not None
    printed = []
    try:
        for line in program.stdout:
            printed.append(line)
            if '"ready"' in line:
                break
        assert '"ready"' in printed[-1], "".join(printed)
        assert Path(f"/proc/{program.pid}").stat().st_uid == UID
        port = int(json.loads(printed[-1])["url"].rpartition(":")[2])
        assert is_healthy(port)
    finally:
        program.send_signal(getattr(signal, STAGE["STOPSIGNAL"]))
        printed.append(program.communicate(timeout=PATIENCE)[0])
    assert program.returncode == 0, "".join(printed)
    assert not is_healthy(port)
    assert {path.stat().st_uid for path in (folder / "data").iterdir()} == {UID}
    assert {"secret.key", "postgres"} <= {path.name for path in (folder / "data").iterdir()}
