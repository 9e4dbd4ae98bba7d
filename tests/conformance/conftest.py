"""The suite runs over two lines: an official channel and a linked one, both at the sandbox.

house   one gateway for a module, with its sandbox
line    one channel of each kind for a module; every test has people of its own
"""

from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from gatepost.model import ids
from gatepost.sandbox import SandboxSettings
from tests.conformance.cloud_line import CloudLine
from tests.conformance.line import Line
from tests.conformance.qr_line import QrLine
from tests.conftest import PostgresServer, copied_database
from tests.house import House, running_house

_numbers = count(1)


def quick_network() -> SandboxSettings:
    """People who read at once, and a network that tells every status in its order."""
    return msgspec.convert(
        {
            "delays": {"sent": 0.01, "delivered": 0.03, "read": 0.05, "played": 0.07},
            "limits": {"throughput": None, "pair_interval": None},
            "callbacks": {"connections": 1},
        },
        SandboxSettings,
    )


async def new_cloud_line(house: House) -> CloudLine:
    """A fresh official channel, with a business account that has the network's stock templates."""
    number = next(_numbers)
    phone, number_id, waba_id = f"1555100{number:04d}", f"1{number:014d}", f"2{number:014d}"
    channel = await house.new_channel(house.account_id, phone, number_id, waba_id=waba_id)
    line = CloudLine(house, channel.id, ids.show("ch", channel.id), phone, await house.new_key(channel.id))
    line.number_id, line.waba_id = number_id, waba_id
    return line


async def new_qr_line(house: House, *, linked: bool = True) -> QrLine:
    """A fresh channel that is linked by QR code."""
    phone = f"1555200{next(_numbers):04d}"
    channel = await house.new_qr_channel(house.account_id, phone)
    line = QrLine(house, channel.id, ids.show("ch", channel.id), phone, await house.new_key(channel.id))
    if linked:
        await line.link()
    return line


async def new_line(house: House, name: str) -> Line:
    return await (new_cloud_line(house) if name == "cloud" else new_qr_line(house))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(postgres_server: PostgresServer) -> AsyncIterator[House]:
    """One gateway for a module."""
    async with (
        copied_database(postgres_server, "gatepost") as url,
        running_house(url, sandbox=quick_network()) as one,
    ):
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["cloud", "qr"])
async def line(request: Any, house: House) -> Line:
    """One channel of each kind for a module."""
    return await new_line(house, request.param)


@pytest.fixture(params=["cloud", "qr"])
def kind(request: Any) -> str:
    """The name of a line, for tests that make their own."""
    name: str = request.param
    return name
