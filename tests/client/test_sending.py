"""Sends of every type, by both clients, at a real gateway."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gatepost.model.send_request import MESSAGE_TYPES
from gatepost_client import File, Gatepost, compose
from gatepost_client.errors import NotFound, Refused, WindowClosed, WrongState
from tests.client.driver import Driver, Kind, driving
from tests.running_gateway import Gateway

PERSON = "5511999998888"
PIXEL = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffd9")
LINK = "https://shop.example.com/cake.jpg"
CARD = {"name": {"formatted_name": "Anna Lee", "first_name": "Anna"}, "phones": [{"phone": "+15550001111"}]}
ROWS = [{"title": "Bread", "rows": [{"id": "rye", "title": "Rye"}]}]
SHELF = [{"title": "Bread", "products": ["rye-1kg"]}]
SAMPLES: dict[str, compose.Outgoing] = {
    "text": compose.text(PERSON, "See https://shop.example.com", preview_url=True),
    "image": compose.image(PERSON, LINK, caption="Cake"),
    "video": compose.video(PERSON, "https://shop.example.com/cake.mp4"),
    "audio": compose.audio(PERSON, "https://shop.example.com/hello.ogg", voice=True),
    "document": compose.document(PERSON, "https://shop.example.com/bill.pdf", filename="bill.pdf", caption="Bill"),
    "sticker": compose.sticker(PERSON, "https://shop.example.com/yes.webp"),
    "location": compose.location(PERSON, -23.56, -46.66, name="Our shop"),
    "contacts": compose.contacts(PERSON, [CARD]),
    "buttons": compose.buttons(PERSON, "Is it all right?", {"yes": "Yes", "no": "No"}, header="Hello", footer="Us"),
    "list": compose.list_choice(PERSON, "What?", "Choose", ROWS),
    "cta_url": compose.link_button(PERSON, "On its way", "Track it", "https://shop.example.com/1"),
    "product": compose.product(PERSON, "367025965434465", "rye-1kg", body="Back again"),
    "product_list": compose.product_list(PERSON, "Fresh", "This week", "367025965434465", SHELF),
    "catalog": compose.catalog(PERSON, "All we bake", thumbnail="rye-1kg"),
}


async def test_a_text_goes_out_and_can_be_looked_at(gp: Driver, gateway: Gateway) -> None:
    sent = await gp.do("send_text", PERSON, "Hello", client_ref="order-1", ttl=600)
    assert (sent.status, sent.key.from_me) == ("PENDING", True)
    await gateway.until_status(sent.id, "READ")
    message = await gp.do("message", sent.id)
    assert (message.id, message.status, message.ack, message.type) == (sent.id, "READ", 3, "text")
    assert (message.content, message.client_ref, message.contact.phone) == ({"body": "Hello"}, "order-1", PERSON)
    assert message.expires_at - message.created_at == timedelta(seconds=600)
    trace = await gp.do("trace", sent.id)
    assert [step.step for step in trace.steps][:2] == ["accepted", "sending"]
    assert trace.message.id == sent.id
    assert trace.waiting is None
    answer = await gp.do("send_text", message.contact.id, "Hello again")
    assert (await gp.do("message", answer.id)).contact.id == message.contact.id


async def test_every_type_has_a_function(gp: Driver, gateway: Gateway) -> None:
    for kind, outgoing in SAMPLES.items():
        fields = {name: value for name, value in outgoing.fields.items() if name not in ("phone", "type")}
        sent = await gp.do("send", PERSON, type=kind, **fields)
        assert (await gp.do("message", sent.id)).type == kind
    # A template needs one that is approved, a reaction a message, a poll a linked phone: tested below.
    assert SAMPLES.keys() | {"template", "reaction", "poll"} == set(MESSAGE_TYPES) | {"text"}


async def test_each_function_sends_what_it_composes(gp: Driver) -> None:
    sent = await gp.do("send_buttons", PERSON, "All right?", {"yes": "Yes"}, footer="Us")
    content = (await gp.do("message", sent.id)).content
    assert content == {"body": "All right?", "buttons": [{"id": "yes", "title": "Yes"}], "footer": "Us"}
    reaction = await gp.do("send_reaction", PERSON, sent.id, "👍")
    assert (await gp.do("message", reaction.id)).content["reaction"]["emoji"] == "👍"


async def test_a_file_is_uploaded_and_sent_in_one_go(gp: Driver, tmp_path: Path) -> None:
    picture = tmp_path / "cake & tea.jpg"
    picture.write_bytes(PIXEL * 50_000)  # more than one piece
    sent = await gp.do("send_image", PERSON, picture, caption="Cake")
    media_id = (await gp.do("message", sent.id)).content["media"]["id"]
    stored = await gp.do("media", media_id)
    assert (stored.filename, stored.mime_type, stored.size) == ("cake & tea.jpg", "image/jpeg", len(PIXEL) * 50_000)
    assert b"".join(await gp.all("download", media_id)) == PIXEL * 50_000
    again = await gp.do("send_image", PERSON, media_id)
    assert (await gp.do("message", again.id)).content["media"] == {"id": media_id}


async def test_bytes_are_sent_with_their_type(gp: Driver) -> None:
    stored = await gp.do("upload", File(PIXEL, "image/jpeg", "cake.jpg"))
    assert (stored.state, stored.size, stored.filename) == ("ready", len(PIXEL), "cake.jpg")
    await gp.do("delete_media", stored.id)
    with pytest.raises(NotFound):
        await gp.do("media", stored.id)
    with pytest.raises(NotFound, match="not_found"):
        await gp.all("download", stored.id)


async def test_the_same_key_sends_once_with_its_file(gp: Driver, gateway: Gateway) -> None:
    picture = File(PIXEL, "image/jpeg", "cake.jpg")
    first = await gp.do("send_image", PERSON, picture, idempotency_key="order-7")
    second = await gp.do("send_image", PERSON, picture, idempotency_key="order-7")
    assert first.id == second.id
    async with gateway.db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM media") == 1


async def test_a_scheduled_message_can_be_canceled(gp: Driver) -> None:
    sent = await gp.do("send_text", PERSON, "Later", send_at=datetime.now(UTC) + timedelta(hours=1))
    assert sent.status == "SCHEDULED"
    assert (await gp.do("cancel", sent.id)).status == "CANCELED"
    with pytest.raises(WrongState):
        await gp.do("cancel", sent.id)


async def test_what_is_refused_says_why(gp: Driver) -> None:
    with pytest.raises(Refused) as refused:
        await gp.do("send_text", "+55 11", "Hello")
    error = refused.value
    assert (error.status, error.code, error.retryable, error.network) == (422, "invalid_phone", False, None)
    assert [problem.field for problem in error.fields] == ["phone"]
    assert error.request_id
    assert error.request_id.startswith("req_")
    with pytest.raises(Refused, match="colour"):
        await gp.do("send", PERSON, "Hello", colour="red")


async def test_a_closed_window_is_an_error_of_its_own(gateway: Gateway, kind: Kind) -> None:
    limits = {"window": 1}
    channel = await gateway.new_channel(gateway.account_id, "15550004444", "100000000000004", limits=limits)
    async with driving(kind, gateway.url, await gateway.new_key(channel.id)) as gp:
        with pytest.raises(WindowClosed):
            await gp.do("send_text", PERSON, "Hello")


async def test_a_poll_goes_to_a_linked_channel(gateway: Gateway, kind: Kind) -> None:
    channel = await gateway.new_qr_channel(gateway.account_id)
    async with driving(kind, gateway.url, await gateway.new_key(channel.id)) as gp:
        sent = await gp.do("send_poll", PERSON, "When?", ["Morning", "Evening"])
        assert (await gp.do("message", sent.id)).content["poll"]["options"] == ["Morning", "Evening"]
        with pytest.raises(WrongState):
            await gp.do("edit", sent.id, "Too early")
        with pytest.raises(WrongState):
            await gp.do("delete_message", sent.id)


async def test_threads_share_a_client(gateway: Gateway) -> None:
    with Gatepost(gateway.url, gateway.key) as gp:
        sends = (asyncio.to_thread(gp.send_text, PERSON, f"Number {i}") for i in range(24))
        assert len({sent.id for sent in await asyncio.gather(*sends)}) == 24


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: compose.image(PERSON, "cake.jpg"), "is an id"),
        (lambda: compose.text(PERSON, "Hello", send_at=datetime(2026, 11, 15)), "zone"),
        (lambda: File(b"?").type, "mime_type"),
    ],
)
def test_mistakes_show_before_anything_is_sent(wrong: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        wrong()


def test_a_missing_file_shows_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        compose.image(PERSON, tmp_path / "none.jpg")
