"""Files that a message points at by id: they must be there, the number's own, and fit for their place."""

import pytest

from gatepost_sandbox.media import Media
from gatepost_sandbox.messages.limits import LIMITS
from gatepost_sandbox.messages.media import MediaRef, check_refs, find_misfit
from tests.for_each import for_each

NOW = 1_700_000_000.0


class File:
    """A file of any size that takes no room."""

    id, phone_number_id = "1", "1"

    def __init__(self, mime_type: str, size: int) -> None:
        self.mime_type, self.size = mime_type, size


def code(kind: str, mime_type: str, *, asker: str = "1", later: float = 0.0, voice: bool = False) -> int:
    media = Media(1, 10**9)
    stored = media.put("1", b"bytes", mime_type, None, NOW, incoming=False)
    refusal = check_refs([MediaRef(kind, kind, id=stored.id, voice=voice)], media, asker, NOW + later)
    return refusal.code if refusal is not None else 0


@for_each(
    ("kind", "mime_type", "expected"),
    [
        ("image", "image/jpeg", 0),
        ("image", "image/webp", 131053),
        ("image", "video/mp4", 131053),
        ("sticker", "image/webp", 0),
        ("sticker", "image/png", 131053),
        ("video", "video/3gpp", 0),
        ("audio", "audio/ogg; codecs=opus", 0),
        ("audio", "application/pdf", 131053),
        ("document", "application/pdf", 0),
        ("document", "image/png", 0),
        ("gif", "video/mp4", 0),
    ],
)
def test_a_file_fits_the_kind_of_message(kind: str, mime_type: str, expected: int) -> None:
    assert code(kind, mime_type) == expected


def test_a_voice_message_is_ogg() -> None:
    assert code("audio", "audio/ogg", voice=True) == 0
    assert code("audio", "audio/mpeg", voice=True) == 131053


def test_a_file_of_another_number_or_time_is_not_there() -> None:
    assert code("image", "image/png", asker="2") == 131009
    assert code("image", "image/png", later=30 * 86_400 - 1) == 0
    assert code("image", "image/png", later=30 * 86_400) == 131009
    assert check_refs([MediaRef("image", "image", id="404")], Media(1, 10), "1", NOW) is not None
    assert check_refs([MediaRef("image", "image", link="https://127.0.0.1/x")], Media(1, 10), "1", NOW) is None


@pytest.mark.parametrize("name", [name for name in LIMITS if name.startswith("media.")])
def test_a_file_is_not_too_large(name: str) -> None:
    kind, most = name.split(".")[1], LIMITS[name]
    mime_type = {"image": "image/png", "video": "video/mp4", "audio": "audio/mpeg", "sticker": "image/webp"}
    fits = [find_misfit(MediaRef(kind, kind, id="1"), File(mime_type.get(kind, "a/b"), most + more)) for more in (0, 1)]
    assert fits == [None, f"Media 1 is larger than {most} bytes."]
