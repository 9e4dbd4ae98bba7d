"""Where the engine's parts lie: with a program in the place of npm that fetches nothing, in environments of our own."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from gatepost.networks.qr.phone.by_baileys import install

NPM = "#!/bin/sh\nmkdir node_modules\n"
OLD_NODE = "#!/bin/sh\necho v18.20.0\n"
NODE = "#!/bin/sh\necho v22.1.0\n"
FAILS = "#!/bin/sh\necho no network >&2\nexit 1\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with nothing in it, and programs that do what a test says."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    write(folder / "node", NODE)
    write(folder / "npm", NPM)
    return folder


def write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_parts_are_fetched_once_and_found(programs: Path) -> None:
    with pytest.raises(install.CannotInstall, match="gatepost qr install"):
        install.program()
    folder = install.install()
    write(programs / "npm", FAILS)
    assert install.install() == folder
    assert install.program()[0] == str(programs / "node")
    assert Path(install.program()[1]).is_file()


def test_removed_parts_are_fetched_again(programs: Path) -> None:
    folder = install.install()
    (folder / "node_modules").rmdir()
    assert (install.install() / "node_modules").is_dir()


def test_what_could_not_be_fetched_leaves_nothing_behind(programs: Path) -> None:
    write(programs / "npm", FAILS)
    with pytest.raises(install.CannotInstall, match="no network"):
        install.install()
    assert list(install.home().parent.iterdir()) == []


def test_a_node_that_is_too_old_is_named(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "_wheel", lambda *_: None)
    write(programs / "node", OLD_NODE)
    with pytest.raises(install.CannotInstall, match="version 18"):
        install.install()
    write(programs / "node", OLD_NODE.replace("18", "20"))
    assert install.node() == str(programs / "node")


def test_a_place_that_cannot_be_written_is_named(programs: Path) -> None:
    install.home().parent.parent.mkdir(parents=True)
    install.home().parent.write_text("a file where the folder should be")
    with pytest.raises(install.CannotInstall, match="put into place"):
        install.install()


def test_parts_that_may_not_be_completed_are_named(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an update of Gatepost its own part is new; the user of the gateway may not be allowed to write it."""

    def read_only(*_: object, **__: object) -> None:
        raise PermissionError("Read-only file system")  # root, who runs tests, may write anywhere

    ours = Path(install.install(), Path(install.program()[1]).parent.name)
    shutil.rmtree(ours)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", read_only)
    with pytest.raises(install.CannotInstall, match="Read-only file system"):
        install.program()
