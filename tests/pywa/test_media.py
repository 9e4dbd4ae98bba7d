"""pywa uploads, looks up, downloads and deletes files, and its errors for what is gone."""

import hashlib
from pathlib import Path

import httpx
import pytest
from pywa.errors import WhatsAppError

from .stage import NUMBER, PERSON, Stage

PDF = b"%PDF-1.4\n" + bytes(5000)


def test_a_file_there_and_back(stage: Stage, tmp_path: Path) -> None:
    media = stage.wa.upload_media(PDF, mime_type="application/pdf", filename="a.pdf")
    url = stage.wa.get_media_url(media.id)
    assert (url.mime_type, url.file_size, url.sha256) == ("application/pdf", len(PDF), hashlib.sha256(PDF).hexdigest())
    assert stage.wa.get_media_bytes(url.url) == PDF
    assert b"".join(stage.wa.stream_media(url.url)) == PDF
    path = stage.wa.download_media(url=url.url, path=tmp_path, filename="b.pdf")
    assert Path(path).read_bytes() == PDF


def test_a_file_from_disk(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(PDF)
    stage.wa.send_document(PERSON, path, filename="a.pdf")
    [row] = stage.accepted()
    assert stage.wa.get_media_bytes(stage.wa.get_media_url(row["content"]["id"]).url) == PDF


def test_an_iterator_is_streamed_up(stage: Stage) -> None:
    pieces = (PDF[at : at + 1000] for at in range(0, len(PDF), 1000))
    media = stage.wa.upload_media(pieces, mime_type="application/pdf", filename="a.pdf")
    assert media.get_bytes() == PDF


def test_a_deleted_file_is_gone(stage: Stage) -> None:
    media = stage.wa.upload_media(PDF, mime_type="application/pdf", filename="a.pdf")
    assert stage.wa.delete_media(media.id, phone_id=NUMBER)
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.get_media_url(media.id)
    assert (seen.value.code, seen.value.subcode) == (100, 33)


def test_an_address_that_is_too_old_is_asked_for_again(stage: Stage) -> None:
    media = stage.wa.upload_media(PDF, mime_type="application/pdf", filename="a.pdf")
    url = stage.wa.get_media_url(media.id)
    stage.advance(300)
    with pytest.raises(httpx.HTTPStatusError) as gone:
        url.get_bytes()
    assert gone.value.response.status_code == 404
    assert url.regenerate_url().get_bytes() == PDF


@pytest.mark.parametrize(("kind", "size", "code"), [("image/gif", 10, 100), ("image/webp", 102_401, 131053)])
def test_a_file_that_is_refused(stage: Stage, kind: str, size: int, code: int) -> None:
    with pytest.raises(WhatsAppError) as seen:
        stage.wa.upload_media(bytes(size), mime_type=kind, filename="a.bin")
    assert seen.value.code == code
