"""Files: what the network takes, how long it keeps it, and who gets it back."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyreqwest.client import Client

from gatepost_sandbox.media import ANIMATED_STICKER_MAX, MB, STATIC_STICKER_MAX, Media

from .driver import NUMBER, TOKEN, Driver, Reply

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
BOUNDARY = "frontier"


def form(fields: dict[str, str], file: tuple[str, str, bytes] | None) -> bytes:
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    if file is not None:
        name, kind, content = file
        head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
        parts.append(head.encode() + content)
    frontier = f"--{BOUNDARY}\r\n".encode()
    return b"".join(frontier + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()


class Files:
    """Uploads and downloads as a business does."""

    def __init__(self, client: Client, driver: Driver) -> None:
        self._client, self.driver = client, driver

    async def upload(self, kind: str = "image/png", content: bytes = PNG, **fields: str) -> Reply:
        seen = {"messaging_product": "whatsapp", "type": kind} | fields
        return await self.send(form(seen, ("a.bin", kind, content)))

    async def send(self, body: bytes, number: str = NUMBER) -> Reply:
        request = self._client.post(f"{self.driver.base}/v25.0/{number}/media").bearer_auth(TOKEN)
        request = request.header("Content-Type", f"multipart/form-data; boundary={BOUNDARY}").body_bytes(body)
        return await self.read(request)

    async def stored(self) -> str:
        return str((await self.upload()).json["id"])

    async def fetch(self, url: str, token: str | None = TOKEN) -> Reply:
        request = self._client.get(url)
        return await self.read(request if token is None else request.bearer_auth(token))

    async def read(self, request: Any) -> Reply:
        response = await request.build().send()
        return Reply(response.status, bytes(await response.bytes()), response.get_header("content-type"))


@pytest.fixture
def files(client: Client, sandbox: Driver) -> Files:
    return Files(client, sandbox)


async def test_a_file_goes_up_and_comes_back_the_same(files: Files) -> None:
    reply = await files.upload()
    assert (reply.status, list(reply.json)) == (200, ["id"])
    media_id = reply.json["id"]
    node = (await files.driver.call("GET", f"/v25.0/{media_id}", token=TOKEN)).json
    url = node.pop("url")
    assert node == {
        "messaging_product": "whatsapp",
        "mime_type": "image/png",
        "sha256": hashlib.sha256(PNG).hexdigest(),
        "file_size": len(PNG),
        "id": media_id,
    }
    assert url.startswith(files.driver.base + "/")
    back = await files.fetch(url)
    assert (back.status, back.raw, back.trace_id) == (200, PNG, "image/png")
    [kept] = await files.driver.control("GET", "media")
    assert (kept["id"], kept["filename"], kept["size"]) == (media_id, "a.bin", len(PNG))


async def test_an_address_lasts_five_minutes_and_wants_the_token(files: Files) -> None:
    media_id = await files.stored()
    url = (await files.driver.call("GET", f"/{media_id}", token=TOKEN)).json["url"]
    assert (await files.fetch(url, None)).status == 401
    assert (await files.fetch(url, "wrong")).status == 401
    assert (await files.fetch(url.replace("hash=", "hash=0"))).status == 404
    await files.driver.advance(299)
    assert (await files.fetch(url)).status == 200
    await files.driver.advance(1)
    assert (await files.fetch(url)).status == 404
    again = (await files.driver.call("GET", f"/{media_id}", token=TOKEN)).json["url"]
    assert (await files.fetch(again)).status == 200


async def test_an_uploaded_file_lives_thirty_days(files: Files) -> None:
    media_id = await files.stored()
    await files.driver.advance(30 * 86_400 - 1)
    assert (await files.driver.call("GET", f"/{media_id}", token=TOKEN)).status == 200
    await files.driver.advance(1)
    gone = await files.driver.call("GET", f"/{media_id}", token=TOKEN)
    assert (gone.status, gone.code, gone.json["error"]["error_subcode"]) == (400, 100, 33)


async def test_deleting_a_file(files: Files) -> None:
    media_id = await files.stored()
    url = (await files.driver.call("GET", f"/{media_id}", token=TOKEN)).json["url"]
    for method in ("GET", "DELETE"):
        assert (await files.driver.call(method, f"/{media_id}?phone_number_id=1", token=TOKEN)).code == 100
    reply = await files.driver.call("DELETE", f"/{media_id}?phone_number_id={NUMBER}", token=TOKEN)
    assert reply.json == {"success": True}
    assert (await files.driver.call("DELETE", f"/{media_id}", token=TOKEN)).code == 100
    assert (await files.fetch(url)).status == 404


async def test_another_accounts_token_sees_no_file(files: Files) -> None:
    await files.driver.register(phone_number_id="2002", phone="15550002222", token="other", waba_id="77")
    media_id = await files.stored()
    url = (await files.driver.call("GET", f"/{media_id}", token=TOKEN)).json["url"]
    assert (await files.driver.call("GET", f"/{media_id}", token="other")).code == 100
    assert (await files.fetch(url, "other")).status == 401


LIMITS = [
    ("image/jpeg", 5 * MB),
    ("image/png", 5 * MB),
    ("audio/ogg; codecs=opus", 16 * MB),
    ("video/mp4", 16 * MB),
    ("image/webp", STATIC_STICKER_MAX),
]


@pytest.mark.parametrize(("kind", "most"), LIMITS)
async def test_the_largest_file_of_each_kind(files: Files, kind: str, most: int) -> None:
    assert (await files.upload(kind, bytes(most))).status == 200
    over = await files.upload(kind, bytes(most + 1))
    assert (over.status, over.code) == (400, 131053)


async def test_a_document_may_have_a_hundred_megabytes(files: Files) -> None:
    assert (await files.upload("application/pdf", bytes(100 * MB))).status == 200
    assert (await files.upload("application/pdf", bytes(100 * MB + 1))).code == 131053


async def test_an_animated_sticker_may_be_larger(files: Files) -> None:
    animated = b"RIFF\0\0\0\0WEBPVP8X" + bytes(14) + b"ANIM"
    assert (await files.upload("image/webp", animated.ljust(ANIMATED_STICKER_MAX, b"\0"))).status == 200
    assert (await files.upload("image/webp", animated.ljust(ANIMATED_STICKER_MAX + 1, b"\0"))).code == 131053


REFUSED: Sequence[tuple[dict[str, str], tuple[str, str, bytes] | None, int]] = [
    ({"type": "image/png"}, ("a", "image/png", PNG), 100),
    ({"messaging_product": "sms"}, ("a", "image/png", PNG), 100),
    ({"messaging_product": "whatsapp", "type": "image/png"}, None, 100),
    ({"messaging_product": "whatsapp"}, ("a", "image/gif", PNG), 100),
    ({"messaging_product": "whatsapp"}, ("a", "application/octet-stream", PNG), 100),
    ({"messaging_product": "whatsapp"}, ("a", "image/png", b""), 131053),
]


@pytest.mark.parametrize(("fields", "file", "code"), REFUSED)
async def test_uploads_that_are_refused(
    files: Files, fields: dict[str, str], file: tuple[str, str, bytes] | None, code: int
) -> None:
    reply = await files.send(form(fields, file))
    assert (reply.status, reply.code) == (400, code)


async def test_a_form_that_cannot_be_read(files: Files) -> None:
    assert (await files.send(b"--frontier\r\nnonsense")).code == 100
    assert (await files.driver.call("POST", f"/{NUMBER}/media", b"{", TOKEN)).code == 100


async def test_a_vague_part_takes_its_type_from_the_form(files: Files) -> None:
    fields = {"messaging_product": "whatsapp", "type": "application/pdf"}
    media_id = (await files.send(form(fields, ("a.pdf", "application/octet-stream", b"%PDF")))).json["id"]
    assert (await files.driver.call("GET", f"/{media_id}", token=TOKEN)).json["mime_type"] == "application/pdf"


def test_the_oldest_files_give_way() -> None:
    media = Media(seed=1, capacity=10)
    first, second = (media.put("1", bytes(5), "text/plain", None, 0, incoming=False) for _ in range(2))
    assert [stored.id for stored in media.all(0)] == [first.id, second.id]
    third = media.put("1", bytes(1), "text/plain", None, 0, incoming=False)
    assert [stored.id for stored in media.all(0)] == [second.id, third.id]
    huge = media.put("1", bytes(11), "text/plain", None, 0, incoming=False)
    assert [stored.id for stored in media.all(0)] == [huge.id]


def test_what_a_person_sent_lives_seven_days() -> None:
    media = Media(seed=1, capacity=10)
    stored = media.put("1", b"x", "text/plain", None, 100, incoming=True)
    week = 100 + 7 * 86_400
    assert media.find(stored.id, week - 1) == stored
    query = dict(pair.split("=") for pair in urlsplit(media.url(stored, week - 100)).query.split("&"))
    assert media.open_url(query, week - 1) == stored
    assert media.find(stored.id, week) is None


APP = "634974688087057"


async def test_a_resumable_upload_in_two_pieces(files: Files, client: Client) -> None:
    begun = await files.driver.call(
        "POST", f"/{APP}/uploads?file_name=a&file_length=6&file_type=image/png", token=TOKEN
    )
    session = begun.json["id"]
    assert session.startswith("upload:")

    async def add(offset: int, piece: bytes) -> Reply:
        request = client.post(f"{files.driver.base}/v25.0/{session}").header("Authorization", f"OAuth {TOKEN}")
        return await files.read(request.header("file_offset", str(offset)).body_bytes(piece))

    assert (await add(0, b"abc")).json["file_offset"] == 3
    assert (await files.driver.call("GET", f"/{session}", token=TOKEN)).json == {"id": session, "file_offset": 3}
    assert (await add(2, b"def")).code == 100
    assert (await add(3, b"defg")).code == 100
    handle = (await add(3, b"def")).json["h"]
    assert handle.startswith("4::")
    assert (await add(6, b"x")).code == 100
    picture = {"messaging_product": "whatsapp", "profile_picture_handle": handle}
    path = f"/{NUMBER}/whatsapp_business_profile"
    assert (await files.driver.call("POST", path, picture, TOKEN)).json == {"success": True}
    [profile] = (await files.driver.call("GET", path, token=TOKEN)).json["data"]
    assert (await files.fetch(profile["profile_picture_url"], None)).raw == b"abcdef"
    wrong = json.dumps({**picture, "profile_picture_handle": "4::made:up"}).encode()
    assert (await files.driver.call("POST", path, wrong, TOKEN)).code == 100


@pytest.mark.parametrize(
    "query", ["file_type=image/png", "file_length=0&file_type=a", "file_length=²&file_type=a", "file_length=3"]
)
async def test_an_upload_needs_length_and_type(files: Files, query: str) -> None:
    assert (await files.driver.call("POST", f"/{APP}/uploads?{query}", token=TOKEN)).code == 100


async def test_less_room_takes_effect_at_once(files: Files) -> None:
    first = await files.stored()
    await files.driver.control("PATCH", "settings", {"management": {"media_bytes": len(PNG)}})
    second = await files.stored()
    assert [kept["id"] for kept in await files.driver.control("GET", "media")] == [second]
    assert first != second
