"""Compression of large answers for clients that accept it, streams are flushed; what is small or secret stays plain."""

import asyncio
import contextlib
import gzip
import http.client
import zlib
from typing import Any

from gatepost.api.compress import LEAST, GzipSender, accepts_gzip
from tests.for_each import for_each
from tests.patience import PATIENCE
from tests.running_gateway import Answer, Gateway

GZIP = {"accept-encoding": "gzip"}


@for_each(
    ("header", "taken"),
    [
        ("", False),
        ("gzip", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("br, gzip", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("gzip;q=0.001", True),
        ("*", True),
        ("*;q=0", False),
        ("*;q=0, gzip", True),
        ("gzip;q=0, *", False),
        ("identity", False),
        ("br, deflate", False),
        ("gzipped", False),
        ("gzip;q=high", False),
        ("gzip;level=9", True),
        (";;;,,q=1", False),
    ],
)
def test_who_takes_gzip(header: str, taken: bool) -> None:
    assert accepts_gzip(header) is taken


# -- one answer, piece by piece ---------------------------------------------------------------------------------------


async def _out(
    *pieces: bytes, kind: str = "application/json", status: int = 200, accepts: str = "gzip", **more: str
) -> list[Any]:
    """What leaves when these pieces are sent."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {"content-type": kind} | {name.replace("_", "-"): value for name, value in more.items()}
    scope: Any = {"method": "GET", "headers": [(b"accept-encoding", accepts.encode())]}
    packing = GzipSender(scope, send)
    coded = [(name.encode(), value.encode()) for name, value in headers.items()]
    start: Any = {"type": "http.response.start", "status": status, "headers": coded}
    await packing(start)
    for number, piece in enumerate(pieces, 1):
        body: Any = {"type": "http.response.body", "body": piece, "more_body": number < len(pieces)}
        await packing(body)
    return sent


def _headers(sent: list[Any]) -> dict[bytes, bytes]:
    return dict(sent[0]["headers"])


async def test_where_packing_begins() -> None:
    for size, packed in ((0, False), (LEAST - 1, False), (LEAST, True), (LEAST + 1, True), (100_000, True)):
        body = b"x" * size
        sent = await _out(body, content_length=str(size))
        headers = _headers(sent)
        assert headers[b"vary"] == b"accept-encoding"
        assert (b"content-encoding" in headers) is packed, size
        assert int(headers[b"content-length"]) == len(sent[1]["body"])
        assert (gzip.decompress(sent[1]["body"]) if packed else sent[1]["body"]) == body


async def test_a_client_without_gzip_gets_the_plain_body() -> None:
    sent = await _out(b"x" * 5000, accepts="br, gzip;q=0", content_length="5000")
    assert _headers(sent)[b"vary"] == b"accept-encoding"
    assert b"content-encoding" not in _headers(sent)
    assert sent[1]["body"] == b"x" * 5000


@for_each(
    "left_alone",
    [
        {"kind": "text/event-stream"},
        {"kind": "image/jpeg"},
        {"kind": "application/octet-stream"},
        {"status": 206},
        {"cache_control": "no-store"},
        {"content_encoding": "br"},
        {"etag": '"abc"'},
        {"accept_ranges": "bytes"},
        {"content_range": "bytes 0-9/10"},
    ],
)
async def test_what_is_left_alone(left_alone: dict[str, Any]) -> None:
    sent = await _out(b"x" * 5000, **left_alone)
    assert _headers(sent).get(b"content-encoding") in (None, b"br")
    assert b"vary" not in _headers(sent)
    assert sent[1]["body"] == b"x" * 5000


async def test_a_stream_is_flushed_with_every_piece() -> None:
    """Each piece can be read when it has come, however short it is, and nothing is kept back."""
    pieces = [b'{"line": 1}\n', b"", b'{"line": 2}\n' * 4000, b'{"line": 3}\n', b""]
    sent = await _out(*pieces, kind="application/x-ndjson")
    assert _headers(sent)[b"content-encoding"] == b"gzip"
    assert b"content-length" not in _headers(sent)
    reader = zlib.decompressobj(wbits=31)
    for piece, message in zip(pieces, sent[1:], strict=True):
        assert reader.decompress(message["body"]) == piece
    assert reader.eof
    assert [message["more_body"] for message in sent[1:]] == [True] * 4 + [False]


async def test_vary_names_every_header_that_matters() -> None:
    sent = await _out(b"x", vary="origin")
    assert [value for name, value in sent[0]["headers"] if name == b"vary"] == [b"origin, accept-encoding"]


# -- over HTTP --------------------------------------------------------------------------------------------------------


async def _get(gateway: Gateway, path: str, accepts: str) -> Answer:
    """As it comes over the wire: the client of the gateway unpacks by itself."""

    def ask() -> Answer:
        connection = http.client.HTTPConnection(gateway.url.removeprefix("http://"), timeout=PATIENCE)
        headers = {"authorization": f"Bearer {gateway.key}", "accept-encoding": accepts}
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, {n.lower(): v for n, v in response.getheaders()}, response.read())

    return await asyncio.to_thread(ask)


async def test_pages_exports_and_the_reference(gateway: Gateway) -> None:
    sent = []
    for number in range(40):
        made = await gateway.call("POST", "/api/v1/contacts", {"phone": f"15557770{number:03}", "name": "Ben Cole"})
        assert made.status == 201
        sent.append(await gateway.send(phone=f"15557770{number:03}", body="Hello"))
    for message in sent:
        await gateway.until_status(message, "READ")
    for path in (
        "/api/v1/contacts?limit=40",
        "/api/v1/contacts/export?format=ndjson",
        "/api/v1/contacts/export?format=csv",
        "/api/v1/messages/export?format=ndjson",
        "/api/v1/messages/export?format=csv",
        "/openapi.json",
        "/docs/page.js",
        "/docs/events/message_notification.json",
    ):
        bare, packed = await _get(gateway, path, "identity"), await _get(gateway, path, "gzip")
        assert (bare.status, packed.status) == (200, 200)
        assert "content-encoding" not in bare.headers
        assert packed.headers["content-encoding"] == "gzip", path
        assert bare.headers["vary"] == packed.headers["vary"] == "accept-encoding"
        assert len(packed.body) < len(bare.body) / 2
        assert gzip.decompress(packed.body) == bare.body
        assert packed.headers["x-request-id"]


async def test_what_is_small_secret_or_a_file_is_not_compressed(gateway: Gateway) -> None:
    text = {"content-type": "text/plain"}
    file = (await gateway.call("POST", "/api/v1/media", raw=b"Hello " * 2000, headers=text)).json()["data"]["id"]
    for path in ("/api/v1/labels", "/healthz", "/api/v1/collection", f"/api/v1/media/{file}/content"):
        answer = await _get(gateway, path, "gzip")
        assert answer.status == 200, (path, answer.body)
        assert "content-encoding" not in answer.headers, path
    hook = {"url": "http://127.0.0.1:54321/" + "x" * 1500}
    made = await gateway.call("POST", "/api/v1/webhooks", hook, headers=GZIP)
    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    assert int(made.headers["content-length"]) == len(made.body) > LEAST  # it came as it is


async def test_a_long_answer_keeps_nobody_waiting(gateway: Gateway) -> None:
    """Many large answers at once, and a small one in between."""
    asked = [gateway.call("GET", "/openapi.json", headers=GZIP) for _ in range(10)]
    answers = await asyncio.gather(*asked, gateway.call("GET", "/healthz"))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers[:10]}) == 1
