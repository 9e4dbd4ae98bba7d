"""The link against the sandbox's own network of linked phones, which keeps its own copy of the protocol."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import pytest
from pyreqwest.client import ClientBuilder

from gatepost.networks.base import (
    CallFailed,
    ConnectionUpdate,
    Incoming,
    Outgoing,
    QuotedRef,
    SendAccepted,
    SendNotMade,
    StatusUpdate,
    Update,
)
from gatepost.networks.qr.driver import DriverTimeouts
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.network import QrNetwork
from gatepost.networks.qr.websocket_driver import WebSocketDriver
from gatepost_sandbox import SandboxSettings
from tests.patience import PATIENCE
from tests.sandbox.conftest import running
from tests.sandbox.driver import START, Driver

PHONE, ANA = "15550002222", "15550003333"
ID = UUID("01999c00-0000-7000-8000-0000000000ab")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running(SandboxSettings(seed=7, start=START, frozen=True)) as found:
        yield found


@pytest.fixture
async def sandbox(port: int) -> Driver:
    driver = Driver(ClientBuilder().no_proxy().build(), port)
    await driver.control("POST", "reset", {})
    return driver


@pytest.fixture
async def links(port: int, sandbox: Driver) -> AsyncIterator[WebSocketDriver]:
    driver = WebSocketDriver(f"ws://127.0.0.1:{port}/qr/link", health=DriverTimeouts(first_wait=0.01))
    await driver.start()
    yield driver
    await driver.close()


@pytest.fixture
async def link(links: WebSocketDriver, sandbox: Driver) -> Link:
    one = links.link("ch_1")
    await one.open(PHONE)
    assert (await until(one, lambda update: getattr(update, "qr", None)))[-1]
    await sandbox.control("POST", f"phones/{PHONE}/scan", {"session": "ch_1"})
    await sandbox.advance(0.5)
    await until(one, lambda update: getattr(update, "state", "") == "connected")
    return one


async def until(link: Link, wanted: object) -> list[Update]:
    assert callable(wanted)
    seen = []
    async with asyncio.timeout(PATIENCE):
        async for _, update in link.updates():
            seen.append(update)
            if wanted(update):
                return seen
    raise AssertionError(seen)


def outgoing(type_: str, content: str, **fields: object) -> Outgoing:
    return Outgoing(ID, 1, ANA, type_, content, **fields)  # type: ignore[arg-type]


async def test_a_message_goes_once_and_is_read(link: Link, sandbox: Driver) -> None:
    network = QrNetwork(link)
    assert link.own_ids
    text = outgoing("text", '{"body":"Hi"}', reply_to=QuotedRef("3A01", False, "Hello"))
    first = await network.send(text)
    assert isinstance(first, SendAccepted)
    assert first == await network.send(text) == SendAccepted(f"{ID.int:032X}")
    await sandbox.advance(60)
    seen = await until(link, lambda update: getattr(update, "status", "") == "delivered")
    last = seen[-1]
    assert isinstance(last, StatusUpdate)
    assert last.message_id == ID


async def test_files_and_choices(link: Link) -> None:
    network = QrNetwork(link)
    handle = await network.put_media(b"picture" * 100_000, "image/jpeg", None)
    image = outgoing("image", '{"media":{"id":"med_1"},"caption":"Look"}', media={"med_1": handle})
    assert isinstance(await network.send(image), SendAccepted)
    buttons = '{"body":"?","buttons":[{"id":"y","title":"Yes"}],"fallback":"text"}'
    other = Outgoing(UUID(int=ID.int + 1), 1, ANA, "buttons", buttons)
    assert isinstance(await network.send(other), SendAccepted)


async def test_what_people_say_arrives_and_files_can_be_fetched(link: Link, sandbox: Driver) -> None:
    said = {"from": {"phone": ANA, "name": "Ana"}, "type": "image", "content": {"caption": "Look"}}
    file = {"data": "cGljdHVyZQ==", "mime_type": "image/jpeg"}
    await sandbox.control("POST", f"phones/{PHONE}/incoming", said | {"media": file})
    update = (await until(link, lambda one: isinstance(one, Incoming)))[-1]
    assert isinstance(update, Incoming)
    assert (update.type, update.person.phone, update.person.name) == ("image", ANA, "Ana")
    assert update.media
    assert await QrNetwork(link).get_media(update.media, 7) == b"picture"
    with pytest.raises(CallFailed):
        await QrNetwork(link).get_media(update.media, 6)
    await QrNetwork(link).mark_read(update.network_id, update.person, typing=True)


async def test_a_device_that_was_linked_needs_no_second_scan(link: Link, links: WebSocketDriver) -> None:
    await link.close()
    again = links.link("ch_1")
    await again.open(PHONE)
    seen = await until(again, lambda update: getattr(update, "state", "") == "connected")
    assert not any(update.qr for update in seen if isinstance(update, ConnectionUpdate))
    assert [one.phone for one in await again.check([ANA])] == [ANA]


async def test_a_lost_link_says_why(link: Link, sandbox: Driver) -> None:
    await sandbox.control("POST", f"phones/{PHONE}/drop", {"reason": "replaced"})
    news = (await until(link, lambda update: getattr(update, "state", "") == "disconnected"))[-1]
    assert isinstance(news, ConnectionUpdate)
    assert news.reason == "replaced"


async def test_a_connection_that_is_cut_is_noticed_and_made_again(
    link: Link, links: WebSocketDriver, sandbox: Driver
) -> None:
    await sandbox.control("POST", "reset", {})
    seen = [update async for _, update in link.updates()]
    assert getattr(seen[-1], "reason", "") == "driver_gone"
    assert isinstance(await QrNetwork(link).send(outgoing("text", '{"body":"Hi"}')), SendNotMade)
    await links.link("ch_1").open(PHONE)
