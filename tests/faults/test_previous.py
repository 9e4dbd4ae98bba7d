"""Which code `make upgrade-check` runs beside the current one, and what it says where the history is missing."""

import subprocess
from pathlib import Path

import pytest

from faults.previous import NoHistory, previous_revision

MIGRATIONS = "src/gatepost/store/migrations"


def git(root: Path, *arguments: str) -> str:
    names = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *names, "-C", str(root), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def add_migration(root: Path, name: str) -> Path:
    file = root / MIGRATIONS / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("SELECT 1")
    return file


def commit(root: Path, subject: str) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet")
    return root


def test_it_is_the_revision_before_the_newest_migration_was_added(repository: Path) -> None:
    add_migration(repository, "0001_first.sql")
    commit(repository, "first")
    before = commit(repository, "the last one without the second migration")
    newest = add_migration(repository, "0002_second.sql")
    commit(repository, "second")
    newest.write_text("SELECT 2")
    commit(repository, "the second migration is changed, and nothing is added")
    assert previous_revision(repository) == before


def test_before_a_migration_that_is_not_committed_it_is_the_last_commit(repository: Path) -> None:
    add_migration(repository, "0001_first.sql")
    last = commit(repository, "first")
    add_migration(repository, "0002_second.sql")
    assert previous_revision(repository) == last


def test_a_folder_without_history_is_refused(tmp_path: Path) -> None:
    add_migration(tmp_path, "0001_first.sql")
    with pytest.raises(NoHistory, match="no git repository"):
        previous_revision(tmp_path)


def test_the_history_of_another_repository_around_it_is_refused(repository: Path) -> None:
    inside = repository / "unpacked"
    add_migration(inside, "0001_first.sql")
    commit(repository, "somebody else's")
    with pytest.raises(NoHistory, match="Run it in a clone of Gatepost"):
        previous_revision(inside)


def test_a_shallow_clone_is_refused_with_the_command_that_helps(repository: Path, tmp_path: Path) -> None:
    add_migration(repository, "0001_first.sql")
    commit(repository, "first")
    add_migration(repository, "0002_second.sql")
    commit(repository, "second")
    git(tmp_path, "clone", "--quiet", "--depth", "1", repository.as_uri(), "shallow")
    with pytest.raises(NoHistory, match="git fetch --unshallow"):
        previous_revision(tmp_path / "shallow")
