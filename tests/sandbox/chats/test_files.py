"""Files of chats: their bytes in whole and in parts, and never anything that a browser would run."""

from base64 import b64encode
from typing import Any

import pytest
from pyreqwest.client import Client

from gatepost_sandbox.chats.sends import BASE64_MAX, FILE_MAX
from tests.for_each import for_each
from tests.sandbox.driver import NUMBER, Driver
from tests.sandbox.messages.payloads import envelope
from tests.sandbox.test_media import Files

from .phone import ANA, PersonPhone

PNG = b"\x89PNG" + bytes(range(256))


@pytest.fixture
def ana(sandbox: Driver) -> PersonPhone:
    return PersonPhone(sandbox)


async def fetch(client: Client, url: str, **headers: str) -> Any:
    request = client.get(url)
    for name, value in headers.items():
        request = request.header(name, value)
    return await request.build().send()


async def send_file(ana: PersonPhone, content: bytes = PNG, kind: str = "image", mime: str = "image/png") -> str:
    data = b64encode(content).decode()
    sent = await ana.send("media", kind=kind, data=data, mime_type=mime, filename="ä b.png")
    return ana.sandbox.base + str(sent["view"]["media"]["url"])


async def test_files_of_both_sides_come_back_the_same(client: Client, sandbox: Driver, ana: PersonPhone) -> None:
    assert bytes(await (await fetch(client, await send_file(ana))).bytes()) == PNG
    media_id = (await Files(client, sandbox).upload(content=PNG)).json["id"]
    await sandbox.post(envelope("image", {"id": media_id, "caption": "look"}))
    media = (await ana.last())["view"]["media"]
    assert media["url"] == f"/control/files/{NUMBER}/{media_id}"
    assert (media["mime_type"], media["size"], media["link"]) == ("image/png", len(PNG), None)
    assert bytes(await (await fetch(client, sandbox.base + media["url"])).bytes()) == PNG


async def test_an_expired_file_has_no_address(sandbox: Driver, ana: PersonPhone) -> None:
    url = await send_file(ana)
    await sandbox.advance(8 * 86_400)
    assert (await ana.last())["view"]["media"]["url"] is None
    assert (await sandbox.call("GET", url.removeprefix(sandbox.base))).status == 404


async def test_a_file_of_another_number_is_not_found(sandbox: Driver, ana: PersonPhone) -> None:
    await sandbox.register(None, phone_number_id="1234567", phone="15550009999", token="other")
    url = (await send_file(ana)).removeprefix(sandbox.base)
    assert (await sandbox.call("GET", url.replace(NUMBER, "1234567"))).status == 404
    assert (await sandbox.call("GET", f"/control/files/{NUMBER}/404")).status == 404


RANGES: dict[str, tuple[int, str | None, slice]] = {
    "bytes=0-9": (206, "bytes 0-9/260", slice(0, 10)),
    "bytes=250-": (206, "bytes 250-259/260", slice(250, 260)),
    "bytes=-5": (206, "bytes 255-259/260", slice(255, 260)),
    "bytes=-999": (206, "bytes 0-259/260", slice(0, 260)),
    "bytes=200-999": (206, "bytes 200-259/260", slice(200, 260)),
    "bytes=260-": (416, "bytes */260", slice(0, 0)),
    "bytes=-0": (416, "bytes */260", slice(0, 0)),
    "bytes=9-1": (200, None, slice(0, 260)),
    "bytes=0-1,5-6": (200, None, slice(0, 260)),
    "bytes=-": (200, None, slice(0, 260)),
    "lines=0-1": (200, None, slice(0, 260)),
    f"bytes={'9' * 5000}-": (200, None, slice(0, 260)),
}


@for_each("asked", list(RANGES))
async def test_parts_of_a_file(client: Client, ana: PersonPhone, asked: str) -> None:
    status, shown, part = RANGES[asked]
    answer = await fetch(client, await send_file(ana), range=asked)
    assert (answer.status, answer.get_header("content-range")) == (status, shown)
    assert bytes(await answer.bytes()) == PNG[part]
    assert answer.get_header("accept-ranges") == "bytes"


SHOWN = {
    "image/png": "inline",
    "image/gif": "inline",
    "image/svg+xml": "attachment",
    "text/html": "attachment",
    "application/pdf": "attachment",
    "application/xhtml+xml": "attachment",
    "audio/ogg; codecs=opus": "inline",
    "video/mp4": "inline",
}


@for_each("mime", list(SHOWN))
async def test_a_browser_never_runs_a_file(client: Client, ana: PersonPhone, mime: str) -> None:
    answer = await fetch(client, await send_file(ana, kind="document", mime=mime))
    assert answer.get_header("content-disposition") == f"{SHOWN[mime]}; filename*=UTF-8''%C3%A4%20b.png"
    assert answer.get_header("x-content-type-options") == "nosniff"
    assert answer.get_header("content-security-policy") == "default-src 'none'; sandbox"
    assert answer.get_header("cross-origin-resource-policy") == "same-origin"


@for_each("mime", ["text/html\r\nset-cookie: a=b", "ünicode/type", "nothing", 'image/png; a="<b>"'])
async def test_a_type_that_is_none_is_just_bytes(client: Client, sandbox: Driver, ana: PersonPhone, mime: str) -> None:
    said = {"from": ANA, "type": "image", "image": {"content": b64encode(PNG).decode(), "mime_type": mime}}
    await sandbox.control("POST", f"numbers/{NUMBER}/incoming", said)
    answer = await fetch(client, sandbox.base + (await ana.last())["view"]["media"]["url"])
    assert answer.get_header("content-type") == "application/octet-stream"
    assert (answer.get_header("content-disposition") or "").startswith("attachment")
    assert answer.get_header("set-cookie") is None


async def test_a_file_has_a_largest_size(ana: PersonPhone) -> None:
    at = await ana.try_send("media", kind="document", data=b64encode(bytes(FILE_MAX)).decode(), mime_type="a/b")
    assert (at.status, at.json["view"]["media"]["size"]) == (200, FILE_MAX)
    for over in (b64encode(bytes(FILE_MAX + 1)).decode(), "A" * (BASE64_MAX + 4)):
        reply = await ana.try_send("media", kind="document", data=over, mime_type="a/b")
        assert reply.status == 400, reply.raw
    huge = await ana.try_send("media", kind="document", data="A" * (2 * BASE64_MAX), mime_type="a/b")
    assert huge.status == 413
    assert len(await ana.messages()) == 1


@for_each(
    "fields",
    [
        {"data": "no base64!"},
        {"data": ""},
        {"kind": "image", "mime_type": "text/html"},
        {"kind": "sticker", "mime_type": "image/png"},
        {"kind": "mystery"},
        {"mime_type": "x\r\ny/z"},
        {"filename": "a" * 256},
        {"caption": "a" * 1025},
    ],
)
async def test_a_bad_file_is_refused(ana: PersonPhone, fields: dict[str, str]) -> None:
    good = {"kind": "document", "data": b64encode(PNG).decode(), "mime_type": "a/b"}
    reply = await ana.try_send("media", **good | fields)
    assert reply.status == 400, reply.raw
    assert await ana.messages() == []
