"""The engine Baileys: the real library in the real child, linked to a network of phones on loopback."""

import asyncio
import hashlib
import hmac
import os
import signal
import socket
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatepost.model import ids
from gatepost.networks.base import (
    CallFailed,
    ConnectionUpdate,
    ContactUpdate,
    ErrorReaction,
    Incoming,
    LabelUpdate,
    Person,
    QuotedRef,
    SendAccepted,
    SendRefused,
    SendUnknown,
    StatusUpdate,
    Update,
)
from gatepost.networks.qr.child_driver import ChildDriver, Devices
from gatepost.networks.qr.driver import DriverTimeouts
from gatepost.networks.qr.link import Link
from gatepost.networks.qr.phone.protos import common, e2e
from gatepost.store.embedded import device_dsn
from tests.conftest import PostgresServer, copied_database
from tests.networks.qr.phones import ADA, Fields, Network, child_at, new_shop, start_network
from tests.patience import PATIENCE

ANA = Person(phone=ADA["phone"])
KEY = bytes(range(32))
ID = "01999C000000700080000000000000A"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def network() -> AsyncIterator[Network]:
    one = await start_network()
    await one.do("person", **ADA)
    yield one
    await one.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def store(postgres_server: PostgresServer) -> AsyncIterator[str]:
    async with copied_database(postgres_server, "gatepost") as url:
        yield url


class Gateway:
    """The gateway's end, as often as it is started: the devices are in the database."""

    def __init__(self, program: tuple[str, str], url: str) -> None:
        self._given: dict[str, Any] = {"program": program, "health": DriverTimeouts(first_wait=0.05)}
        self.url = device_dsn(url) or ""  # under the role that the gateway gives its child
        self.driver = ChildDriver(Devices(self.url, "baileys", KEY), **self._given)

    async def restart(self, key: bytes = KEY) -> None:
        await self.driver.close()
        self.driver = ChildDriver(Devices(self.url, "baileys", key), **self._given)
        await self.driver.start()

    def kill(self) -> None:
        assert self.driver.pid
        os.kill(self.driver.pid, signal.SIGKILL)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(network: Network, store: str, tmp_path_factory: Any) -> AsyncIterator[Gateway]:
    """One child for the module; it comes back by itself where a test killed it."""
    one = Gateway(child_at(network.ready, tmp_path_factory.mktemp("child") / "child.py"), store)
    await one.driver.start()
    yield one
    await one.driver.close()


@pytest.fixture
def shop(network: Network) -> Fields:
    """A phone of its own for each test; what the network saw before is another test's."""
    network.seen.clear()
    return new_shop()


async def until(link: Link, fits: Callable[[Any], bool], *, ack: bool = True) -> Any:
    """Reads updates, acknowledging each, until one fits."""
    async with asyncio.timeout(PATIENCE):
        async for seq, update in link.updates():
            if ack and seq is not None:
                await link.ack(seq)
            if fits(update):
                return update
    raise AssertionError("ended")


def of(kind: type[Update]) -> Callable[[Update], bool]:
    return lambda update: isinstance(update, kind)


def state(word: str) -> Callable[[Update], bool]:
    return lambda update: isinstance(update, ConnectionUpdate) and update.state == word


async def opened(gateway: Gateway, shop: Fields, device: str | None = None) -> Link:
    link = gateway.driver.link(f"ch_{shop['phone']}")
    await link.open(shop["phone"], device)
    return link


async def opened_again(gateway: Gateway, shop: Fields, device: str | None) -> Link:
    link = await opened(gateway, shop, device)
    await until(link, state("connected"))
    return link


@pytest_asyncio.fixture(loop_scope="module")
async def link(gateway: Gateway, network: Network, shop: Fields) -> AsyncIterator[Link]:
    one = await opened(gateway, shop)
    news = await until(one, lambda update: isinstance(update, ConnectionUpdate) and bool(update.qr))
    await network.do("scan", qr=news.qr, **shop)
    await until(one, state("connected"))
    yield one
    await one.close()


async def rows(url: str, device: str | None) -> list[asyncpg.Record]:
    conn = await asyncpg.connect(url)
    try:
        found: list[asyncpg.Record] = await conn.fetch(
            "SELECT kind, value FROM qr_devices.baileys_keys WHERE device = $1", device
        )
        return found
    finally:
        await conn.close()


def children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


async def test_a_message_leaves_under_the_id_that_we_chose(link: Link, network: Network, shop: Fields) -> None:
    assert link.own_ids
    assert link.device == f"{shop['phone']}:1@s.whatsapp.net"
    assert await link.send(f"{ID}1", ANA, "text", {"body": "Hello"}) == SendAccepted(f"{ID}1")
    assert await link.send(f"{ID}2", Person(lid=ADA["lid"]), "text", {"body": "Hidden"}) == SendAccepted(f"{ID}2")
    received = [(id_, said.extendedTextMessage.text) for id_, said in await network.messages()]
    assert received == [(f"{ID}1", "Hello"), (f"{ID}2", "Hidden")]


async def test_what_is_not_known_to_have_left_is_sent_again_under_the_same_id(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    await network.do("silence", on=True)
    sending = asyncio.create_task(link.send(f"{ID}1", ANA, "text", {"body": "Once"}))
    await network.saw("message")
    gateway.kill()
    assert isinstance(await sending, SendUnknown)

    await network.do("silence", on=False)
    again = await opened_again(gateway, shop, link.device)
    assert await again.send(f"{ID}1", ANA, "text", {"body": "Once"}) == SendAccepted(f"{ID}1")
    assert [id_ for id_, _ in await network.messages()] == [f"{ID}1", f"{ID}1"]


async def test_a_message_is_confirmed_only_once_the_gateway_has_it(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    await network.say("ABC1", e2e.Message(conversation="Do not lose me"))
    first = await until(link, of(Incoming), ack=False)
    assert first.content == '{"body":"Do not lose me"}'
    assert await unconfirmed(network, shop) == 1
    gateway.kill()
    await until(link, state("disconnected"))

    again = await opened(gateway, shop, link.device)
    told = await until(again, of(Incoming))
    assert (told.network_id, told.content) == ("ABC1", first.content)
    await network.saw("receipt", lambda one: "ABC1" in one["ids"] and one["type"] != "retry")
    assert await unconfirmed(network, shop) == 0


async def test_a_receipt_is_confirmed_only_once_the_gateway_has_it(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    await link.send(f"{ID}1", ANA, "text", {"body": "Hello"})
    await network.do("receipt", **{"from": ADA["phone"]}, ids=[f"{ID}1"], type="read")
    await until(link, of(StatusUpdate), ack=False)
    gateway.kill()
    await until(link, state("disconnected"))
    again = await opened(gateway, shop, link.device)
    told = await until(again, of(StatusUpdate))
    assert (told.network_id, told.status) == (f"{ID}1", "read")


async def unconfirmed(network: Network, shop: Fields) -> int:
    """How many messages the network would send again."""
    devices = (await network.do("state"))["devices"]
    (number,) = [one["unconfirmed"] for one in devices if one["jid"].startswith(shop["phone"])]
    return int(number)


async def test_messages_that_came_while_nobody_was_there(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    await link.close()
    await network.saw("gone")
    for number in range(3):
        await network.say(f"OFF{number}", e2e.Message(conversation=str(number)))
    again = await opened(gateway, shop, link.device)  # the first may come before the link says that it is up
    told = [(await until(again, of(Incoming))).network_id for _ in range(3)]
    assert told == ["OFF0", "OFF1", "OFF2"]


async def test_a_link_that_is_closed_in_the_middle_leaves_nothing_behind_for_the_next(
    link: Link, gateway: Gateway, network: Network, store: str, shop: Fields
) -> None:
    await network.saw("receipt", lambda one: one["type"] == "hist_sync")
    conn = await asyncpg.connect(store)
    try:
        async with conn.transaction():  # the key of the next message cannot be read
            await conn.execute("LOCK TABLE qr_devices.baileys_keys IN ACCESS EXCLUSIVE MODE")
            await network.say("MID1", e2e.Message(conversation="Wait for me"))
            await until_locked(conn)
            await link.close()
    finally:
        await conn.close()
    again = await opened(gateway, shop, link.device)
    assert (await until(again, of(Incoming))).network_id == "MID1"


async def until_locked(conn: asyncpg.Connection) -> None:
    """Waits until somebody waits for what this connection holds."""
    async with asyncio.timeout(PATIENCE):
        while not await conn.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0.01)


async def test_labels_made_and_put_on_chats_at_the_phone(link: Link, network: Network) -> None:
    async def next_label() -> tuple[Any, ...]:
        one = await until(link, of(LabelUpdate))
        return one.network_id, one.action, one.name, one.color, one.person

    await network.do("label", id="7", name="VIP", color=3)
    assert await next_label() == ("7", "changed", "VIP", 3, None)
    await network.do("assign", label="7", to=ADA["phone"], on=True, addressing="pn")
    assert await next_label() == ("7", "assigned", None, None, ANA)
    await network.do("assign", label="7", to=ADA["phone"], on=False)
    assert await next_label() == ("7", "removed", None, None, Person(lid=ADA["lid"]))
    await network.do("label", id="7", name="VIP", color=3, deleted=True)
    assert (await next_label())[:2] == ("7", "deleted")


async def test_an_order_brings_its_lines(link: Link, network: Network, shop: Fields) -> None:
    items = [{"id": "tea", "name": "Tea", "price": 30_100, "currency": "USD", "quantity": 2}]
    await network.do("order", id="o1", token="t1", items=items, total=60_200)
    order = e2e.OrderMessage(
        orderID="o1",
        token="t1",
        itemCount=2,
        totalAmount1000=60_200,
        totalCurrencyCode="USD",
        sellerJID=f"{shop['phone']}@s.whatsapp.net",
    )
    await network.say("ORD1", e2e.Message(orderMessage=order))
    told = await until(link, of(Incoming))
    assert '"items":[{"retailer_id":"tea","quantity":2,"price":"30.10","currency":"USD"}]' in told.content
    order.token = "another"
    await network.say("ORD2", e2e.Message(orderMessage=order))
    assert '"items":[]' in (await until(link, of(Incoming))).content


async def test_receipts_names_and_calls(link: Link, network: Network) -> None:
    await link.send(f"{ID}1", ANA, "text", {"body": "Hello"})
    for kind in ("delivered", "read"):
        await network.do("receipt", **{"from": ADA["phone"]}, ids=[f"{ID}1"], type=kind)
        told = await until(link, of(StatusUpdate))
        assert (told.network_id, told.status) == (f"{ID}1", kind)
    await network.do("contact", phone=ADA["phone"], name="Ada Lovelace")
    named = await until(link, lambda one: isinstance(one, ContactUpdate) and one.person.name == "Ada Lovelace")
    assert (named.person.phone, named.person.lid) == (ADA["phone"], ADA["lid"])
    await network.do("call", **{"from": ADA["phone"]}, id="C1")
    called = await until(link, of(Incoming))
    assert (called.network_id, called.type, called.content) == ("C1:offer", "call", '{"call":{"kind":"offer"}}')


async def test_polls_and_the_votes_in_them(link: Link, network: Network, shop: Fields) -> None:
    poll = {"poll": {"question": "Colour?", "options": ["Red", "Blue"], "multiple": False}}
    assert await link.send(f"{ID}1", ANA, "poll", poll) == SendAccepted(f"{ID}1")
    ((_, said),) = await network.messages()
    assert said.pollCreationMessageV3.name == "Colour?"
    names = (f"{shop['lid']}@lid", f"{ADA['lid']}@lid")
    await network.say("V1", vote(f"{ID}1", said.messageContextInfo.messageSecret, names, "Blue"))
    told = await until(link, of(Incoming))
    assert (told.type, told.target) == ("poll_vote", f"{ID}1")
    assert '"options":["Blue"]' in told.content
    await network.say("V2", vote(f"{ID}1", b"another" * 5, names, "Blue"))
    assert '"sealed":true' in (await until(link, of(Incoming))).content


async def test_what_was_sent_is_remembered_over_a_restart(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    asked, text = (ids.message_id(ids.new_id(datetime.now(UTC))) for _ in range(2))
    poll = {"poll": {"question": "Colour?", "options": ["Red", "Blue"], "multiple": False}}
    await link.send(asked, ANA, "poll", poll)
    await link.send(text, ANA, "text", {"body": "Once more, please"})
    said = dict(await network.messages())
    await gateway.restart()
    again = await opened_again(gateway, shop, link.device)

    names = (f"{shop['lid']}@lid", f"{ADA['lid']}@lid")
    await network.say("V3", vote(asked, said[asked].messageContextInfo.messageSecret, names, "Red"))
    assert (await until(again, of(Incoming))).content == '{"poll":{"options":["Red"]}}'
    await network.do("ask_again", **{"from": ADA["phone"]}, id=text)
    await network.saw("message", lambda one: one["id"] == text and one is not first_of(network, text))
    texts = [said.extendedTextMessage.text for id_, said in await network.messages() if id_ == text]
    assert texts == ["Once more, please"] * 2


def first_of(network: Network, id_: str) -> Fields:
    return next(one for one in network.seen if one["saw"] == "message" and one["id"] == id_)


def vote(poll: str, secret: bytes, names: tuple[str, str], option: str) -> Any:
    """A vote as a phone seals it: with the poll's secret, its author's name and the voter's."""
    author, voter = names
    said = e2e.PollVoteMessage(selectedOptions=[hashlib.sha256(option.encode()).digest()]).SerializeToString()
    first = hmac.digest(bytes(32), secret, "sha256")
    key = hmac.digest(first, f"{poll}{author}{voter}Poll Vote\1".encode(), "sha256")
    sealed = AESGCM(key).encrypt(bytes(12), said, f"{poll}\0{voter}".encode())
    update = e2e.PollUpdateMessage(
        pollCreationMessageKey=common.MessageKey(remoteJID=voter, fromMe=True, ID=poll),
        vote=e2e.PollEncValue(encPayload=sealed, encIV=bytes(12)),
    )
    return e2e.Message(pollUpdateMessage=update)


async def test_edits_deletions_reactions_and_answers(link: Link, network: Network) -> None:
    await link.send(f"{ID}1", ANA, "text", {"body": "Helo"})
    await link.edit(f"{ID}1", ANA, "text", {"body": "Hello"})
    await link.send(f"{ID}2", ANA, "reaction", {"reaction": {"emoji": "👍"}}, target=QuotedRef("ABC1", False))
    await link.send(f"{ID}3", ANA, "text", {"body": "Yes"}, quote=QuotedRef("ABC1", False, "Really?"))
    await link.delete(f"{ID}1", ANA)
    _, edited, reacted, answered, deleted = [said for _, said in await network.messages()]
    change = edited.editedMessage.message.protocolMessage
    assert (change.key.ID, change.editedMessage.extendedTextMessage.text) == (f"{ID}1", "Hello")
    assert (reacted.reactionMessage.key.ID, reacted.reactionMessage.text) == ("ABC1", "👍")
    assert answered.extendedTextMessage.contextInfo.stanzaID == "ABC1"
    assert deleted.protocolMessage.type == e2e.ProtocolMessage.REVOKE
    kinds = [one.get("edit") for one in network.seen if one["saw"] == "message"]
    assert kinds == [None, "1", None, None, "7"]

    key = common.MessageKey(remoteJID="x", fromMe=False, ID="ABC1")
    revoke = e2e.ProtocolMessage(type=e2e.ProtocolMessage.REVOKE, key=key)
    await network.say("ABC2", e2e.Message(protocolMessage=revoke))
    told = await until(link, of(Incoming))
    assert (told.type, told.target) == ("revoke", "ABC1")


async def test_what_the_owner_writes_on_the_phone(link: Link, network: Network) -> None:
    said = e2e.Message(conversation="From the phone").SerializeToString()
    await network.do("say_as_owner", to=ADA["phone"], id="OWN1", message=b64encode(said).decode())
    told = await until(link, of(Incoming))
    assert (told.from_me, told.content, told.person.lid) == (True, '{"body":"From the phone"}', ADA["lid"])


async def test_marks_typing_and_who_is_there(link: Link, network: Network) -> None:
    await link.mark_read(["ABC1", "ABC2"], ANA)
    seen = await network.saw("receipt", lambda one: one["type"] == "read")
    assert seen["ids"] == ["ABC1", "ABC2"]
    await link.typing(ANA, True)
    assert (await network.saw("chatstate"))["state"] == "composing"
    assert await link.check([ADA["phone"], "15550009999"]) == [ANA]
    missing = await link.send(f"{ID}1", Person(phone="15550009999"), "text", {"body": "x"})
    assert isinstance(missing, SendRefused)
    assert missing.error.code == 404


async def test_a_refusal_keeps_its_code(link: Link, network: Network) -> None:
    await network.do("refuse", phone=ADA["phone"], code=463)
    refused = await link.send(f"{ID}1", ANA, "text", {"body": "x"})
    assert isinstance(refused, SendRefused)
    assert (refused.error.code, refused.reaction) == (463, ErrorReaction.HOLD_NEW)
    await network.do("refuse", phone=ADA["phone"], code=None)
    assert await link.send(f"{ID}1", ANA, "text", {"body": "x"}) == SendAccepted(f"{ID}1")


async def test_a_phone_comes_back_without_a_new_code(
    link: Link, gateway: Gateway, network: Network, shop: Fields
) -> None:
    await gateway.restart()
    again = await opened_again(gateway, shop, link.device)
    assert await again.send(f"{ID}1", ANA, "text", {"body": "Back"}) == SendAccepted(f"{ID}1")

    assert gateway.driver.pid
    for process in children(gateway.driver.pid):  # the library's process alone
        process.kill()
    gone = await until(again, state("disconnected"))
    assert gone.reason in ("stream_error", "driver_gone")
    third = await opened_again(gateway, shop, link.device)
    assert await third.send(f"{ID}2", ANA, "text", {"body": "And again"}) == SendAccepted(f"{ID}2")


async def test_devices_are_kept_encrypted_and_open_with_their_key_alone(
    link: Link, gateway: Gateway, store: str, shop: Fields
) -> None:
    await link.send(f"{ID}1", ANA, "text", {"body": "Hello"})
    kept = await rows(store, link.device)
    assert {"credentials", "pre-key", "session"} <= {row["kind"] for row in kept}
    assert not [row for row in kept if b"private" in row["value"] or b"Buffer" in row["value"]]
    await gateway.restart(key=bytes(32))
    other = await opened(gateway, shop, link.device)
    told = await until(other, state("disconnected"))
    assert "another secret key" in (told.details or "")
    await gateway.restart()


@pytest.mark.parametrize(
    ("command", "expected", "kept"),
    [
        ({"what": "log_out"}, ("logged_out", "logged_out"), False),
        ({"what": "replace"}, ("disconnected", "replaced"), True),
        ({"what": "ban"}, ("logged_out", "logged_out"), False),
        ({"what": "drop"}, ("disconnected", "network_gone"), True),
    ],
    ids=lambda one: one.get("what") if isinstance(one, dict) else None,
)
async def test_how_a_link_ends(
    link: Link, network: Network, store: str, command: Any, expected: Any, kept: bool
) -> None:
    await network.do(**command)
    device = link.device
    told = await until(link, lambda one: isinstance(one, ConnectionUpdate) and one.state != "connected")
    assert (told.state, told.reason) == expected
    assert bool(await rows(store, device)) is kept


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (503, ("disconnected", "stream_error")),
        (405, ("disconnected", "outdated_client")),
        (406, ("banned", "banned")),
        (402, ("banned", "banned")),
    ],
)
async def test_a_sign_in_that_is_refused(
    gateway: Gateway, network: Network, code: int, expected: Any, shop: Fields
) -> None:
    await network.do("refuse_connections", code=code)
    link = await opened(gateway, shop)
    told = await until(link, lambda one: isinstance(one, ConnectionUpdate) and one.state != "connecting")
    await network.do("refuse_connections", code=None)
    assert (told.state, told.reason) == expected
    await link.close()


async def test_a_logout_from_here(link: Link, network: Network, store: str) -> None:
    device = link.device
    assert await rows(store, device) != []
    await link.logout()
    await network.saw("logged_out_by_device")
    assert (await until(link, state("logged_out"))).reason == "logged_out"
    assert await rows(store, device) == []


async def test_a_logout_that_the_network_did_not_confirm(
    link: Link, gateway: Gateway, network: Network, shop: Fields, store: str
) -> None:
    """The phone may still be linked, so its keys are kept for the next attempt."""
    device = link.device
    await network.do("drop_logouts")
    with pytest.raises(CallFailed, match="unknown whether"):
        await link.logout()
    await network.do("drop_logouts", on=False)
    assert (await until(link, lambda one: getattr(one, "state", "connected") != "connected")).reason == "network_gone"
    await link.close()
    again = await opened_again(gateway, shop, device)
    await again.logout()
    await network.saw("logged_out_by_device", lambda one: one["device"] == device)
    assert await rows(store, device) == []


async def test_a_code_to_type_instead(gateway: Gateway, network: Network, shop: Fields) -> None:
    link = await opened(gateway, shop)
    code = await link.pair(shop["phone"])
    await network.do("type_code", code=code.replace("-", ""), **shop)
    await until(link, state("connected"))
    assert link.device == f"{shop['phone']}:1@s.whatsapp.net"


async def test_a_network_that_is_not_there(store: str, tmp_path: Path, shop: Fields) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: refused at once
        nowhere = {"url": f"ws://127.0.0.1:{closed.getsockname()[1]}/", "root_key": "", "serial": 0}
        gateway = Gateway(child_at(nowhere, tmp_path / "child.py"), store)
        await gateway.driver.start()
        told = await until(await opened(gateway, shop), state("disconnected"))
        await gateway.driver.close()
    assert told.reason == "network_gone"
    assert "ECONNREFUSED" in (told.details or "")


async def test_groups_are_marked_as_groups(link: Link, network: Network) -> None:
    await network.say("GRP1", e2e.Message(conversation="All"), group="120363000000000000")
    told = await until(link, of(Incoming))
    assert told.context == {"chat": {"kind": "group", "id": "120363000000000000@g.us"}}


async def test_a_message_to_a_broadcast_list_is_in_the_conversation_with_its_sender(
    link: Link, network: Network
) -> None:
    await network.say("LIST1", e2e.Message(conversation="Open today"), group="1763200000@broadcast")
    told = await until(link, of(Incoming))
    assert (told.context, told.from_me, told.person.lid) == (None, False, ADA["lid"])
    said = b64encode(e2e.Message(conversation="Hi").SerializeToString()).decode()
    await network.do("say_as_owner", to=ADA["phone"], id="LIST2", message=said, list="1763200000@broadcast")
    own = await until(link, of(Incoming))
    assert own.from_me
    assert own.context == {"chat": {"kind": "status", "id": "1763200000@broadcast"}}
