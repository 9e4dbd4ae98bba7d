"""Finding routes, and requests and responses over ASGI."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gatepost.api.asgi import Message, NoRoute, Request, Response
from gatepost.api.route import Route, get, post
from gatepost.api.router import Router
from gatepost.api.stream_response import StreamResponse
from gatepost.model.errors import BadRequest, TooLarge
from tests.patience import PATIENCE

LIMIT = 10


@get("/labels/{label_id}", summary="One")
async def show_one(label_id: str) -> Response:
    return Response(label_id.encode(), media_type="text/plain")


@get("/labels/all", summary="All")
async def show_all() -> Response:
    return Response(b"all")


@post("/labels/all/{label_id}/of/{contact_id}", summary="Both")
async def show_both(contact_id: str, label_id: str) -> Response:
    return Response(f"{label_id} {contact_id}".encode())


ROUTES: list[Route] = [show_one, show_all, show_both]


def scope(method: str = "GET", path: str = "/", **headers: str) -> dict[str, Any]:
    encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": path, "query_string": b"", "headers": encoded, "state": {}}


async def ask(method: str, path: str) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    await Router(ROUTES, [], LIMIT)(scope(method, path), receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/labels/lb_1", b"lb_1"),
        ("/labels/lb_1/", b"lb_1"),
        ("//labels///lb_1", b"lb_1"),
        ("/labels/all", b"all"),
    ],
)
async def test_a_path_finds_its_route(path: str, body: bytes) -> None:
    assert (await ask("GET", path))[::2] == (200, body)


async def test_variable_parts_are_passed_by_name() -> None:
    status, headers, body = await ask("POST", "/labels/all/a/of/b")
    assert (status, body, headers[b"content-length"]) == (200, b"a b", b"3")
    assert (await ask("GET", "/labels/x"))[1][b"content-type"] == b"text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/labels", "/labels/all/a", "/labels/x/y", "/labels/all/a/of/b/c", "/other"])
def test_no_route_is_found(path: str) -> None:
    with pytest.raises(NoRoute):
        Router(ROUTES, [], LIMIT).find(path)


async def test_options_names_the_methods() -> None:
    assert (await ask("OPTIONS", "/labels/all"))[:2] == (204, {b"allow": b"GET, HEAD, OPTIONS"})
    assert (await ask("OPTIONS", "/labels/all/a/of/b"))[1] == {b"allow": b"OPTIONS, POST"}


def test_two_routes_cannot_have_one_path() -> None:
    with pytest.raises(ValueError, match="two routes GET /labels/all"):
        Router([show_all, show_all], [], LIMIT)


def request_of(chunks: list[bytes], **headers: str) -> Request:
    parts = iter(chunks)

    async def receive() -> Message:
        for part in parts:
            return {"type": "http.request", "body": part, "more_body": True}
        return {"type": "http.disconnect"}

    request = Request(scope("POST", **headers), receive)
    request.body_limit = LIMIT
    return request


async def test_a_body_within_the_limit_is_read_as_far_as_it_comes() -> None:
    chunks = request_of([b"x" * LIMIT]).stream()
    assert await anext(chunks) == b"x" * LIMIT
    with pytest.raises(BadRequest, match="broke off"):  # it is at the limit, and then the client leaves
        await anext(chunks)


async def test_a_body_over_the_limit_is_refused() -> None:
    with pytest.raises(TooLarge, match="at most 10 bytes"):
        await request_of([b"x" * LIMIT, b"x"]).body()
    with pytest.raises(TooLarge):  # before anything is read
        await request_of([], content_length=str(LIMIT + 1)).body()
    with pytest.raises(BadRequest, match="Content-Length"):
        await request_of([], content_length="ten").body()


class Streamed:
    """A stream that waits after its first part, and what became of it."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.closed = self.ended = False
        self.left = asyncio.Event()

    async def parts(self) -> AsyncIterator[bytes]:
        try:
            yield b"one"
            await asyncio.Event().wait()
        finally:
            self.closed = True

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if message.get("body") == b"one":
            self.left.set()

    def end(self) -> None:
        self.ended = True


async def test_a_stream_ends_when_the_client_disconnects() -> None:
    one = Streamed()
    response = StreamResponse(one.parts(), on_end=one.end)
    await asyncio.wait_for(response.send(Request(scope(), one.receive), one.send), PATIENCE)
    assert [message.get("body") for message in one.sent] == [None, b"one"]
    assert one.closed
    assert one.ended


async def test_an_error_in_a_stream_is_raised() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"two"
        raise BadRequest("no more")

    one = Streamed()
    with pytest.raises(BadRequest, match="no more"):
        await StreamResponse(parts(), on_end=one.end).send(Request(scope(), one.receive), one.send)
    assert one.sent[-1]["more_body"] is True  # no end: the client sees that the response is incomplete
    assert one.ended


async def test_head_gets_no_part_of_a_stream() -> None:
    one = Streamed()
    await StreamResponse(one.parts(), on_end=one.end).send(Request(scope("HEAD"), one.receive), one.send)
    assert [message.get("body") for message in one.sent] == [None, b""]
    assert one.ended
