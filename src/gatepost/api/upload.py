"""Reads an upload as a stream, without buffering it: a form with the field `file`, or the plain bytes.

multipart/form-data   type, filename (both optional, before the file) ─► file ─► nothing more
any other type        the body is the file; ?filename= gives its name
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from multipart import (  # type: ignore[import-untyped]
    MultipartError,
    MultipartSegment,
    PushMultipartParser,
    parse_options_header,
)

from gatepost.api.asgi import Request
from gatepost.model.errors import BadRequest, invalid_field
from gatepost.model.file import too_large

FIELD_MAX = 1024  # bytes of a field other than the file
_SLACK = 16 * 1024  # bytes that a form may have around its file
_FIELDS = ("type", "filename")
_PARTS = 10  # more than any valid form has; the error names the first wrong one

Event = Any  # the header of a part, bytes of it, or None at its end


class Upload(msgspec.Struct, frozen=True):
    """A file whose bytes have not been read yet."""

    mime_type: str | None
    filename: str | None
    least: int  # minimum size in bytes, if the request has a length
    announced: int  # maximum size in bytes, if the request has a length; otherwise 0
    chunks: AsyncIterator[bytes]

    def check_announced(self, limit: int) -> None:
        """Reject a file that is too large by its announced size."""
        if self.least > limit:
            raise too_large(limit, f"A file of type {self.mime_type}")


async def open_upload(request: Request, filename: str | None = None) -> Upload:
    """Read the request up to the first byte of the file."""
    kind, options = parse_options_header(request.headers.get("content-type") or "")
    length = request.content_length or 0
    if kind != "multipart/form-data":
        return Upload(kind, filename, length, length, _chunks(request))
    events = _events(request, options.get("boundary", ""))
    fields, segment = await _read_fields(events)
    named = fields.get("type") or segment.content_type
    return Upload(named, fields.get("filename") or segment.filename, length - _SLACK, length, _file(events))


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except BadRequest:
        raise _broken("it broke off") from None


async def _events(request: Request, boundary: str) -> AsyncIterator[Event]:
    try:
        with PushMultipartParser(boundary, max_segment_count=_PARTS, strict=True) as parser:
            async for chunk in _chunks(request):
                for event in parser.parse(chunk):
                    yield event
    except MultipartError as error:
        raise _broken(str(error)) from None


async def _read_fields(events: AsyncIterator[Event]) -> tuple[dict[str, str], MultipartSegment]:
    """Return the fields before the file, and the header of the file's part."""
    fields: dict[str, str] = {}
    async for event in events:
        if isinstance(event, MultipartSegment):
            if event.name == "file":
                return fields, event
            _check_field(event.name, fields)
            fields[event.name or ""] = await _read_text(event.name or "", events)
    raise invalid_field("file", "is required")


async def _read_text(name: str, events: AsyncIterator[Event]) -> str:
    text = b""
    async for event in events:
        if event is None:
            break
        text += event
        if len(text) > FIELD_MAX:
            raise invalid_field(name, f"may have at most {FIELD_MAX:,} bytes")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise invalid_field(name, "must be text in UTF-8") from None


async def _file(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """Yield the bytes of the file, then read to the end of the form: a truncated form is rejected."""
    async for event in events:
        if event is None:
            break
        yield bytes(event)
    async for event in events:
        if isinstance(event, MultipartSegment):
            raise invalid_field(event.name or "form", "must stand before the file, and only once")


def _check_field(name: str | None, seen: dict[str, str]) -> None:
    if name not in _FIELDS:
        raise invalid_field((name or "form")[:100], "is not a field of this request")
    if name in seen:
        raise invalid_field(name, "must stand only once")


def _broken(why: str) -> BadRequest:
    return BadRequest(f"The upload cannot be read: {why}. Nothing was kept.", "malformed_upload")
