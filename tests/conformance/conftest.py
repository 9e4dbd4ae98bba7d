"""The suite runs over three lines: an official channel and a linked one at the sandbox, and one of real links.

gateway    one gateway for the folder, with its sandbox
phones   another, whose links are held by the real library, with the network of phones that it dials
line     one channel of each kind for the folder; every test has people of its own
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from gatepost.model import ids
from gatepost_sandbox import SandboxSettings
from tests.conformance.cloud_line import CloudLine
from tests.conformance.line import Line
from tests.conformance.linked_line import LinkedLine
from tests.conformance.phone_gateway import Phones, running_phones
from tests.conformance.qr_line import QrLine
from tests.conftest import PostgresServer, copied_database
from tests.running_gateway import Gateway, running_gateway

_numbers = count(1)


def quick_network() -> SandboxSettings:
    """People who read at once, and a network that reports every status in order."""
    return msgspec.convert(
        {
            "delays": {"sent": 0.01, "delivered": 0.03, "read": 0.05, "played": 0.07},
            "limits": {"throughput": None, "pair_interval": None},
            "callbacks": {"connections": 1},
        },
        SandboxSettings,
    )


async def new_cloud_line(gateway: Gateway) -> CloudLine:
    """A fresh official channel, with a business account that has the network's stock templates."""
    number = next(_numbers)
    phone, number_id, waba_id = f"1555100{number:04d}", f"1{number:014d}", f"2{number:014d}"
    channel = await gateway.new_channel(gateway.account_id, phone, number_id, waba_id=waba_id)
    line = CloudLine(gateway, channel.id, ids.format_id("ch", channel.id), phone, await gateway.new_key(channel.id))
    line.number_id, line.waba_id = number_id, waba_id
    return line


async def new_qr_line(gateway: Gateway, *, linked: bool = True) -> QrLine:
    """A fresh channel that is linked by QR code."""
    phone = f"1555200{next(_numbers):04d}"
    channel = await gateway.new_qr_channel(gateway.account_id, phone)
    line = QrLine(gateway, channel.id, ids.format_id("ch", channel.id), phone, await gateway.new_key(channel.id))
    if linked:
        await line.link()
    return line


class Place:
    """The gateway of real links, which is started by the first test that wants it."""

    def __init__(self, start: Callable[[], Awaitable[Phones]]) -> None:
        self._start = start
        self._phones: Phones | None = None

    async def __call__(self) -> Phones:
        self._phones = self._phones or await self._start()
        return self._phones


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def gateway(postgres_server: PostgresServer, parted_template: str) -> AsyncIterator[Gateway]:
    """One gateway for the folder."""
    async with (
        copied_database(postgres_server, parted_template) as url,
        running_gateway(url, sandbox=quick_network(), sending__unknown_grace=5) as one,
    ):
        yield one


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def phones(
    postgres_server: PostgresServer, parted_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    """One gateway with real links for the folder."""
    async with AsyncExitStack() as stack:

        async def start() -> Phones:
            url = await stack.enter_async_context(copied_database(postgres_server, parted_template))
            return await stack.enter_async_context(running_phones(url, tmp_path_factory.mktemp("phones")))

        yield Place(start)


class Lines:
    """One channel of each kind, each made by the first test that wants it."""

    def __init__(self, gateway: Gateway, phones: Place) -> None:
        self._gateway = gateway
        self._phones = phones
        self._made: dict[str, Line] = {}

    async def __call__(self, kind: str) -> Line:
        if kind not in self._made:
            self._made[kind] = await self.new(kind)
        return self._made[kind]

    async def new(self, kind: str) -> Line:
        """A fresh one."""
        match kind:
            case "cloud":
                return await new_cloud_line(self._gateway)
            case "qr":
                return await new_qr_line(self._gateway)
        return await (await self._phones()).new_line()

    async def unlinked(self, kind: str) -> LinkedLine:
        """A fresh one that no phone is linked to."""
        if kind == "qr":
            return await new_qr_line(self._gateway, linked=False)
        return await (await self._phones()).new_line(linked=False)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def lines(gateway: Gateway, phones: Place) -> Lines:
    return Lines(gateway, phones)


@pytest_asyncio.fixture(loop_scope="package", params=["cloud", "qr", "phone"])
async def line(request: Any, lines: Lines) -> Line:
    """The channel of each kind, one after the other."""
    return await lines(request.param)


def over(*names: str) -> pytest.MarkDecorator:
    """Leaves out the lines that have nothing of the kind."""
    return pytest.mark.parametrize("line", names, indirect=True)
