"""A network is one value: a third one needs a registration and nothing else to send through the whole gateway."""

from typing import ClassVar

import pytest

from gatepost.model import ids
from gatepost.model.capabilities import Capabilities
from gatepost.networks.base import Outgoing, Person, Receipt, RemoteMedia, SendAccepted
from gatepost.networks.kind import Connector, NetworkChannel, NetworkKind, NetworkParts
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelConfig, insert_channel
from tests.gateway.checks import PERSON, SEND, TEXT
from tests.house import House


class Pigeons:
    """A network that accepts every message and remembers it."""

    editor = number_check = None
    sent: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, channel: NetworkChannel) -> None:
        self._loft = channel.address["loft"]

    async def send(self, message: Outgoing) -> Receipt:
        self.sent.append((self._loft, message.phone))
        return SendAccepted(f"pigeon-{message.id.hex}")

    async def mark_read(self, network_id: str, person: Person, *, typing: bool = False) -> None:
        """Nothing to show."""

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        return "file"

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        return b""

    async def close(self) -> None:
        """Nothing is open."""


def connect(_: NetworkParts) -> Connector:
    return Connector(close=_nothing, open=Pigeons)


async def _nothing() -> None:
    pass


@pytest.fixture
def pigeons(monkeypatch: pytest.MonkeyPatch) -> NetworkKind:
    kind = NetworkKind("pigeons", Capabilities(frozenset({"text"})), "tiers", connect)
    monkeypatch.setitem(NETWORK_KINDS, kind.name, kind)
    Pigeons.sent.clear()
    return kind


async def test_a_registered_network_carries_messages(house: House, pigeons: NetworkKind) -> None:
    now = house.clock.now()
    channel = ChannelConfig(
        id=ids.new_id(now),
        account_id=house.account_id,
        kind=pigeons.name,
        phone="15550004444",
        name="Pigeons",
        network={"loft": "north"},
        secrets=None,
        limits={},
        connection="connected",
        reason=None,
    )
    assert await insert_channel(house.db, channel, now)
    house.key = await house.new_key(channel.id)

    message_id = await house.send(**TEXT)
    await house.until_status(message_id, "SENT")
    assert Pigeons.sent == [("north", PERSON)]

    view = (await house.call("GET", "/api/v1/channel")).json()["data"]
    assert (view["kind"], view["capabilities"]["types"]) == ("pigeons", ["text"])
    poll = {"phone": PERSON, "type": "poll", "poll": {"question": "?", "options": ["a", "b"]}}
    for method, path, body in (
        ("POST", SEND, poll),
        ("POST", "/api/v1/channel/connect", None),
        ("GET", "/api/v1/templates", None),
        ("GET", "/api/v1/channel/profile", None),
        ("POST", "/api/v1/contacts/check", {"phones": [PERSON]}),
        ("DELETE", f"/api/v1/messages/{message_id}", None),
    ):
        refused = await house.call(method, path, body)
        assert (refused.status, refused.json()["error"]["code"]) == (422, "unsupported_on_channel"), path
    async with house.db.connection() as conn:  # the event schema names the kinds that are shipped, and checks them all
        await conn.execute("DELETE FROM events WHERE channel_id = $1", channel.id)
