"""The gateway's address in its data folder."""

from pathlib import Path

from gatepost.running_address import note_address, noted_address


def test_a_folder_that_cannot_be_written_to_does_not_stop_the_gateway(tmp_path: Path) -> None:
    """Here it is a file, which nobody can write into, not even root: it fails as a read-only file system does."""
    folder = tmp_path / "data"
    folder.touch()
    note_address(folder, "http://127.0.0.1:8080")
    assert noted_address(folder) is None
