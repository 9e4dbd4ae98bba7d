"""Files that fit, and the 24-hour window."""

from datetime import UTC, datetime, timedelta

import pytest

from gatepost.model.errors import Invalid, TooLarge, WrongMediaType
from gatepost.model.limits import FILES
from gatepost.model.media import check_media
from gatepost.model.window import WINDOW, check_window, window_ends

MB = 1024 * 1024
NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(("type_", "most"), [("image", 5), ("video", 16), ("audio", 16), ("document", 100)])
def test_sizes_at_the_edge(type_: str, most: int) -> None:
    for mime_type in FILES[type_].types:
        check_media(type_, mime_type, 0)
        check_media(type_, mime_type, most * MB)
        with pytest.raises(TooLarge, match=f"at most {most} MB") as refused:
            check_media(type_, mime_type, most * MB + 1, field="header.media")
        assert (refused.value.code, refused.value.fields[0].field) == ("media_too_large", "header.media")


@pytest.mark.parametrize(("animated", "most"), [(False, 100), (True, 500), (None, 500)])
def test_stickers_that_move_may_be_larger(animated: bool | None, most: int) -> None:
    check_media("sticker", "image/webp", most * 1024, animated=animated)
    with pytest.raises(TooLarge, match=f"a sticker may have at most {most} KB"):
        check_media("sticker", "image/webp", most * 1024 + 1, animated=animated)


@pytest.mark.parametrize(
    ("type_", "mime_type"),
    [("image", "image/webp"), ("image", "image/gif"), ("sticker", "image/png"), ("video", "audio/mp4"), ("audio", "")],
)
def test_the_wrong_kind_of_file(type_: str, mime_type: str) -> None:
    for any_document in (False, True):
        with pytest.raises(WrongMediaType, match=f"a message of type {type_} supports") as refused:
            check_media(type_, mime_type, 1, any_document=any_document)
        assert refused.value.code == "unsupported_media_type"
        assert refused.value.fields[0].field == "media"


def test_parameters_and_capitals_do_not_matter() -> None:
    check_media("audio", "Audio/OGG; codecs=opus", 1)


def test_any_document_goes_by_a_linked_phone() -> None:
    check_media("document", "application/zip", 1, any_document=True)
    for any_document, mime_type in ((False, "application/zip"), (True, "nonsense")):
        with pytest.raises(WrongMediaType):
            check_media("document", mime_type, 1, any_document=any_document)


def test_the_window_closes_to_the_moment() -> None:
    assert timedelta(hours=24) == WINDOW
    assert window_ends(None) is None
    check_window(NOW - WINDOW + timedelta(microseconds=1), NOW)
    for last, hint in ((NOW - WINDOW, "2026-11-15T10:00:00.000Z"), (None, "has not written to you yet")):
        with pytest.raises(Invalid, match=hint) as refused:
            check_window(last, NOW)
        assert refused.value.code == "window_closed"
        assert "Send a template" in refused.value.message
