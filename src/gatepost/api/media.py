"""Files: upload, get, download, delete."""

import re
from collections.abc import Callable
from typing import Annotated
from urllib.parse import quote

import msgspec
from msgspec import Meta

from gatepost.access.costly import ALWAYS
from gatepost.api.asgi import Request, Response
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.contract.media import Media
from gatepost.api.idempotency import REPLAYED, CreateOnce
from gatepost.api.openapi.route_docs import Sample
from gatepost.api.query import Query
from gatepost.api.responses import Encoded
from gatepost.api.route import delete, get, post
from gatepost.api.stream_response import StreamResponse
from gatepost.api.upload import Upload, open_upload
from gatepost.model.account import Caller, plan_of
from gatepost.model.errors import OutOfRange
from gatepost.model.file import check_file_type, clean_filename
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.media import NewFile, check_ready
from gatepost.store.idempotency import IdempotencyKey, idempotency_key
from gatepost.store.media.files import MediaRow

_PATH = "/api/v1/media"
_EXAMPLES = {  # message type → MIME type and text of the file that the request collection uploads for it
    "image": ("image/jpeg", "This would be a picture"),
    "video": ("video/mp4", "This would be a video"),
    "audio": ("audio/ogg", "This would be a voice message"),
    "document": ("application/pdf", "This would be a bill"),
    "sticker": ("image/webp", "This would be a sticker"),
}
_RANGE = re.compile(r"bytes=\s*(\d{0,19})-(\d{0,19})\s*", re.ASCII | re.IGNORECASE)


class UploadQuery(Query, frozen=True, kw_only=True):
    """Properties of an uploaded file."""

    filename: (
        Annotated[str, Meta(description="The name of the file, if the body is the content of the file.")] | None
    ) = None


@post(
    _PATH,
    scope="send",
    costly=ALWAYS,
    body_limit=False,
    summary="Upload a file",
    message="File stored",
    errors=(
        "malformed_upload",
        "media_too_large",
        "storage_full",
        "unsupported_media_type",
        "storage_unavailable",
        "overloaded",
    ),
    upload="Hello from Gatepost",
    keeps={"media_id": "data.id"},
    more=tuple(
        Sample(f"Upload a file: {type_}", keeps={f"{type_}_id": "data.id"}, upload=text, upload_type=kind)
        for type_, (kind, text) in _EXAMPLES.items()
    ),
    status=201,
)
async def upload_media(
    query: UploadQuery, request: Request, once: CreateOnce, gateway: Context, caller: CurrentCaller
) -> Encoded[Media]:
    """Stores a file. It can be sent by its id any number of times, until it is deleted or expires."""
    key = idempotency_key(request.headers.get("idempotency-key"), b"", _PATH)
    upload = await open_upload(request, query.filename)
    new = _new_file(upload, key, gateway, caller, once.encoder(Media.of))
    stored = await gateway.media.upload(new, upload.chunks)
    return Encoded(stored.answer, REPLAYED if stored.replayed else {})


def _new_file(
    upload: Upload,
    key: IdempotencyKey | None,
    gateway: ApiContext,
    caller: Caller,
    answer: Callable[[MediaRow], bytes],
) -> NewFile:
    """Return what the request says about its file, if this channel and this account may store it."""
    can = NETWORK_KINDS[caller.kind].capabilities
    type_, limit = check_file_type(upload.mime_type, any_document=can.any_document)
    upload.check_announced(limit)
    return NewFile(
        caller.channel_id,
        type_,
        limit,
        clean_filename(upload.filename),
        key,
        answer,
        account_id=caller.account_id,
        storage=plan_of(gateway.plans, caller.plan).storage_bytes,
        least=upload.least,
        announced=upload.announced,
    )


@get(_PATH + "/{media_id}", scope="read", summary="Get a file's details")
async def get_media(media_id: str, gateway: Context, caller: CurrentCaller) -> Media:
    """The type, size and checksum of a file, and whether an incoming file has been fetched."""
    return Media.of(await gateway.media.access(caller.channel_id, media_id))


@get(
    _PATH + "/{media_id}/content",
    scope="read",
    summary="Download a file",
    binary=("*/*",),
    errors=("wrong_state", "range_not_satisfiable", "storage_unavailable"),
    extra={206: None, 304: None},
)
async def get_content(media_id: str, request: Request, gateway: Context, caller: CurrentCaller) -> Response:
    """The content of a file, or one range of it."""
    media = await gateway.media.access(caller.channel_id, media_id)
    size = check_ready(media, gateway.clock.now())
    if _known_already(request, media):
        return Response(b"", status_code=304, headers={"ETag": _etag(media)})
    span = read_range(_wanted_range(request, media), size)
    chunks = await gateway.media.content(media, span.start, span.end)
    return StreamResponse(chunks, status_code=206 if span.partial else 200, headers=_headers(media, span, size))


@delete(_PATH + "/{media_id}", scope="send", summary="Delete a file", message="File deleted")
async def delete_media(media_id: str, gateway: Context, caller: CurrentCaller) -> None:
    """Deletes a file. Queued messages with this file will fail."""
    await gateway.media.delete(caller.channel_id, media_id)


def _etag(media: MediaRow) -> str:
    return f'"{media.sha256}"'


def _known_already(request: Request, media: MediaRow) -> bool:
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    return _etag(media) in known or known == ["*"]


def _wanted_range(request: Request, media: MediaRow) -> str | None:
    """A range of another version of the file is no range of this one."""
    condition = request.headers.get("if-range")
    return request.headers.get("range") if condition in (None, _etag(media)) else None


class ByteRange(msgspec.Struct, frozen=True):
    """The bytes from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int
    partial: bool


def read_range(header: str | None, size: int) -> ByteRange:
    """Return the range of a Range header (RFC 9110). Several ranges or an invalid one mean the whole file."""
    found = _RANGE.fullmatch(header or "")
    if found is None or found.group(0).strip().endswith("=-"):
        return ByteRange(0, size, False)
    first, last = found.groups()
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < int(first):
            return ByteRange(0, size, False)
    if start >= end:
        raise OutOfRange(size)
    return ByteRange(start, end, True)


def _headers(media: MediaRow, span: ByteRange, size: int) -> dict[str, str]:
    """Return the headers. A file of a stranger is never a page of ours: nosniff, sandbox, and always a download."""
    headers = {
        "Content-Type": _safe_type(media.mime_type),
        "Content-Length": str(span.end - span.start),
        "Content-Disposition": _disposition(media.filename),
        "Accept-Ranges": "bytes",
        "ETag": _etag(media),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if span.partial:
        headers["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{size}"
    return headers


def _safe_type(mime_type: str) -> str:
    """A type that came from the network may hold anything."""
    return mime_type if mime_type.isascii() and mime_type.isprintable() else "application/octet-stream"


def _disposition(filename: str | None) -> str:
    """The name twice (RFC 6266): in plain letters for the old, in full for the rest."""
    if filename is None:
        return "attachment"
    plain = "".join(letter if " " <= letter <= "~" and letter not in '"\\%' else "_" for letter in filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
