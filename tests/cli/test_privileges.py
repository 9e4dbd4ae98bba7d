"""Started as root, the gateway drops privileges and changes the owner of nothing outside its folder, or logs why not.

Only root can run these tests.
"""

import asyncio
import json
import os
import pwd
import re
import shutil
import site
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest

import gatepost
from gatepost import privileges
from gatepost.cli.http_call import call
from gatepost.privileges import CannotDrop
from gatepost.settings import load
from gatepost.store.embedded.account import account_of, can_run, service_account
from gatepost.store.embedded.handover import CannotHandOver, hand_over
from tests.conftest import scratch_folder
from tests.patience import PATIENCE

NOBODY = account_of(pwd.getpwnam("nobody").pw_uid)
SOURCES = Path(gatepost.__file__).parents[1]
PYTHON = [sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"]


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a folder that everybody may pass through."""
    folder = scratch_folder()
    yield folder
    shutil.rmtree(folder)


def reachable_python() -> str | None:
    """A Python that a user without rights can run: that of a developer may lie in root's home."""
    return next((path for path in PYTHON if can_run(service_account(), Path(path))), None)


@asynccontextmanager
async def serving(
    data: Path, python: str, port: int = 0, **settings: str
) -> AsyncIterator[tuple[psutil.Process, str, list[str]]]:
    """A gateway in a process of its own; gives the process, its address and what it said."""
    packages = os.pathsep.join([str(SOURCES), *site.getsitepackages()])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SSL_CERT")}  # in root's folders
    environment = {**kept, "PYTHONPATH": packages, "NO_COLOR": "1", "GATEPOST_LOG__FORMAT": "json", **settings}
    program = await asyncio.create_subprocess_exec(
        *(python, "-m", "gatepost.cli", "serve", "--port", str(port), "--data", str(data)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
        cwd="/",
    )
    said: list[str] = []
    try:
        assert program.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while not said or '"ready"' not in said[-1]:
                line = (await program.stdout.readline()).decode()
                assert line, "".join(said)
                said.append(line)
        yield psutil.Process(program.pid), re.findall(r"http://127\.0\.0\.1:[0-9]+", said[-1])[0], said
        program.terminate()
        async with asyncio.timeout(PATIENCE):
            assert await program.wait() == 0, said
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


async def test_the_gateway_goes_on_without_rights(place: Path) -> None:
    python, data = reachable_python(), place / "data"
    if python is None:  # then nobody but root can run any Python here, and that is what the gateway has to say
        async with serving(data, sys.executable) as (process, _, said):
            assert process.uids().effective == 0
            assert "cannot run" in said[0]
        return
    for start in ("first", "second"):
        async with serving(data, python) as (process, url, said):
            user = service_account()
            assert set(process.uids()) == {user.uid}, said
            assert set(process.gids()) == {user.gid}
            assert (await asyncio.to_thread(call, f"{url}/readyz"))["success"]
            owners = {path.name: (path.stat().st_uid, path.stat().st_mode & 0o777) for path in data.iterdir()}
            assert {uid for uid, _ in owners.values()} == {user.uid}
            assert owners["secret.key"] == (user.uid, 0o600)
            # A command of root's beside it works, and leaves nothing behind that the gateway cannot use.
            beside = [sys.executable, "-m", "gatepost.cli", "account", "create", start, "--json", "--data", str(data)]
            done = await asyncio.to_thread(subprocess.run, beside, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["name"] == start
    assert place.stat().st_uid == 0


async def test_a_port_that_only_root_may_take_is_taken_before(place: Path) -> None:
    port = free_low_port()
    async with serving(place / "data", reachable_python() or sys.executable, port) as (_, url, _):
        assert url == f"http://127.0.0.1:{port}"
        assert (await asyncio.to_thread(call, f"{url}/readyz"))["success"]


async def test_several_processes_have_no_rights_and_share_such_a_port(place: Path) -> None:
    python, port = reachable_python() or sys.executable, free_low_port()
    async with serving(place / "data", python, port, GATEPOST_SERVER__PROCESSES="2") as (process, url, said):
        children = [one for one in process.children() if "gatepost.cli.serve_process" in one.cmdline()]
        assert len(children) == 2
        assert {one.uids() for one in children} == {process.uids()}, said
        if python != sys.executable:
            assert process.uids().effective == service_account().uid
        assert url == f"http://127.0.0.1:{port}"
        assert (await asyncio.to_thread(call, f"{url}/readyz"))["success"]


def free_low_port() -> int:
    for port in range(1023, 600, -1):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("every port below 1024 is taken")


async def test_where_it_cannot_it_says_why_and_goes_on_as_root(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    async with serving(closed / "data", sys.executable) as (process, url, said):
        assert process.uids().effective == 0
        [warning] = [json.loads(line) for line in said if "continues as root" in line]
        assert warning["level"] == "warning"
        assert "closed to others" in warning["reason"]
        assert (await asyncio.to_thread(call, f"{url}/readyz"))["success"]
    assert (closed.stat().st_mode & 0o777, closed.stat().st_uid) == (0o700, 0)
    assert (closed / "data").stat().st_uid == 0


async def test_root_can_be_kept_on_purpose(place: Path, parted_database_url: str) -> None:
    gateway = serving(
        place / "data", sys.executable, GATEPOST_SERVER__USER="root", GATEPOST_DATABASE__URL=parted_database_url
    )
    async with gateway as (process, _, said):
        assert process.uids().effective == 0
        assert not [line for line in said if "started as root" in line]


@pytest.mark.parametrize(
    ("user", "owner", "reason"),
    [
        ("nosuchuser", None, "there is no user nosuchuser"),
        ("daemon", "nobody", "belongs to the user nobody, not daemon"),
    ],
)
def test_a_user_that_does_not_fit_is_named(place: Path, user: str, owner: str | None, reason: str) -> None:
    if owner:
        (place / "postgres").mkdir()
        (place / "postgres" / "PG_VERSION").write_text("18\n")
        os.chown(place / "postgres", pwd.getpwnam(owner).pw_uid, -1)
    settings = load(environ={}, overrides={"data": str(place), "server.user": user})
    with pytest.raises(CannotDrop, match=reason):
        privileges.choose_account(settings)


def test_the_owner_of_the_database_is_chosen(place: Path) -> None:
    (place / "postgres").mkdir()
    (place / "postgres" / "PG_VERSION").write_text("18\n")
    os.chown(place / "postgres", NOBODY.uid, -1)
    assert privileges.choose_account(load(environ={}, overrides={"data": str(place)})) == NOBODY


def test_with_another_database_the_folders_own_does_not_count(place: Path) -> None:
    (place / "postgres").mkdir()
    (place / "postgres" / "PG_VERSION").write_text("18\n")
    os.chown(place / "postgres", NOBODY.uid, -1)
    elsewhere = {"data": str(place), "database.url": "postgresql://127.0.0.1/gatepost"}
    assert privileges.choose_account(load(environ={}, overrides=elsewhere)) == service_account() != NOBODY


def test_an_owner_without_a_name_is_a_reason(place: Path) -> None:
    (place / "postgres").mkdir()
    (place / "postgres" / "PG_VERSION").write_text("18\n")
    os.chown(place / "postgres", 54_321, -1)
    with pytest.raises(CannotDrop, match="user id 54321, which has no name"):
        privileges.choose_account(load(environ={}, overrides={"data": str(place)}))


def test_a_program_out_of_reach_is_a_reason(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = place / "hidden"
    hidden.mkdir(mode=0o700)
    monkeypatch.setattr(sys, "executable", str(hidden / "python"))
    with pytest.raises(CannotDrop, match=r"cannot run .*/hidden/python"):
        privileges.probe(NOBODY, load(environ={}, overrides={"data": str(place)}))


@pytest.fixture
def probing(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let probes run with a Python that others can run."""
    monkeypatch.setattr(sys, "executable", reachable_python() or sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCES), *site.getsitepackages()]))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    return monkeypatch


def test_a_media_folder_elsewhere_is_not_taken_but_a_reason(place: Path, probing: pytest.MonkeyPatch) -> None:
    media = place / "media elsewhere"
    media.mkdir(mode=0o755)
    settings = load(environ={}, overrides={"data": str(place / "data"), "media.url": media.as_uri()})
    with pytest.raises(CannotDrop, match="media elsewhere" if reachable_python() else "cannot run"):
        privileges.probe(NOBODY, settings)
    assert media.stat().st_uid == 0


def test_certificates_out_of_reach_are_a_reason(place: Path, probing: pytest.MonkeyPatch) -> None:
    authority = place / "authority.pem"
    authority.touch(mode=0o600)
    probing.setenv("SSL_CERT_FILE", str(authority))
    with pytest.raises(CannotDrop, match=r"authority\.pem" if reachable_python() else "cannot run"):
        privileges.probe(NOBODY, load(environ={}, overrides={"data": str(place / "data")}))


def test_a_database_that_knows_only_root_is_a_reason(
    place: Path, probing: pytest.MonkeyPatch, database_url: str
) -> None:
    """The test's own server lets root and its own user in, and nobody else; its socket is closed to others."""
    settings = load(environ={}, overrides={"data": str(place / "data"), "database.url": database_url})
    with pytest.raises(CannotDrop, match="does not let it in" if reachable_python() else "cannot run"):
        privileges.probe(NOBODY, settings)


def test_root_privileges_are_dropped_permanently() -> None:
    script = """
import os, asyncio, pwd
from gatepost.privileges import become
from gatepost.store.embedded.account import account_of
become(account_of(pwd.getpwnam("nobody").pw_uid))
try:
    os.setuid(0)
except PermissionError:
    print(os.getresuid(), os.getgroups(), os.environ["USER"], os.environ.get("XDG_RUNTIME_DIR"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"XDG_RUNTIME_DIR": "/run/user/0"},
        extra_groups=[0, pwd.getpwnam("daemon").pw_gid],
    )
    assert done.stdout.strip() == f"{(NOBODY.uid,) * 3} [] nobody None"


# --- the data folder


def test_what_root_made_is_handed_over_and_modes_stay(place: Path) -> None:
    data = place / "data"
    (data / "media" / "ch_1").mkdir(parents=True)
    (data / "media" / "ch_1" / "file").write_bytes(b"x")
    (data / "secret.key").write_text("x")
    (data / "secret.key").chmod(0o600)
    data.chmod(0o750)
    hand_over(data, NOBODY)
    everything = [data, *data.rglob("*")]
    assert {path.stat().st_uid for path in everything} == {NOBODY.uid}
    assert (data.stat().st_mode & 0o777, (data / "secret.key").stat().st_mode & 0o777) == (0o750, 0o600)
    (data / "quickstart.json").write_text("x")  # by a command of root's, later
    (data / "notes.txt").write_text("x")
    hand_over(data, NOBODY)
    assert ((data / "quickstart.json").stat().st_uid, (data / "notes.txt").stat().st_uid) == (NOBODY.uid, 0)


def test_a_folder_with_other_things_in_it_is_left_alone(place: Path) -> None:
    (place / "secret.key").write_text("x")
    (place / ".bashrc").write_text("x")
    with pytest.raises(CannotHandOver, match=r"also holds \.bashrc"):
        hand_over(place, NOBODY)
    assert {path.stat().st_uid for path in (place, *place.iterdir())} == {0}


def test_a_folder_that_others_may_write_to_is_left_alone(place: Path) -> None:
    place.chmod(0o777)
    with pytest.raises(CannotHandOver, match="writable by others"):
        hand_over(place, NOBODY)


def test_a_third_users_folder_is_left_alone(place: Path) -> None:
    os.chown(place, pwd.getpwnam("daemon").pw_uid, -1)
    with pytest.raises(CannotHandOver, match="belongs to the user daemon"):
        hand_over(place, NOBODY)


@pytest.mark.parametrize("belongs_to", [0, NOBODY.uid])
def test_links_lead_nobody_to_roots_files(place: Path, belongs_to: int) -> None:
    data, secret, folder = place / "data", place / "shadow", place / "etc"
    data.mkdir(mode=0o700)
    folder.mkdir()
    for path in (secret, folder / "passwd"):
        path.write_text("root's own")
    os.link(secret, data / "secret.key")
    (data / "quickstart.json").symlink_to(secret)
    (data / "media").symlink_to(folder)
    os.chown(data, belongs_to, -1)
    hand_over(data, NOBODY)
    assert {path.stat().st_uid for path in (secret, folder, folder / "passwd")} == {0}
