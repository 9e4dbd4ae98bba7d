"""Uploads files to the network, and downloads them before the network deletes them.

RemoteMedia.url (valid for 5 minutes) ─┬─► bytes, with limited size and checked sum
                 expired, or none ─────┴─► GET /{handle} ─► a new one, once
"""

import hashlib
from datetime import timedelta

import msgspec
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.multipart import FormBuilder, PartBuilder
from pyreqwest.response import Response

from gatepost.networks.base import CallFailed, NetworkError, RemoteMedia
from gatepost.networks.cloud.graph import Graph, failure, lost
from gatepost.networks.cloud.json_values import as_id, as_str, hex_digest

_SECONDS = 120.0  # for a file of 100 MB over a slow connection
_EXPIRED = (400, 401, 403, 404, 410)  # responses of an expired URL
_WORDS_MAX = 65_536


async def upload(graph: Graph, number: str, content: bytes, mime_type: str, filename: str | None) -> str:
    """Upload a file; return its media id."""
    part = PartBuilder.from_bytes(content).mime(mime_type).file_name(filename or "file")
    form = FormBuilder().text("messaging_product", "whatsapp").text("type", mime_type).part("file", part)
    answer = await graph.post_form(number, "media", form=form, seconds=_SECONDS)
    handle = as_id(answer.get("id"))
    if handle is None:
        raise CallFailed(NetworkError(0, "The network gave the file no id"), retry=True, status=200)
    return handle


async def _locate(graph: Graph, number: str, file: RemoteMedia) -> RemoteMedia:
    """Return a file with its current address at the network, which is valid for five minutes."""
    found = await graph.get(file.handle, query={"phone_number_id": number})
    url, size = as_str(found.get("url"), 4096), str(found.get("file_size", ""))
    if url is None:
        raise CallFailed(NetworkError(0, "The network does not say where the file is"), retry=True, status=200)
    return msgspec.structs.replace(
        file,
        url=url,
        sha256=file.sha256 or hex_digest(found.get("sha256")),
        size=int(size) if size.isascii() and size.isdigit() and len(size) < 16 else file.size,
    )


async def download(graph: Graph, number: str, file: RemoteMedia, most: int) -> bytes:
    """Return the bytes of a file: at most `most`, and with the announced checksum."""
    _check_size(file.size, most)
    if file.url and graph.trusts(file.url):
        try:
            return await _fetch(graph, file, most)
        except CallFailed as failed:
            if failed.status not in _EXPIRED:
                raise
    located = await _locate(graph, number, file)
    _check_size(located.size, most)
    return await _fetch(graph, located, most)


async def _fetch(graph: Graph, file: RemoteMedia, most: int) -> bytes:
    try:
        async with (
            graph.file_request(file.url or "") as request,
            request.timeout(timedelta(seconds=_SECONDS)).build_streamed() as response,
        ):
            if response.status != 200:
                raise failure(response.status, await _read(response, _WORDS_MAX))
            content = await _read(response, most)
    except PyreqwestError as error:
        raise lost(error) from error
    if file.sha256 and hashlib.sha256(content).hexdigest() != file.sha256:
        raise CallFailed(NetworkError(0, "The file is not the one that was announced"), retry=True, status=200)
    return content


async def _read(response: Response, most: int) -> bytes:
    """Return the body, or raise if it is too large. Its Content-Length is not trusted."""
    content = bytearray()
    while chunk := await response.body_reader.read_chunk():
        content += bytes(chunk)
        _check_size(len(content), most)
    return bytes(content)


def _check_size(size: int | None, most: int) -> None:
    if size is not None and size > most:
        error = NetworkError(0, "The file is too large", f"At most {most:,} bytes are taken.")
        raise CallFailed(error, retry=False, status=200)
