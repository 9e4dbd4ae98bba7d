"""Files go up and down in pieces, within limits, and belong to their phone."""

import json
from base64 import b64encode
from typing import Any

import pytest

from gatepost_sandbox.qr.files import FILE_MAX
from gatepost_sandbox.qr.frames import CHUNK_MAX
from tests.sandbox.driver import Driver

from .conftest import link_up
from .peer import BEN, Peer, S, message


def coded(data: bytes) -> str:
    return b64encode(data).decode()


async def put(peer: Peer, *pieces: bytes, mime: str = "image/png", size: int | None = None, **more: Any) -> Any:
    """Upload under one ref; the answer to the last piece."""
    total = sum(map(len, pieces)) if size is None else size
    fields = {"op": "put", "ref": 1000, "session": S, "mime": mime, "size": total, **more}
    peer.answers.pop(1000, None)
    for index, piece in enumerate(pieces):
        await peer.socket.send(json.dumps(fields | {"data": coded(piece), "last": index == len(pieces) - 1}))
    return await peer.answer(1000)


async def test_a_large_file_goes_up_and_down_in_pieces(linked: Peer) -> None:
    data = bytes(range(256)) * 1024 * 2 + b"end"
    pieces = [data[start : start + CHUNK_MAX] for start in range(0, len(data), CHUNK_MAX)]
    handle = (await put(linked, *pieces, filename="big.png"))["handle"]
    ref = await linked.post("get", session=S, handle=handle, most=len(data))
    await linked.answer(ref)
    got = linked.answers[ref]
    assert [(frame["last"], frame.get("ok")) for frame in got] == [(False, None), (False, None), (True, True)]
    assert [frame["data"] for frame in got] == [coded(piece) for piece in pieces]


async def test_an_empty_file(linked: Peer) -> None:
    handle = (await put(linked, b""))["handle"]
    assert (await linked.ask("get", handle=handle, most=0))["data"] == ""


@pytest.mark.parametrize(("most", "code"), [(3, None), (2, 413)])
async def test_no_more_than_asked_for(linked: Peer, most: int, code: int | None) -> None:
    handle = (await put(linked, b"abc"))["handle"]
    got = await linked.ask("get", handle=handle, most=most)
    assert (got["error"]["code"] if code else got.get("error")) == code


async def test_a_piece_has_its_limit(linked: Peer) -> None:
    assert "handle" in await put(linked, b"x" * CHUNK_MAX)
    assert "at most" in (await put(linked, b"x" * (CHUNK_MAX + 1)))["error"]["details"]


async def test_a_file_has_its_limit(linked: Peer) -> None:
    assert (await put(linked, b"x", size=FILE_MAX))["error"]["details"].endswith("1 received")
    assert "at most" in (await put(linked, b"x", size=FILE_MAX + 1))["error"]["details"]


@pytest.mark.parametrize("size", [2, 4])
async def test_the_announced_size_must_be_true(linked: Peer, size: int) -> None:
    assert (await put(linked, b"ab", b"c", size=size))["error"]["details"].startswith(f"{size} bytes")
    assert "handle" in await put(linked, b"ab", b"c")


async def test_a_failed_upload_is_answered_once(linked: Peer) -> None:
    fields = {"op": "put", "ref": 7000, "session": S, "mime": "image/png", "size": 9}
    for data, last in (("?", False), (coded(b"abc"), False), (coded(b"abc"), True)):
        await linked.socket.send(json.dumps(fields | {"data": data, "last": last}))
    await linked.settle()
    assert [frame["error"]["details"] for frame in linked.answers[7000]] == ["data is not base64"]


@pytest.mark.parametrize(
    ("kind", "mime", "fits"),
    [
        ("image", "image/png", True),
        ("image", "video/mp4", False),
        ("video", "video/mp4", True),
        ("audio", "audio/ogg", True),
        ("audio", "image/png", False),
        ("document", "application/pdf", True),
        ("sticker", "image/webp", True),
        ("sticker", "image/png", False),
    ],
)
async def test_a_file_is_sent_as_what_it_is(linked: Peer, kind: str, mime: str, fits: bool) -> None:
    handle = (await put(linked, b"abc", mime=mime))["handle"]
    answer = await linked.ask("send", **message(type=kind, content={"media": {"handle": handle}}))
    assert answer.get("ok", False) is fits


@pytest.mark.parametrize(("length", "fits"), [(1024, True), (1025, False)])
async def test_a_caption_has_its_limit(linked: Peer, length: int, fits: bool) -> None:
    handle = (await put(linked, b"abc"))["handle"]
    content = {"media": {"handle": handle}, "caption": "x" * length}
    assert (await linked.ask("send", **message(type="image", content=content))).get("ok", False) is fits


async def test_a_file_belongs_to_its_phone(empty: Driver, linked: Peer) -> None:
    handle = (await put(linked, b"abc"))["handle"]
    await link_up(empty, linked, "ch_2", BEN)
    assert (await linked.ask("get", session="ch_2", handle=handle, most=9))["error"]["code"] == 404
    content = {"media": {"handle": handle}}
    answer = await linked.ask("send", session="ch_2", **message(type="image", content=content))
    assert answer["error"]["code"] == 479
