"""A linked channel as a network, over a small driver that does what the test says."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from gatepost.networks.base import (
    CallFailed,
    ErrorReaction,
    NetworkError,
    Outgoing,
    Person,
    RemoteMedia,
    SendAccepted,
    SendRefused,
)
from gatepost.networks.qr.driver import Driver, DriverTimeouts
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.network import QrNetwork
from tests.networks.qr.scripted import Scripted, running

ANA = Person(phone="15550003333")
ID = "01999C000000700080000000000000AB"


@pytest.fixture
def script() -> Scripted:
    return Scripted()


@pytest.fixture(params=["socketpair", "websocket"])
async def driver(request: pytest.FixtureRequest, script: Scripted) -> AsyncIterator[Driver]:
    async with running(request.param, script, health=DriverTimeouts(first_wait=0.01)) as one:
        yield one


@pytest.fixture
async def link(driver: Driver) -> Link:
    one = driver.link("ch_1")
    await one.open("15550002222")
    return one


async def test_a_network_over_the_link(link: Link, script: Scripted) -> None:
    network = QrNetwork(link)
    message = Outgoing(
        id=UUID(hex=ID),
        attempt=1,
        phone="15550003333",
        type="image",
        content='{"media":{"id":"med_1"}}',
        media={"med_1": "h1"},
    )
    assert await network.send(message) == SendAccepted(ID)
    assert await network.send(message) == SendAccepted(ID)
    assert [frame["id"] for frame in script.requests if frame["op"] == "send"] == [ID, ID]
    assert (await script.asked("send"))["content"] == {"media": {"handle": "h1"}}

    await network.mark_read("3EB0", ANA)
    assert "typing" not in {frame["op"] for frame in script.requests}
    await network.mark_read("3EB0", ANA, typing=True)
    assert (await script.asked("typing"))["on"] is True
    await network.edit("3EB0", ANA, "text", '{"body":"Hi"}')
    await network.delete("3EB0", ANA)
    script.replies["get"] = lambda _: [{"ok": True, "data": "", "last": True}]
    assert await network.get_media(RemoteMedia("h1", "image/png"), 10) == b""
    script.replies["put"] = lambda _: [{"ok": True, "handle": "h2"}]
    assert await network.put_media(b"x", "image/png", None) == "h2"
    await network.close()
    await script.asked("close")


async def test_what_cannot_go_over_a_link_is_refused_for_good(link: Link) -> None:
    network = QrNetwork(link)
    message = Outgoing(UUID(hex=ID), 1, "15550003333", "buttons", '{"body":"?","buttons":[]}')
    receipt = await network.send(message)
    assert isinstance(receipt, SendRefused)
    assert receipt.reaction is ErrorReaction.FINAL
    assert isinstance(receipt.error, NetworkError)
    with pytest.raises(CallFailed, match="Not supported"):
        await network.edit("3EB0", ANA, "buttons", "{}")
