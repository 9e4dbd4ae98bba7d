"""A network is one value: a third one needs a registration and nothing else to send, and to receive callbacks."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID

import msgspec
import pytest

from gatepost.model import ids, times
from gatepost.model.account_log import OPERATOR, new_entry
from gatepost.model.errors import NotAuthenticated
from gatepost.model.message import Capabilities
from gatepost.model.person import jid
from gatepost.networks.base import BadCallback, Incoming, Outgoing, Person, Receipt, RemoteMedia, SendAccepted, Update
from gatepost.networks.kind import Callbacks, Connector, NetworkChannel, NetworkKind, NetworkParts
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.store.channels import ChannelConfig, insert_channel
from tests.gateway.checks import PERSON, SEND, TEXT, check_refused
from tests.running_gateway import Gateway


class Pigeons:
    """A network that accepts every message and remembers it."""

    editor = number_check = None
    sent: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, channel: NetworkChannel) -> None:
        self._loft = channel.address["loft"]

    async def send(self, message: Outgoing) -> Receipt:
        self.sent.append((self._loft, message.phone))
        return SendAccepted(f"pigeon-{message.id.hex}")

    async def mark_read(
        self, network_id: str, person: Person, *, earlier: Sequence[str] = (), typing: bool = False
    ) -> None:
        """Nothing to show."""

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        return "file"

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        return b""

    async def close(self) -> None:
        """Nothing is open."""


class PigeonNote(msgspec.Struct):
    """A message in a callback of this network."""

    id: str
    phone: str
    text: str
    at: datetime


class PigeonCallbacks:
    """Callbacks with a signature in a header of their own, and a body that only this network has."""

    def __init__(self, channel: NetworkChannel) -> None:
        self._ring = str(channel.address["ring"])

    def answer_handshake(self, query: Mapping[str, str]) -> str:
        if query.get("ring") != self._ring:
            raise NotAuthenticated("The ring is not the one of this channel.", "invalid_signature")
        return "coo"

    def check_headers(self, headers: Mapping[bytes, str]) -> None:
        if b"x-pigeon-seal" not in headers:
            raise NotAuthenticated("The header X-Pigeon-Seal is missing.", "invalid_signature")

    def check_signature(self, headers: Mapping[bytes, str], body: bytes) -> None:
        if not hmac.compare_digest(seal(self._ring, body), headers[b"x-pigeon-seal"]):
            raise NotAuthenticated("The seal does not fit this body.", "invalid_signature")

    def parse(self, body: bytes) -> tuple[list[Update], int]:
        try:
            notes = msgspec.json.decode(body, type=list[PigeonNote])
        except msgspec.MsgspecError as error:
            raise BadCallback(str(error)) from None
        return [_incoming(note) for note in notes], 0


def _incoming(note: PigeonNote) -> Incoming:
    content = msgspec.json.encode({"body": note.text}).decode()
    return Incoming(note.id, Person(phone=note.phone), "text", content, note.at)


def seal(ring: str, body: bytes) -> str:
    return hmac.new(ring.encode(), body, hashlib.sha256).hexdigest()


# The network is registered before the gateway opens until it has closed, because a closing gateway checks its events.
pytestmark = pytest.mark.usefixtures("pigeons")


def connect(_: NetworkParts) -> Connector:
    return Connector(close=_nothing, open=Pigeons)


async def _nothing() -> None:
    pass


@pytest.fixture
def pigeons(monkeypatch: pytest.MonkeyPatch) -> NetworkKind:
    callbacks = Callbacks("pigeons", PigeonCallbacks)
    kind = NetworkKind("pigeons", Capabilities(frozenset({"text"})), "tiers", connect, callbacks=callbacks)
    monkeypatch.setitem(NETWORK_KINDS, kind.name, kind)
    Pigeons.sent.clear()
    return kind


@pytest.fixture
async def channel_id(gateway: Gateway, pigeons: NetworkKind) -> UUID:
    """Create a channel of the network, whose key the gateway uses from now on."""
    now = gateway.clock.now()
    channel = ChannelConfig(
        id=ids.new_id(now),
        account_id=gateway.account_id,
        kind=pigeons.name,
        phone="15550004444",
        name="Pigeons",
        network={"loft": "north", "ring": "red"},
        secrets=None,
        limits={},
        connection="connected",
        reason=None,
    )
    assert await insert_channel(
        gateway.db, channel, now, new_entry(gateway.account_id, OPERATOR, "channel_created", now)
    )
    gateway.key = await gateway.new_key(channel.id)
    return channel.id


async def test_a_registered_network_carries_messages(gateway: Gateway, channel_id: UUID) -> None:
    answer = (await gateway.call("POST", SEND, TEXT)).json()["data"]
    message_id = answer["key"]["id"]
    assert answer == {"key": {"remoteJid": jid(PERSON), "fromMe": True, "id": message_id}, "status": "PENDING"}
    await gateway.until_status(message_id, "SENT")
    assert Pigeons.sent == [("north", PERSON)]

    view = (await gateway.call("GET", "/api/v1/channel")).json()["data"]
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
        refused = await gateway.call(method, path, body)
        assert (refused.status, refused.json()["error"]["code"]) == (422, "unsupported_on_channel"), path


async def test_a_registered_network_is_in_the_event_schema(gateway: Gateway) -> None:
    document = (await gateway.call("GET", "/docs/events/message_notification.json", key="")).json()
    assert document["$defs"]["ChannelRef"]["properties"]["kind"]["enum"] == ["official", "qr", "pigeons"]


async def test_a_registered_network_calls_back(gateway: Gateway, channel_id: UUID) -> None:
    address = f"/callbacks/pigeons/{ids.format_id('ch', channel_id)}"
    handshake = await gateway.call("GET", address + "?ring=red", key="")
    assert (handshake.status, handshake.body) == (200, b"coo")
    check_refused(await gateway.call("GET", address + "?ring=blue", key=""), 401, "invalid_signature")

    at = times.format_time(gateway.clock.now())
    body = msgspec.json.encode([{"id": "note-1", "phone": PERSON, "text": "Oi", "at": at}])
    for headers in ({}, {"x-pigeon-seal": seal("blue", body)}):
        answer = await gateway.call("POST", address, raw=body, key="", headers=headers)
        check_refused(answer, 401, "invalid_signature")
    sealed = {"x-pigeon-seal": seal("red", b"{")}
    check_refused(await gateway.call("POST", address, raw=b"{", key="", headers=sealed), 400, "malformed_json")

    sealed = {"x-pigeon-seal": seal("red", body)}
    assert (await gateway.call("POST", address, raw=body, key="", headers=sealed)).status == 200
    events = (await gateway.call("GET", "/api/v1/events")).json()["data"]
    (event,) = [event for event in events if event["type"] == "message_notification"]
    assert (event["channel"]["kind"], event["data"]["content"]["body"]) == ("pigeons", "Oi")

    for other in (f"/callbacks/cloud/{ids.format_id('ch', channel_id)}", f"/callbacks/pigeons/{gateway.channel}"):
        answer = await gateway.call("POST", other, raw=body, key="", headers=sealed)
        check_refused(answer, 404, "not_found", about=other)
