"""A lost answer never makes two messages, and what cannot be repeated safely is not."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatepost_client import NEVER, File, NoAnswer, Retry
from gatepost_client.errors import BadAnswer, BadKey, NotFound, Unavailable
from tests.client.driver import Driver, Kind, Naps, driving
from tests.client.lossy import Road, lossy_road
from tests.client.test_sending import PERSON, PIXEL
from tests.conftest import Answer, Receiver
from tests.running_gateway import Gateway


@pytest.fixture
async def road(gateway: Gateway) -> AsyncIterator[Road]:
    """Give a road to the gateway."""
    async with lossy_road(gateway.url) as one:
        yield one


@pytest.fixture
async def far(road: Road, gateway: Gateway, kind: Kind) -> AsyncIterator[Driver]:
    """Give a client at the other end of the road, which naps instead of waiting."""
    async with driving(kind, road.url, gateway.key, Naps()) as one:
        yield one


async def _count(gateway: Gateway, table: str) -> int:
    async with gateway.db.connection() as conn:
        return int(await conn.fetchval(f"SELECT count(*) FROM {table}"))


async def test_two_lost_answers_one_message(far: Driver, road: Road, gateway: Gateway) -> None:
    road.lost = 2
    sent = await far.do("send_text", PERSON, "Once")
    assert (road.taken, road.lost) == (3, 0)
    assert await _count(gateway, "messages") == 1
    assert (await far.do("message", sent.id)).content == {"body": "Once"}


async def test_a_lost_upload_is_one_file(far: Driver, road: Road, gateway: Gateway) -> None:
    road.lost = 1
    await far.do("send_image", PERSON, File(PIXEL, "image/jpeg"))
    assert (await _count(gateway, "media"), await _count(gateway, "messages")) == (1, 1)


async def test_two_sends_are_two_messages(far: Driver, gateway: Gateway) -> None:
    await far.do("send_text", PERSON, "Same")
    await far.do("send_text", PERSON, "Same")
    assert await _count(gateway, "messages") == 2


async def test_a_lost_webhook_is_one_and_its_secret_comes_after_all(far: Driver, road: Road, gateway: Gateway) -> None:
    road.lost = 1
    hook = await far.do("create_webhook", "http://127.0.0.1:9000/hook")
    assert hook.secret
    assert await _count(gateway, "endpoints") == 1
    assert [hook.url for hook in await far.do("webhooks")] == ["http://127.0.0.1:9000/hook"]


async def test_what_could_happen_twice_is_not_repeated(far: Driver, road: Road, gateway: Gateway) -> None:
    made = await gateway.call("POST", "/api/v1/webhooks", {"url": "http://127.0.0.1:9000/hook"})
    road.lost = 1
    with pytest.raises(NoAnswer, match="may have been carried out") as lost:
        await far.do("rotate_webhook_secret", made.json()["data"]["id"])
    assert lost.value.sent
    assert road.taken == 1


async def test_patience_ends(far: Driver, road: Road, gateway: Gateway) -> None:
    road.lost = 5
    with pytest.raises(NoAnswer):
        await far.do("send_text", PERSON, "Once")
    assert road.taken == 5
    assert await _count(gateway, "messages") == 1


async def test_nobody_there(kind: Kind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    naps = Naps()
    async with driving(kind, f"http://127.0.0.1:{port}", "gpk_x", naps) as gp:
        with pytest.raises(NoAnswer, match="nothing was sent") as lost:
            await gp.do("create_webhook", "http://127.0.0.1:9000/hook")
    assert not lost.value.sent
    assert len(naps.taken) == 4


async def test_a_slow_answer_is_given_up(kind: Kind, receiver: Receiver) -> None:
    receiver.answer = Answer(delay=5)
    async with driving(kind, receiver.url, "gpk_x", Naps(), timeout=0.1, retry=Retry(attempts=2)) as gp:
        with pytest.raises(NoAnswer, match="may have been carried out"):
            await gp.do("channel")
    assert len(receiver.requests) == 2


async def test_an_upload_has_time_by_its_size(kind: Kind, receiver: Receiver, tmp_path: Path) -> None:
    receiver.answer = Answer(delay=0.5)
    file = tmp_path / "bill.pdf"
    file.write_bytes(bytes(200_000))
    async with driving(kind, receiver.url, "gpk_x", timeout=0.2, retry=NEVER) as gp:
        for content in (file, File(file.read_bytes(), "application/pdf")):
            with pytest.raises(BadAnswer):  # the receiver is no gateway
                await gp.do("upload", content)
    assert [len(one.body) for one in receiver.requests] == [200_000, 200_000]


async def test_one_key_through_all_tries(kind: Kind, receiver: Receiver) -> None:
    receiver.answer = Answer(503, {"retry-after": "2"})
    naps = Naps()
    async with driving(kind, receiver.url, "gpk_x", naps, retry=Retry(attempts=3)) as gp:
        with pytest.raises(Unavailable, match="http_503"):
            await gp.do("send_text", PERSON, "Once")
        with pytest.raises(Unavailable):
            await gp.do("send_text", PERSON, "Once")
    keys = [request.headers["idempotency-key"] for request in receiver.requests]
    assert len(keys) == 6
    assert len(set(keys[:3])) == len(set(keys[3:])) == 1
    assert keys[0] != keys[3]
    assert len({request.body for request in receiver.requests}) == 1
    assert naps.taken == [2, 2, 2, 2]


async def test_a_redirect_does_not_carry_the_key_away(kind: Kind, receiver: Receiver) -> None:
    receiver.answer = Answer(307, {"location": receiver.url + "/elsewhere"})
    async with driving(kind, receiver.url + "/folder/", "gpk_x") as gp:
        with pytest.raises(Exception, match="http_307"):
            await gp.do("channel")
    assert [request.path for request in receiver.requests] == ["/folder/api/v1/channel"]
    assert receiver.requests[0].headers["authorization"] == "Bearer gpk_x"


async def test_a_page_of_somebody_else_is_no_answer(kind: Kind, receiver: Receiver) -> None:
    receiver.answer = Answer(200, body=b"<html>Welcome")
    async with driving(kind, receiver.url, "gpk_x") as gp:
        with pytest.raises(BadAnswer):
            await gp.do("channel")


async def test_a_file_that_breaks_off_is_an_error(kind: Kind) -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4000000\r\n\r\n" + bytes(2_000_000))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(half, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with driving(kind, url, "gpk_x") as gp:
            with pytest.raises(NoAnswer, match="broke off"):
                await gp.all("download", "med_1")


@pytest.mark.parametrize("wrong", ["", ".", ".."])
async def test_an_id_cannot_change_the_path(kind: Kind, wrong: str) -> None:
    async with driving(kind, "http://127.0.0.1:1", "gpk_x") as gp:
        with pytest.raises(ValueError, match="is not an id"):
            await gp.do("message", wrong)


async def test_odd_ids_are_not_found(gp: Driver) -> None:
    for odd in ("../webhooks", "a/b", "a?b", "ü %"):
        with pytest.raises(NotFound):
            await gp.do("message", odd)


async def test_a_wrong_key(gateway: Gateway, kind: Kind) -> None:
    async with driving(kind, gateway.url, "gpk_wrong") as gp:
        with pytest.raises(BadKey):
            await gp.do("channel")


@pytest.mark.parametrize("wrong", ["", "gateway.example.com", "ftp://x", "http://", "http://x/?a=1", "http://x/#a"])
async def test_a_wrong_address_shows_at_once(kind: Kind, wrong: str) -> None:
    with pytest.raises(ValueError, match="address"):
        async with driving(kind, wrong, "gpk_x"):
            pass
