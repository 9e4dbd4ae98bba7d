"""What a hostile reading tried on the engine Baileys: the real library in the real child, as in test_baileys.py."""
# ruff: noqa: F811 - the fixtures of that module

import asyncio
import os
import signal
from base64 import b64encode

import asyncpg
import pytest

from gatepost.networks.base import (
    CallFailed,
    ConnectionUpdate,
    Incoming,
    LabelUpdate,
    SendAccepted,
    SendNotMade,
    SendUnknown,
    StatusUpdate,
)
from gatepost.networks.qr.frames import MAX_FRAME
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.phone.protos import e2e
from tests.networks.qr.phones import ADA, Fields, Network
from tests.networks.qr.test_baileys import (  # noqa: F401
    ANA,
    ID,
    Gateway,
    children,
    gateway,
    link,
    network,
    of,
    opened,
    opened_again,
    shop,
    state,
    store,
    unconfirmed,
    until,
)
from tests.patience import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUP = "120363000000000000@g.us"


async def said_raw(network: Network, id_: str, raw: bytes, **fields: str) -> None:
    what = fields.pop("do", "say")
    given = {"from": ADA["phone"], "id": id_, "message": b64encode(raw).decode(), **fields}
    await network.do(what, **given)


def nested(levels: int) -> bytes:
    """A message in so many envelopes that one library opens it and the other does not."""
    said: bytes = e2e.Message(conversation="deep").SerializeToString()
    for _ in range(levels):
        said = _field(40, _field(1, said))  # ephemeralMessage { message }
    return said


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


async def test_a_message_larger_than_a_frame_is_reported_and_blocks_nothing(
    link: Link, network: Network, shop: Fields
) -> None:
    await network.say("BIG1", e2e.Message(conversation="x" * MAX_FRAME))
    told = await until(link, of(Incoming))
    assert (told.network_id, told.type) == ("BIG1", "unsupported")
    assert "Too large" in told.content
    await network.say("BIG2", e2e.Message(conversation="after"))
    assert (await until(link, of(Incoming))).content == '{"body":"after"}'
    await network.saw("receipt", lambda one: "BIG2" in one["ids"])
    assert await unconfirmed(network, shop) == 0


@pytest.mark.parametrize("raw", [nested(60), b"\x0a\x02\xff\xfe"], ids=["too deep", "no text"])
async def test_a_message_that_cannot_be_read_is_reported_and_confirmed(
    link: Link, network: Network, shop: Fields, raw: bytes
) -> None:
    await said_raw(network, "POI1", raw)
    told = await until(link, of(Incoming))
    assert (told.network_id, told.type) in (("POI1", "unsupported"), ("POI1", "text"))
    await network.saw("receipt", lambda one: "POI1" in one["ids"])
    assert [one for one in network.seen if one.get("type") == "retry"] == []
    assert await unconfirmed(network, shop) == 0


async def test_the_first_message_of_somebody_in_a_group_is_reported_once_and_awaited(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    said = e2e.Message(conversation="Hello all").SerializeToString()
    await said_raw(network, "SK1", said, do="say_to_group", group=GROUP)
    first = await until(link, of(Incoming), ack=False)
    assert (first.network_id, first.content) == ("SK1", '{"body":"Hello all"}')
    assert first.context == {"chat": {"kind": "group", "id": GROUP}}
    assert await unconfirmed(network, shop) == 1
    gateway.kill()
    await until(link, state("disconnected"))
    again = await opened(gateway, shop, link.device)
    assert (await until(again, of(Incoming))).network_id == "SK1"
    async with asyncio.timeout(PATIENCE):
        while await unconfirmed(network, shop):
            await asyncio.sleep(0.01)
    await again.close()


async def test_a_database_that_fails_costs_a_reconnect_and_no_message(
    link: Link, gateway: Gateway, network: Network, store: str, shop: Fields
) -> None:
    await network.saw("receipt", lambda one: one["type"] == "hist_sync")
    conn = await asyncpg.connect(store)
    try:
        await conn.execute("ALTER TABLE qr_devices.baileys_keys RENAME TO away")
        await network.say("DB1", e2e.Message(conversation="Keep me"))
        gone = await until(link, lambda one: isinstance(one, ConnectionUpdate) and one.state == "disconnected")
    finally:
        await conn.execute("ALTER TABLE qr_devices.away RENAME TO baileys_keys")
        await conn.close()
    assert gone.reason == "stream_error"
    assert await unconfirmed(network, shop) == 1
    assert [one for one in network.seen if one.get("type") == "retry" or one["saw"] == "refused"] == []
    again = await opened(gateway, shop, link.device)
    assert (await until(again, of(Incoming))).network_id == "DB1"
    await again.close()


async def test_what_was_not_acknowledged_before_a_close_is_said_again(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    await link.send(f"{ID}1", ANA, "text", {"body": "Hello"})
    await network.do("receipt", **{"from": ADA["phone"]}, ids=[f"{ID}1"], type="read")
    await until(link, of(StatusUpdate), ack=False)  # the gateway's own database is away, for example
    await link.close()
    again = await opened(gateway, shop, link.device)
    told = await until(again, of(StatusUpdate))
    assert (told.network_id, told.status) == (f"{ID}1", "read")
    await again.close()


async def test_a_link_that_is_closed_while_it_opens_is_not_there_afterwards(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    await link.close()
    await network.saw("gone")
    network.seen.clear()
    hasty = gateway.driver.link(link.session)
    await hasty.open(shop["phone"], link.device)
    await hasty.close()
    again = await opened_again(gateway, shop, link.device)
    assert await again.send(f"{ID}1", ANA, "text", {"body": "Alone"}) == SendAccepted(f"{ID}1")
    assert again.state == "connected"
    ends = [one["saw"] for one in network.seen if one["saw"] in ("connected", "gone")]
    assert ends[-1] == "connected"
    await again.close()


async def test_a_call_that_ends_is_reported_as_by_the_other_engine(link: Link, network: Network) -> None:
    await network.do("call", **{"from": ADA["phone"]}, id="C9")
    await until(link, of(Incoming))
    await network.do("hang_up", **{"from": ADA["phone"]}, id="C9", reason="timeout")
    assert (await until(link, of(Incoming))).network_id == "C9:missed"
    await network.do("hang_up", **{"from": ADA["phone"]}, id="C8")
    assert (await until(link, of(Incoming))).network_id == "C8:ended"


@pytest.mark.parametrize("place", ["https://127.0.0.1:{port}/|/x", "|@127.0.0.1:{port}/x"], ids=["host", "path"])
async def test_a_file_is_fetched_from_no_host_that_a_stranger_names(link: Link, network: Network, place: str) -> None:
    connected = asyncio.Event()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url, path = place.format(port=server.sockets[0].getsockname()[1]).split("|")
        file = e2e.ImageMessage(URL=url, directPath=path, mediaKey=bytes(32), mimetype="image/png", fileLength=5)
        await network.say("IMG1", e2e.Message(imageMessage=file))
        told = await until(link, of(Incoming))
        assert told.media
        with pytest.raises(CallFailed) as caught:
            await link.get_media(told.media.handle, 100)
        assert not caught.value.retry
    assert not connected.is_set()


async def test_what_was_certainly_not_sent_is_reported_as_not_sent(link: Link, network: Network) -> None:
    await network.do("lose", phone=ADA["phone"])
    assert isinstance(await link.send(f"{ID}1", ANA, "text", {"body": "Taken, and no answer"}), SendUnknown)
    assert isinstance(await link.send(f"{ID}2", ANA, "text", {"body": "Nobody is there"}), SendNotMade)
    assert [id_ for id_, _ in await network.messages()] == [f"{ID}1"]


async def test_a_label_with_half_a_sign_in_its_name(link: Link, network: Network) -> None:
    await network.do("label", id="8", name="a\ud800", color=1)
    told = await until(link, of(LabelUpdate))
    assert (told.network_id, told.action) == ("8", "changed")


async def test_no_program_is_left_behind(gateway: Gateway, link: Link) -> None:
    assert gateway.driver.pid
    (node,) = children(gateway.driver.pid)
    os.kill(node.pid, signal.SIGSTOP)  # it notices nothing any more, not even that its socket is closed
    await gateway.restart()
    assert not node.is_running()
    async with asyncio.timeout(PATIENCE):
        while gateway.driver.pid is None:  # the end of the module must not interrupt its start
            await asyncio.sleep(0.01)
