"""Files over HTTP: uploads that stream, downloads in ranges, and nothing left of what broke off."""

import asyncio
import ctypes
import gc
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from pyreqwest.client import ClientBuilder

from gatepost.model import ids
from gatepost.model.limits import FILES
from gatepost.model.times import format_time
from tests.gateway.checks import check_refused, until
from tests.movable_clock import MovableClock
from tests.running_gateway import Answer, Gateway, running_gateway

MEDIA = "/api/v1/media"
BOUNDARY = "----boundary"
FORM = f"multipart/form-data; boundary={BOUNDARY}"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def form(*parts: tuple[str, bytes], mime_type: str | None = "image/png", filename: str = "a.png") -> bytes:
    """A form with these fields; the one called `file` has a name and a type."""
    body = b""
    for name, value in parts:
        head = f'Content-Disposition: form-data; name="{name}"'
        if name == "file":
            head += f'; filename="{filename}"' + (f"\r\nContent-Type: {mime_type}" if mime_type else "")
        body += f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + value + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


async def upload(gateway: Gateway, body: bytes, content_type: str = FORM, query: str = "", **headers: str) -> Answer:
    return await gateway.call("POST", MEDIA + query, raw=body, headers={"content-type": content_type, **headers})


async def stored(gateway: Gateway, content: bytes = PNG, content_type: str = "image/png", query: str = "") -> Any:
    answer = await upload(gateway, content, content_type, query)
    assert answer.status == 201, answer.body
    return answer.json()["data"]


async def download(gateway: Gateway, id_: str, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await gateway.call("GET", f"{MEDIA}/{id_}/content", headers=named)


def kept(gateway: Gateway) -> list[Path]:
    found = (gateway.settings.data_folder / "media").rglob("*")
    return [path for path in found if path.is_file() and path.name != "database.id"]


async def rows(gateway: Gateway) -> int:
    async with gateway.db.connection() as conn:
        return int(await conn.fetchval("SELECT count(*) FROM media"))


# -- in and out -------------------------------------------------------------------------------------------------------


async def test_a_form_is_stored_and_comes_back(gateway: Gateway) -> None:
    answer = await upload(gateway, form(("file", PNG)))
    assert answer.status == 201
    data = answer.json()["data"]
    assert data["id"].startswith("med_")
    assert data["created_at"].endswith("Z")
    expected = {"state": "ready", "mime_type": "image/png", "size": len(PNG), "filename": "a.png"}
    assert {name: data[name] for name in expected} == expected
    assert data["sha256"] == hashlib.sha256(PNG).hexdigest()
    assert (await gateway.call("GET", f"{MEDIA}/{data['id']}")).json()["data"] == data
    back = await download(gateway, data["id"])
    assert (back.status, back.body) == (200, PNG)
    assert back.headers["content-type"] == "image/png"
    assert back.headers["content-length"] == str(len(PNG))
    assert back.headers["etag"] == f'"{data["sha256"]}"'
    assert back.headers["x-content-type-options"] == "nosniff"
    assert back.headers["content-security-policy"] == "sandbox"
    assert back.headers["cross-origin-resource-policy"] == "same-origin"
    assert back.headers["accept-ranges"] == "bytes"
    assert back.headers["content-disposition"] == "attachment; filename=\"a.png\"; filename*=UTF-8''a.png"


async def test_fields_before_the_file_say_what_it_is(gateway: Gateway) -> None:
    fields = (("type", b"application/pdf"), ("filename", "Rechnung №1.pdf".encode()), ("file", b"%PDF"))
    data = (await upload(gateway, form(*fields, mime_type="application/octet-stream"))).json()["data"]
    assert (data["mime_type"], data["filename"]) == ("application/pdf", "Rechnung №1.pdf")
    back = await download(gateway, data["id"])
    assert back.headers["content-disposition"] == (
        "attachment; filename=\"Rechnung _1.pdf\"; filename*=UTF-8''Rechnung%20%E2%84%961.pdf"
    )


async def test_the_plain_bytes_are_a_file_too(gateway: Gateway) -> None:
    data = await stored(gateway, b"hello", "Text/Plain; charset=utf-8", "?filename=../../note.txt")
    assert (data["mime_type"], data["size"], data["filename"]) == ("text/plain", 5, "note.txt")
    back = await download(gateway, data["id"])
    assert (back.body, back.headers["content-type"]) == (b"hello", "text/plain")


async def test_a_deleted_file_is_gone(gateway: Gateway) -> None:
    data = await stored(gateway)
    assert (await gateway.call("DELETE", f"{MEDIA}/{data['id']}")).status == 200
    for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        check_refused(await gateway.call(method, f"{MEDIA}/{data['id']}{path}"), 404, "not_found")
    assert (kept(gateway), await rows(gateway)) == ([], 0)


async def test_a_file_is_deleted_while_the_storage_fails(gateway: Gateway) -> None:
    """Its bytes are deleted later, as those of an upload that was interrupted."""
    data = await stored(gateway)
    (path,) = kept(gateway)
    path.unlink()
    path.mkdir()  # a folder where a file should be
    assert (await gateway.call("DELETE", f"{MEDIA}/{data['id']}")).status == 200
    check_refused(await gateway.call("GET", f"{MEDIA}/{data['id']}"), 404, "not_found")


async def test_a_message_is_not_scheduled_for_a_time_after_its_file_expires(gateway: Gateway) -> None:
    data, now = await stored(gateway), gateway.clock.now()
    async with gateway.db.connection() as conn:
        await conn.execute("UPDATE media SET created_at = $1", now - timedelta(days=gateway.settings.media.days - 10))
    image = {"phone": "5511999990001", "type": "image", "media": {"id": data["id"]}}
    for days, status in ((9, 200), (11, 422)):
        answer = await gateway.call(
            "POST", "/api/v1/message/send", {**image, "send_at": format_time(now + timedelta(days=days))}
        )
        assert answer.status == status, answer.body
    check_refused(answer, 422, "invalid_field", "media.id")
    assert "upload the file again" in answer.body.decode()


async def test_a_strangers_file_is_not_there(gateway: Gateway) -> None:
    data, stranger = await stored(gateway), await gateway.new_stranger()
    for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        answer = await gateway.call(method, f"{MEDIA}/{data['id']}{path}", key=stranger)
        check_refused(answer, 404, "not_found")
    assert (await download(gateway, data["id"])).status == 200


async def test_each_way_needs_its_scope(gateway: Gateway) -> None:
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id
    reads, sends = [await gateway.new_key(channel_id, scopes=(scope,)) for scope in ("read", "send")]
    data = await stored(gateway)
    refused = [("POST", "", reads), ("DELETE", f"/{data['id']}", reads), ("GET", f"/{data['id']}", sends)]
    for method, path, key in refused:
        check_refused(await gateway.call(method, MEDIA + path, key=key), 403, "missing_scope")
    check_refused(await gateway.call("POST", MEDIA, key=""), 401, "missing_api_key")


async def test_a_key_gives_the_same_file_again(gateway: Gateway) -> None:
    first, again = [await upload(gateway, form(("file", PNG)), **{"idempotency-key": "k1"}) for _ in range(2)]
    assert (first.status, again.status, first.body) == (201, 201, again.body)
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    other = await upload(gateway, form(("file", b"other")), **{"idempotency-key": "k1"})
    check_refused(other, 422, "idempotency_key_reused")
    check_refused(await upload(gateway, PNG, "image/png", **{"idempotency-key": "a b"}), 400, "invalid_idempotency_key")
    assert len(kept(gateway)) == await rows(gateway) == 1


# -- what is refused --------------------------------------------------------------------------------------------------


BAD: list[tuple[bytes, str, int, str, str | None]] = [
    (PNG, "application/x-unheard-of", 415, "unsupported_media_type", None),
    (PNG, "application/octet-stream", 415, "unsupported_media_type", None),
    (PNG, "nonsense", 415, "unsupported_media_type", None),
    (PNG, "", 415, "unsupported_media_type", None),
    (form(("file", PNG), mime_type=None), FORM, 415, "unsupported_media_type", None),
    (form(("type", b""), ("file", PNG), mime_type=""), FORM, 415, "unsupported_media_type", None),
    (form(("type", b"multipart/mixed"), ("file", PNG)), FORM, 415, "unsupported_media_type", None),
    (b"", "image/png", 422, "invalid_field", "file"),
    (form(("file", b"")), FORM, 422, "invalid_field", "file"),
    (form(("type", b"image/png")), FORM, 422, "invalid_field", "file"),
    (form(("colour", b"red"), ("file", PNG)), FORM, 422, "invalid_field", "colour"),
    (form(("type", b"image/png"), ("type", b"image/png"), ("file", PNG)), FORM, 422, "invalid_field", "type"),
    (form(("filename", b"x" * 1025), ("file", PNG)), FORM, 422, "invalid_field", "filename"),
    (form(("filename", b"\xff"), ("file", PNG)), FORM, 422, "invalid_field", "filename"),
    (form(("file", PNG), ("type", b"image/png")), FORM, 422, "invalid_field", "type"),
    (form(("file", PNG), ("file", PNG)), FORM, 422, "invalid_field", "file"),
    (form(("file", PNG))[:-4], FORM, 400, "malformed_upload", None),
    (form(("file", PNG))[:-40], FORM, 400, "malformed_upload", None),
    (b"", FORM, 400, "malformed_upload", None),
    (b"no form at all, whatever the header says", FORM, 400, "malformed_upload", None),
    (form(("file", PNG)), "multipart/form-data", 400, "malformed_upload", None),
]


async def test_a_bad_upload_is_refused_and_leaves_nothing(gateway: Gateway) -> None:
    for body, content_type, status, code, field in BAD:
        check_refused(await upload(gateway, body, content_type), status, code, field, about=(body[:200], content_type))
    assert (kept(gateway), await rows(gateway)) == ([], 0)


async def test_a_file_name_of_the_longest_is_taken(gateway: Gateway) -> None:
    fields = (("filename", b"x" * 1024), ("file", PNG))
    assert len((await upload(gateway, form(*fields))).json()["data"]["filename"]) == 240


async def test_each_type_has_its_limit(gateway: Gateway) -> None:
    for count, mime_type in enumerate(["image/png", "image/webp", "audio/ogg"], 1):
        limit = next(max(row.max, row.animated or 0) for row in FILES.values() if mime_type in row.types)
        assert (await stored(gateway, bytes(limit), mime_type))["size"] == limit
        check_refused(await upload(gateway, bytes(limit + 1), mime_type), 413, "media_too_large")
        over = form(("file", bytes(limit + 1)), mime_type=mime_type)
        check_refused(await upload(gateway, over), 413, "media_too_large")
        assert len(kept(gateway)) == await rows(gateway) == count


async def test_a_body_without_a_length_is_counted_as_it_comes(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, media__most_bytes=300_000) as gateway:

        async def chunked(size: int) -> int:
            async def body() -> AsyncIterator[bytes]:
                for _ in range(size // 10_000):
                    yield bytes(10_000)

            async with ClientBuilder().no_proxy().build() as client:
                headers = {"authorization": f"Bearer {gateway.key}", "content-type": "image/png"}
                request = client.post(gateway.url + MEDIA).headers(headers).body_stream(body())
                return (await request.build().send()).status

        assert await chunked(300_000) == 201
        assert await chunked(310_000) == 413
        assert len(kept(gateway)) == await rows(gateway) == 1


# -- broken off, and large ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content_type", ["application/pdf", FORM])
async def test_a_client_that_breaks_off_leaves_nothing(gateway: Gateway, content_type: str) -> None:
    content = bytes(12_000_000)
    body = form(("file", content), mime_type="application/pdf") if content_type == FORM else content
    place = urlsplit(gateway.url)
    _, writer = await asyncio.open_connection(place.hostname, place.port)
    head = (
        f"POST {MEDIA} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {gateway.key}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    try:
        writer.write(head.encode() + body[:8_000_000])
        await writer.drain()
        await until(lambda: _begun(gateway))
    finally:
        writer.transport.abort()

    async def nothing() -> bool:
        return not kept(gateway)

    await until(nothing)
    assert await rows(gateway) == 0
    assert (await stored(gateway))["size"] == len(PNG)


async def _begun(gateway: Gateway) -> bool:
    return bool(kept(gateway))


async def test_a_large_file_does_not_fill_the_memory(gateway: Gateway) -> None:
    size, piece = 50 << 20, bytes(1 << 20)

    async def body() -> AsyncIterator[bytes]:
        head, tail = form(("file", b"|"), mime_type="application/pdf").split(b"|")
        yield head
        for _ in range(size >> 20):
            yield piece
        yield tail

    await stored(gateway)  # so that everything is loaded that an upload needs
    async with ClientBuilder().no_proxy().build() as client, watched_memory() as grown:
        headers = {"authorization": f"Bearer {gateway.key}", "content-type": FORM}
        answer = await client.post(gateway.url + MEDIA).headers(headers).body_stream(body()).build().send()
        data = (await answer.json())["data"]
        assert data["size"] == size
        request = client.get(f"{gateway.url}{MEDIA}/{data['id']}/content").headers(headers)
        got, sum_ = 0, hashlib.sha256()
        async with request.build_streamed() as response:
            while chunk := await response.body_reader.read_chunk():
                got += len(chunk)
                sum_.update(chunk)
    assert (got, sum_.hexdigest()) == (size, data["sha256"])
    assert grown[0] < 35 << 20, f"{grown[0] >> 20} MB for a file of 50 MB, client and server together"


@asynccontextmanager
async def watched_memory() -> AsyncIterator[list[int]]:
    """Watch by how many bytes the process grows at most.

    Not with tracemalloc: on CPython 3.11.2 it crashes when a thread of a native library first enters Python.
    """
    grown, before = [0], resident_memory()

    async def watch() -> None:
        while True:
            grown[0] = max(grown[0], psutil.Process().memory_info().rss - before)
            await asyncio.sleep(0.005)

    watching = asyncio.create_task(watch())
    try:
        yield grown
    finally:
        watching.cancel()


def resident_memory() -> int:
    """Return the memory of this process after it has given back what it does not use."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return psutil.Process().memory_info().rss


# -- ranges -----------------------------------------------------------------------------------------------------------


async def test_a_part_of_a_file(gateway: Gateway) -> None:
    content = b"0123456789"
    id_ = (await stored(gateway, content, "text/plain"))["id"]
    parts = {"0-0": (0, 0), "2-4": (2, 4), "5-": (5, 9), "-3": (7, 9), "8-999": (8, 9), "-10": (0, 9), "-999": (0, 9)}
    for wanted, (first, last) in parts.items():
        part = await download(gateway, id_, range=f"bytes={wanted}")
        assert (part.status, part.body) == (206, content[first : last + 1]), wanted
        assert part.headers["content-range"] == f"bytes {first}-{last}/10"
        assert part.headers["content-length"] == str(last - first + 1)


async def test_ranges_that_are_none_and_ranges_that_lie_beyond(gateway: Gateway) -> None:
    id_ = (await stored(gateway, b"0123456789", "text/plain"))["id"]
    for wanted in ("bytes=0-1,3-4", "bytes=-", "bytes=4-2", "lines=1-2", "bytes=a-b", "bytes=0x1-2", ""):
        whole = await download(gateway, id_, range=wanted)
        assert (whole.status, whole.body) == (200, b"0123456789"), wanted
    for wanted in ("bytes=10-", "bytes=10-11", "bytes=-0", f"bytes={10**18}-"):
        beyond = await download(gateway, id_, range=wanted)
        check_refused(beyond, 416, "range_not_satisfiable", about=wanted)
        assert beyond.headers["content-range"] == "bytes */10"


async def test_a_file_that_is_known_already_is_not_sent_again(gateway: Gateway) -> None:
    data = await stored(gateway, b"0123456789", "text/plain")
    id_, tag = data["id"], f'"{data["sha256"]}"'
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        same = await download(gateway, id_, if_none_match=known)
        assert (same.status, same.body, same.headers["etag"]) == (304, b"", tag)
    assert (await download(gateway, id_, if_none_match='"x"')).status == 200
    assert (await download(gateway, id_, range="bytes=1-2", if_range=tag)).body == b"12"
    assert (await download(gateway, id_, range="bytes=1-2", if_range='"x"')).body == b"0123456789"


# -- files that are not here yet --------------------------------------------------------------------------------------


async def test_a_file_that_waits_or_failed_says_so(gateway: Gateway) -> None:
    data = await stored(gateway)
    statement = "UPDATE media SET state = $1, error = $2, next_at = now() + interval '1 minute'"
    async with gateway.db.connection() as conn:
        await conn.execute(statement, "waiting", "The network was busy")
    error = check_refused(await download(gateway, data["id"]), 409, "wrong_state")
    assert error["retryable"] is True
    shown = (await gateway.call("GET", f"{MEDIA}/{data['id']}")).json()["data"]
    assert (shown["state"], shown["error"]) == ("waiting", "The network was busy")
    async with gateway.db.connection() as conn:
        await conn.execute(statement, "failed", "The network forgot it")
    answer = await download(gateway, data["id"])
    check_refused(answer, 404, "not_found")
    assert "The network forgot it" in answer.json()["message"]


# -- a network that forgets -------------------------------------------------------------------------------------------


async def test_a_file_that_the_network_lost_goes_out_all_the_same(frozen: Gateway) -> None:
    assert isinstance(frozen.clock, MovableClock)
    image = {"type": "image", "media": {"id": (await stored(frozen))["id"]}}
    for phone in ("5511999990001", "5511999990002"):
        await frozen.until_status(await frozen.send(phone=phone, **image), "READ")
    (before,) = await frozen.sandbox("GET", "/control/media")
    gone = await frozen.call("DELETE", f"{frozen.sandbox_url}/v25.0/{before['id']}", key="token")
    assert gone.json() == {"success": True}
    frozen.clock.advance(600)
    sent = await frozen.send(phone="5511999990003", **image)
    await until(lambda: _refused(frozen, sent))
    frozen.clock.advance(10)
    await frozen.until_status(sent, "READ")
    (after,) = await frozen.sandbox("GET", "/control/media")
    assert after["id"] != before["id"]


async def _refused(gateway: Gateway, message_id: str) -> bool:
    """Whether the network has said no once, as its trace shows."""
    trace = (await gateway.call("GET", f"/api/v1/messages/{message_id}/trace")).json()["data"]
    return "131009" in str(trace)
