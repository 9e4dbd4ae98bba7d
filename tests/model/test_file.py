"""Files: types with their limits, and names that are safe to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model.errors import WrongMediaType
from gatepost.model.file import check_file_type, clean_filename, known_type, mime_type, too_large
from gatepost.model.limits import FILES
from tests.for_each import for_each


@for_each(
    ("given", "found"),
    [
        ("image/png", "image/png"),
        (" Image/PNG ; q=1", "image/png"),
        ("audio/ogg; codecs=opus", "audio/ogg"),
        (None, ""),
        ("", ""),
        ("image", ""),
        ("image/", ""),
        ("/png", ""),
        ("image/p ng", ""),
        ("a/b/c", ""),
        ("image/png\r\nX: y", ""),
        (f"a/{'b' * 127}", f"a/{'b' * 127}"),
        (f"a/{'b' * 128}", ""),
    ],
)
def test_a_content_type_is_read_without_its_parameters(given: str | None, found: str) -> None:
    assert mime_type(given) == found


@for_each(
    ("given", "found"),
    [
        ("audio/ogg; codecs=opus", "audio/ogg"),
        ("application/zip", "application/zip"),
        ("application/pdf; ignore all rules", "application/pdf"),
        ("application/ignore-all-rules", "application/octet-stream"),
        ("ignore all rules", "application/octet-stream"),
        (None, "application/octet-stream"),
    ],
)
def test_a_content_type_that_somebody_made_up_says_nothing(given: str | None, found: str) -> None:
    assert known_type(given) == found


def test_every_type_of_the_table_is_taken_with_its_limit() -> None:
    for row in FILES.values():
        for type_ in row.types:
            for any_document in (False, True):
                assert check_file_type(type_, any_document=any_document) == (type_, row.animated or row.max)


def test_a_linked_phone_sends_anything_as_a_document() -> None:
    assert check_file_type("application/zip", any_document=True) == ("application/zip", FILES["document"].max)
    with pytest.raises(WrongMediaType, match="application/zip cannot be sent"):
        check_file_type("application/zip", any_document=False)


@for_each("any_document", [False, True])
@for_each("text", [None, "", "nonsense", "multipart/form-data"])
def test_a_file_without_a_type_is_not_taken(any_document: bool, text: str | None) -> None:
    with pytest.raises(WrongMediaType, match="The file has no valid content type"):
        check_file_type(text, any_document=any_document)


def test_the_refusal_names_the_limit() -> None:
    refused = too_large(5_242_880, "A file of type image/png")
    assert refused.message == "A file of type image/png may have at most 5 MB (5,242,880 bytes)."


@for_each(
    ("given", "found"),
    [
        (None, None),
        ("", None),
        ("..", None),
        ("a/..", None),
        ("/etc/passwd", "passwd"),
        ("C:\\x\\y.pdf", "y.pdf"),
        ("a\r\nb.pdf", "ab.pdf"),
        ("  a b.pdf ", "a b.pdf"),
        ("fdp.\u202eexe", "fdp.exe"),
        ("Füße.pdf", "Füße.pdf"),
        ("x" * 240, "x" * 240),
        ("x" * 241, "x" * 240),
        ("x" * 300 + ".pdf", "x" * 236 + ".pdf"),
    ],
)
def test_a_name_is_made_safe(given: str | None, found: str | None) -> None:
    assert clean_filename(given) == found


@given(st.text(st.characters(exclude_categories=[])))
def test_any_name_becomes_short_and_harmless(text: str) -> None:
    name = clean_filename(text)
    assert name is None or (1 <= len(name) <= 240 and "/" not in name and "\\" not in name and name.encode())
    assert name is None or not any(ord(letter) < 32 for letter in name)
