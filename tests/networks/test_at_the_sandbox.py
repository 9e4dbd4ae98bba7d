"""Every type out and in over HTTP: the sandbox checks what we write, and we read what it writes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from gatepost.model.template import Template
from gatepost.networks.base import (
    ContactUpdate,
    ErrorReaction,
    Incoming,
    NumberUpdate,
    Person,
    QuotedRef,
    SendAccepted,
    SendRefused,
    StatusUpdate,
    TemplateUpdate,
    Update,
)
from gatepost.networks.cloud.callback import CloudCallbackReader
from tests.conftest import Answer, Received, Receiver
from tests.networks.callbacks import NUMBER, OUR_PHONE, PERSON, WABA, said
from tests.networks.sandboxed import Sandboxed, sandboxed
from tests.networks.test_compose import CASES, outgoing
from tests.networks.test_manage import BODY, NAMED

READER = CloudCallbackReader(NUMBER, WABA, OUR_PHONE, "secret", "verify")
ORDER = {"catalog_id": "7", "text": "t", "product_items": [
    {"product_retailer_id": "sku", "quantity": 2, "item_price": 7.99, "currency": "USD"}
]}  # fmt: skip
CHANGED = {"type": "user_changed_number", "body": "b", "wa_id": "5511777776666"}
EDIT = {"original_message_id": "wamid.0", "message": {"type": "text", "text": {"body": "b"}}}


class World:
    """A sandbox whose callbacks come to us."""

    def __init__(self, sandbox: Sandboxed, receiver: Receiver) -> None:
        self.sandbox = sandbox
        self._receiver = receiver

    async def updates(self, count: int) -> list[Update]:
        """What came, once the clock has moved on and so many callbacks are here."""
        await self.sandbox.control("POST", "clock", {"advance": 60})
        found: list[Update] = []
        for request in (await self._receiver.wait_for(count + 1))[1:]:  # the first was the handshake
            READER.check_signature({b"x-hub-signature-256": request.headers["x-hub-signature-256"]}, request.body)
            updates, unread = READER.parse(request.body)
            assert unread == 0
            found += updates
        return found

    async def receive(self, type_: str, content: Any, **more: Any) -> str:
        """A person sends something; its id."""
        body = {"from": PERSON, "name": "Ana", "type": type_, type_: content} | more
        wamid: str = (await self.sandbox.control("POST", f"numbers/{NUMBER}/incoming", body))["wamid"]
        return wamid


def shake(request: Received) -> Answer:
    """What a callback address answers: the challenge of the handshake, and nothing otherwise."""
    asked = dict(part.split("=", 1) for part in request.query.split("&")) if request.method == "GET" else {}
    return Answer(body=asked.get("hub.challenge", "").encode())


@pytest.fixture
async def world(receiver: Receiver) -> AsyncIterator[World]:
    receiver.answer = shake
    async with sandboxed(receiver) as sandbox:
        yield World(sandbox, receiver)


# -- out --------------------------------------------------------------------------------------------------------------


async def test_the_network_takes_every_type(world: World) -> None:
    network = world.sandbox.network
    wamid = await world.receive("text", {"body": "Hi"})
    files = {
        kind: await network.put_media(sample, mime, None)
        for kind, mime, sample in (
            ("image", "image/png", b"\x89PNG"),
            ("video", "video/mp4", b"\x00\x00\x00\x18ftypmp42"),
            ("audio", "audio/ogg", b"OggS"),
            ("sticker", "image/webp", b"RIFF"),
            ("document", "application/pdf", b"%PDF-1.4"),
        )
    }
    for type_, content, *_ in CASES:
        file = files.get(type_, files["document"])
        media, quote = {"med_1": file, "med_2": file}, QuotedRef(wamid, from_me=False)
        sent = await network.send(outgoing(type_, content, media=media, reply_to=quote))
        assert isinstance(sent, SendAccepted), (type_, sent)
        assert not sent.held


async def test_the_network_takes_a_reaction(world: World) -> None:
    wamid = await world.receive("text", {"body": "Hi"})
    message = outgoing("reaction", {"reaction": {"emoji": "👍"}}, target=QuotedRef(wamid, from_me=False))
    assert isinstance(await world.sandbox.network.send(message), SendAccepted)


@pytest.mark.parametrize(
    ("body", "variables"), [(BODY, ["Ana"]), (NAMED, {"name": "Ana"})], ids=["by place", "by name"]
)
async def test_the_network_takes_a_template(world: World, body: Any, variables: Any) -> None:
    account, network = world.sandbox.account, world.sandbox.network
    format_ = "NAMED" if body is NAMED else "POSITIONAL"
    made = await account.create_template(Template("order_ok", "en_US", "UTILITY", [body], format_))
    template = {"template": {"name": "order_ok", "language": "en_US", "variables": variables}}
    early = await network.send(outgoing("template", template))
    assert isinstance(early, SendRefused)
    assert (early.error.code, early.reaction) == (132001, ErrorReaction.FINAL)
    assert early.error.advice is not None
    await world.sandbox.control("POST", f"templates/{made.network_id}/review", {"decision": "approve"})
    assert isinstance(await network.send(outgoing("template", template)), SendAccepted)
    news = [update for update in await world.updates(2) if isinstance(update, TemplateUpdate)]
    assert [(one.network_id, one.name, one.status) for one in news] == [(made.network_id, "order_ok", "APPROVED")]


async def test_statuses_come_back_with_our_id_and_their_price(world: World) -> None:
    await world.receive("text", {"body": "Hi"})
    message = outgoing("text", {"body": "x"})
    sent = await world.sandbox.network.send(message)
    assert isinstance(sent, SendAccepted)
    found = [update for update in await world.updates(3) if isinstance(update, StatusUpdate)]
    assert {(one.network_id, one.message_id, one.attempt) for one in found} == {(sent.network_id, message.id, 2)}
    assert found[0].status == "sent"
    assert found[0].pricing is not None


# -- in ---------------------------------------------------------------------------------------------------------------


INCOMING: list[tuple[str, Any, str, Any]] = [
    ("text", {"body": "Oi 😀"}, "text", {"body": "Oi 😀"}),
    ("image", {"caption": "c"}, "image", None),
    ("video", {}, "video", None),
    ("audio", {}, "audio", None),
    ("voice", {}, "audio", None),
    ("document", {"filename": "a.pdf"}, "document", None),
    ("sticker", {}, "sticker", None),
    (
        "location",
        {"latitude": 1.5, "longitude": 2.5},
        "location",
        {"location": {"latitude": 1.5, "longitude": 2.5}},
    ),
    ("reaction", {"message_id": "wamid.0", "emoji": "👍"}, "reaction", {"reaction": {"emoji": "👍"}}),
    ("button", {"payload": "p", "text": "t"}, "button_reply", {"reply": {"id": "p", "title": "t"}}),
    ("button_reply", {"id": "p", "title": "t"}, "button_reply", {"reply": {"id": "p", "title": "t"}}),
    ("list_reply", {"id": "p", "title": "t"}, "list_reply", {"reply": {"id": "p", "title": "t"}}),
    ("nfm_reply", {"response_json": '{"a":1}'}, "flow_reply", None),
    ("order", ORDER, "order", None),
    ("system", CHANGED, "system", None),
    ("edit", EDIT, "edit", {"edit": {"type": "text", "content": {"body": "b"}}}),
    ("revoke", {"original_message_id": "wamid.0"}, "revoke", {}),
    ("unsupported", {"type": "poll"}, "unsupported", None),
]
FILES = ("image", "video", "audio", "voice", "document", "sticker")


async def test_every_type_is_read(world: World) -> None:
    wamids = [await world.receive(type_, content) for type_, content, *_ in INCOMING]
    updates = await world.updates(len(INCOMING))
    found = {update.network_id: update for update in updates if isinstance(update, Incoming)}
    for wamid, (type_, _, read_as, shown) in zip(wamids, INCOMING, strict=True):
        one = found[wamid]
        assert (one.type, one.person) == (read_as, Person(PERSON, name="Ana" if type_ != "system" else None)), type_
        assert shown is None or said(one) == shown
        assert (one.media is not None) is (type_ in FILES)
        if one.media:
            assert len(await world.sandbox.network.get_media(one.media, 100_000)) > 0
    assert [update.old_phone for update in updates if isinstance(update, ContactUpdate)] == [PERSON]


async def test_a_person_without_a_number_is_read(world: World) -> None:
    await world.receive("text", {"body": "Hi"}, user_id="BR.1349", username="ana.lima", phone_hidden=True)
    (found,) = await world.updates(1)
    assert isinstance(found, Incoming)
    assert found.person == Person(user_id="BR.1349", name="Ana", username="ana.lima")


async def test_an_echo_and_a_preference_are_read(world: World) -> None:
    await world.receive("echo", {"type": "text", "text": {"body": "From the phone"}})
    await world.receive("user_preferences", {"value": "stop"})
    found = await world.updates(2)
    echo = next(update for update in found if isinstance(update, Incoming))
    option = next(update for update in found if isinstance(update, NumberUpdate))
    assert (echo.from_me, echo.person.phone, said(echo)) == (True, PERSON, {"body": "From the phone"})
    (one,) = option.details["preferences"]
    assert (one["person"]["phone"], one["value"]) == (PERSON, "stop")


async def test_updates_of_the_number_are_read(world: World) -> None:
    await world.sandbox.control("POST", f"numbers/{NUMBER}/tier", {"tier": 10_000})
    found = [update for update in await world.updates(1) if isinstance(update, NumberUpdate)]
    assert 10_000 in {update.tier for update in found}
