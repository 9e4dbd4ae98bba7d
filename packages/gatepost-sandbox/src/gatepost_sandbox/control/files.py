"""Files of chats. Their content comes from strangers: a browser must never run it."""

import re
from typing import Any
from urllib.parse import quote

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from gatepost_sandbox.chats.show import ChatFile
from gatepost_sandbox.control.problems import not_found
from gatepost_sandbox.world import World

_INLINE = re.compile(r"(image/(png|jpeg|webp|gif)|audio/[a-z0-9.+-]+|video/[a-z0-9.+-]+)\Z")
_MIME_TYPE = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+(; ?[a-z0-9-]+=[a-z0-9.,+-]+)*\Z")
_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)\Z")
_HEADERS = {
    "accept-ranges": "bytes",
    "cache-control": "private, max-age=3600",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


@get("/control/files/{number:str}/{file_id:str}", sync_to_thread=False)
def get_chat_file(
    world: NamedDependency[World], number: FromPath[str], file_id: FromPath[str], request: Request[Any, Any, Any]
) -> Response[bytes]:
    """Return a file that was sent in a chat of a number; supports Range."""
    file = world.views.file(number, file_id)
    if file is None:
        raise not_found("file", file_id)
    headers = {**_HEADERS, "content-disposition": _disposition(file)}
    part = read_range(request.headers.get("range"), file.size)
    if part is None:
        return Response(file.content, media_type=_mime_type(file), headers=headers)
    if not part:
        headers["content-range"] = f"bytes */{file.size}"
        return Response(b"", status_code=416, media_type=_mime_type(file), headers=headers)
    headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{file.size}"
    body = file.content[part.start : part.stop]
    return Response(body, status_code=206, media_type=_mime_type(file), headers=headers)


def read_range(header: str | None, size: int) -> range | None:
    """Return the bytes that a Range header asks for: None for all, an empty range if there are none of them."""
    found = _RANGE.match(header or "")
    if found is None or found[0] == "bytes=-" or len(found[0]) > 40:
        return None
    if not found[1]:
        return range(max(0, size - int(found[2])), size)
    start, end = int(found[1]), int(found[2]) if found[2] else size - 1
    return None if end < start and found[2] else range(start, min(end + 1, size))


def _mime_type(file: ChatFile) -> str:
    mime_type = file.mime_type.strip().lower()
    return mime_type if _MIME_TYPE.match(mime_type) else "application/octet-stream"


def _disposition(file: ChatFile) -> str:
    shown = "inline" if _INLINE.match(_mime_type(file).partition(";")[0]) else "attachment"
    return f"{shown}; filename*=UTF-8''{quote((file.filename or 'file')[:200], safe='')}"


ROUTES = (get_chat_file,)
