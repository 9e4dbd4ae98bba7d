"""Files: upload, look, download, delete."""

from typing import Any
from urllib.parse import quote

from litestar import MediaType, Request, Response, delete, get, post
from litestar.params import FromPath

from gatepost.access.costly import ALWAYS
from gatepost.api.byte_ranges import ByteRange, read_range
from gatepost.api.context import ApiContext, Context, CurrentCaller
from gatepost.api.json_body import answer
from gatepost.api.stream_response import StreamResponse
from gatepost.api.upload import Upload, open_upload
from gatepost.model.account import Caller
from gatepost.model.file import check_file_type, clean_filename
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.services.media import NewFile, check_ready, show_media
from gatepost.store.idempotency import IdempotencyKey, idempotency_key
from gatepost.store.media.files import MediaRow

_PATH = "/api/v1/media"


@post(
    _PATH,
    opt={"scope": "send", "costly": ALWAYS},
    status_code=201,
    request_max_body_size=None,
    summary="Upload a file",
)
async def upload_media(request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Stores a file as it comes in. It can be sent by its id as often as wanted while it is kept."""
    key = idempotency_key(request.headers.get("idempotency-key"), b"", _PATH)
    upload = await open_upload(request)
    stored = await gateway.media.upload(_new_file(upload, key, gateway, caller), upload.pieces)
    headers = {"Idempotent-Replayed": "true"} if stored.replayed else {}
    return Response(stored.answer, status_code=201, headers=headers, media_type=MediaType.JSON)


def _new_file(upload: Upload, key: IdempotencyKey | None, gateway: ApiContext, caller: Caller) -> NewFile:
    """What the request says of its file, as far as this channel and this account may store it."""
    can = NETWORK_KINDS[caller.kind].capabilities
    type_, limit = check_file_type(upload.mime_type, any_document=can.any_document)
    upload.check_announced(limit)
    return NewFile(
        caller.channel_id,
        type_,
        limit,
        clean_filename(upload.filename),
        key,
        account_id=caller.account_id,
        storage=gateway.plans[caller.plan].storage_bytes,
        least=upload.least,
        announced=upload.announced,
    )


@get(_PATH + "/{media_id:str}", opt={"scope": "read"}, summary="Get what is known of a file")
async def get_media(media_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Type, size, checksum, and for an incoming file whether it has been fetched."""
    return answer(show_media(await gateway.media.access(caller.channel_id, media_id)))


@get(_PATH + "/{media_id:str}/content", opt={"scope": "read"}, summary="Download a file")
async def get_content(
    media_id: FromPath[str], request: Request[Any, Any, Any], gateway: Context, caller: CurrentCaller
) -> Response[Any]:
    """The bytes, whole or one range of them."""
    media = await gateway.media.access(caller.channel_id, media_id)
    size = check_ready(media, gateway.clock.now())
    if _known_already(request, media):
        return Response(b"", status_code=304, headers={"ETag": _etag(media)})
    span = read_range(_wanted_range(request, media), size)
    pieces = await gateway.media.content(media, span.start, span.end)
    return StreamResponse(pieces, status_code=206 if span.partial else 200, headers=_headers(media, span, size))


@delete(_PATH + "/{media_id:str}", opt={"scope": "send"}, status_code=200, summary="Delete a file")
async def delete_media(media_id: FromPath[str], gateway: Context, caller: CurrentCaller) -> Response[bytes]:
    """Deletes a file. Messages that wait to be sent with it will fail."""
    await gateway.media.delete(caller.channel_id, media_id)
    return answer(None, "File deleted")


def _etag(media: MediaRow) -> str:
    return f'"{media.sha256}"'


def _known_already(request: Request[Any, Any, Any], media: MediaRow) -> bool:
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    return _etag(media) in known or known == ["*"]


def _wanted_range(request: Request[Any, Any, Any], media: MediaRow) -> str | None:
    """A range of another version of the file is no range of this one."""
    condition = request.headers.get("if-range")
    return request.headers.get("range") if condition in (None, _etag(media)) else None


def _headers(media: MediaRow, span: ByteRange, size: int) -> dict[str, str]:
    """What keeps a stranger's file from being taken for a page of ours: nosniff, and a download always."""
    headers = {
        "Content-Type": _safe_type(media.mime_type),
        "Content-Length": str(span.end - span.start),
        "Content-Disposition": _disposition(media.filename),
        "Accept-Ranges": "bytes",
        "ETag": _etag(media),
        "X-Content-Type-Options": "nosniff",
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
