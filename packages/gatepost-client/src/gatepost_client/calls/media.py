"""Files: upload, look, download, delete."""

from pathlib import Path

from gatepost_client.calls.making import fetch, new_key, reader, remove, stream
from gatepost_client.files import File
from gatepost_client.types import Media
from gatepost_client.wire import Call, Request, path_of, show_query


def upload(file: File | Path, *, idempotency_key: str | None = None) -> Call[Media]:
    """Store a file at the gateway; a path is read piece by piece."""
    one = File(file) if isinstance(file, Path) else file
    request = Request(
        "POST",
        path_of("media"),
        show_query({"filename": one.name}),
        body=one.content,
        content_type=one.type,
        key=idempotency_key or new_key(),
        repeatable=True,
    )
    return Call(request, reader(Media))


def media(media_id: str) -> Call[Media]:
    """What is known of a file."""
    return fetch(Media, "media", media_id)


def download(media_id: str) -> Call[None]:
    """The bytes of a file, as they come."""
    return stream("media", media_id, "content")


def delete_media(media_id: str) -> Call[None]:
    """Delete a file."""
    return remove("media", media_id)
