"""The rules of files: types, sizes and names."""

import mimetypes
import re

import msgspec

from gatepost.model.errors import TooLarge, WrongMediaType
from gatepost.model.limits import FILES, format_size, maximum

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}", re.ASCII)
_LIMITS = {type_: max(row.max, row.animated or 0) for row in FILES.values() for type_ in row.types}
_OCTETS = "application/octet-stream"
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class FetchedFile(msgspec.Struct, frozen=True):
    """A file that was fetched from a link."""

    content: bytes
    mime_type: str


class FetchFailure(msgspec.Struct, frozen=True):
    """The reason why a link could not be fetched, and whether a retry may succeed."""

    reason: str
    retry: bool


def mime_type(text: str | None) -> str:
    """Return a content type without parameters, in lowercase; an empty string if it is invalid."""
    bare = (text or "").partition(";")[0].strip().lower()
    return bare if _TYPE.fullmatch(bare) else ""


def known_type(text: str | None) -> str:
    """Return a content type that is listed here or in the registry. A sender can make up others: they say nothing."""
    type_ = mime_type(text)
    return type_ if type_ in _LIMITS or mimetypes.guess_extension(type_, strict=False) else _OCTETS


def check_file_type(text: str | None, *, any_document: bool) -> tuple[str, int]:
    """Return the MIME type of a file to be sent and its largest size. `any_document` permits types not listed."""
    type_ = mime_type(text)
    if not type_ or type_.startswith("multipart/"):
        raise WrongMediaType(
            "The file has no valid content type. Set it, for example to image/jpeg or application/pdf."
        )
    if type_ in _LIMITS:
        return type_, _LIMITS[type_]
    if any_document:
        return type_, FILES["document"].max
    raise WrongMediaType(f"Files of type {type_} cannot be sent. Supported types: {', '.join(sorted(_LIMITS))}.")


def too_large(limit: int, what: str) -> TooLarge:
    """Return the error of a file that is too large for its type."""
    return TooLarge(f"{what} may have at most {format_size(limit)} ({limit:,} bytes).", "media_too_large")


def storage_full(limit: int) -> TooLarge:
    """Return the error of a file that exceeds the storage of the account's plan."""
    return TooLarge(
        f"The storage of this account is full: its files may have {limit:,} bytes in total. "
        "Delete files, or choose a larger plan.",
        "storage_full",
    )


def clean_filename(text: str | None) -> str | None:
    """Return the last part of a path without invisible characters, cut to the maximum length; None if it is empty."""
    last = re.split(r"[/\\]", _UNSEEN.sub("", text or ""))[-1].strip()
    if last in ("", ".", ".."):
        return None
    longest = maximum("media.filename")
    stem, dot, ending = last.rpartition(".")
    if len(last) > longest and dot and len(ending) <= 16:
        return f"{stem[: longest - len(ending) - 1]}.{ending}"
    return last[:longest]
