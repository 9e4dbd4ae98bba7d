"""Files: upload, read, download, delete."""

from pathlib import Path

from gatepost_client.calls.builders import fetch, new_key, reader, remove, stream
from gatepost_client.files import File
from gatepost_client.types import Media
from gatepost_client.wire import Call, Request, path_of, show_query


def upload(file: File | Path, *, idempotency_key: str | None = None) -> Call[Media]:
    """Upload a file to the gateway; a path is read in chunks."""
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
    """Return the metadata of a file."""
    return fetch(Media, "media", media_id)


def download(media_id: str) -> Call[None]:
    """Stream the content of a file."""
    return stream("media", media_id, "content")


def delete_media(media_id: str) -> Call[None]:
    """Delete a file."""
    return remove("media", media_id)
