"""Lists, conversations, contacts, labels, orders, usage, templates, webhooks and the channel, by both clients."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from gatepost_client import AsyncGatepost, Gatepost, verify_webhook
from gatepost_client.errors import NotFound, Refused, TemplateProblem, WrongState
from tests.client import typed_example
from tests.client.driver import Driver, Kind, driving
from tests.client.test_sending import PERSON
from tests.conftest import Receiver
from tests.gateway.checks import until
from tests.running_gateway import Gateway

NUMBER = "100000000000001"
WABA = "200000000000001"


async def said(gateway: Gateway, gp: Driver, content: dict[str, Any]) -> Any:
    """A message that a person has just written, once it is there."""
    await gateway.sandbox("POST", "/control/say", {"phone_number_id": NUMBER, "from": PERSON} | content)
    return (await until(lambda: gp.all("messages", direction="in")))[0]


async def test_lists_go_over_all_pages(gp: Driver, gateway: Gateway) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()  # so that nothing more happens meanwhile
    ids = await asyncio.gather(*(gateway.send(phone=PERSON, body=f"Number {i}", send_at=later) for i in range(201)))
    found = await gp.all("messages", phone=PERSON, direction="out")
    assert len(found) == 201
    assert {message.id for message in found} == set(ids)
    events = await gp.all("events")
    assert len(events) > 200
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert await gp.all("events", after=events[-1].id) == []
    assert await gp.all("events", after=events[-4].id) == events[-3:]
    created = await gp.all("events", types=["message_notification", "ack_notification"])
    assert {event.type for event in created} == {"message_notification"}


async def test_history_is_narrowed(gp: Driver, gateway: Gateway) -> None:
    now = datetime.now(UTC)
    first = await gateway.send(phone=PERSON, body="Apples and pears")
    await gateway.send(phone="5511999997777", body="Plums")
    assert [m.id for m in await gp.all("messages", q="pears")] == [first]
    assert [m.id for m in await gp.all("messages", phone=PERSON, type=["text", "image"])] == [first]
    assert await gp.all("messages", end=now - timedelta(days=1)) == []
    assert len(await gp.all("messages", start=now.date(), tz="UTC")) == 2
    lines = b"".join(await gp.all("export_messages", format="csv")).splitlines()
    assert len(lines) == 3
    with pytest.raises(Refused, match="from"):
        await gp.all("messages", start="yesterday")


async def test_a_conversation(gp: Driver, gateway: Gateway) -> None:
    message = await said(gateway, gp, {"text": "Is it open?"})
    assert (message.direction, message.status, message.content) == ("in", "RECEIVED", {"body": "Is it open?"})
    (talk,) = await gp.all("conversations", unread=True)
    assert (talk.id, talk.unread, talk.last_message.id) == (message.conversation.id, 1, message.id)
    assert (await gp.do("mark_read", message.id)).id == message.id
    await gp.do("typing", talk.id)
    assert (await gp.do("read_conversation", talk.id)).unread == 0
    changed = await gp.do("change_conversation", talk.id, status="closed", note="Answered", assignee="ana")
    assert (changed.status, changed.note, changed.assignee) == ("closed", "Answered", "ana")
    assert (await gp.do("change_conversation", talk.id, note=None)).note is None
    assert (await gp.do("conversation", talk.id)).assignee == "ana"
    assert [m.id for m in await gp.all("conversation_messages", talk.id)] == [message.id]


async def test_contacts_and_labels(gp: Driver) -> None:
    ana = await gp.do("create_contact", PERSON, name="Ana", custom={"city": "Recife"})
    assert (ana.phone, ana.name, ana.custom, ana.opted_out) == (PERSON, "Ana", {"city": "Recife"}, False)
    changed = await gp.do("change_contact", ana.id, name="Ana Maria", custom={"city": None}, opted_out=True)
    assert (changed.name, changed.custom, changed.opted_out) == ("Ana Maria", {}, True)
    assert [one.id for one in await gp.all("contacts", q="ana")] == [ana.id]
    label = await gp.do("create_label", "New", color="#aabbcc")
    await gp.do("put_label", label.id, ana.id)
    assert [on.name for on in (await gp.do("contact", ana.id)).labels] == ["New"]
    assert (await gp.do("change_label", label.id, name="Known")).name == "Known"
    assert [one.name for one in await gp.do("labels")] == ["Known"]
    await gp.do("take_label", label.id, ana.id)
    assert (await gp.do("contact", ana.id)).labels == []
    assert (await gp.do("label", label.id)).id == label.id
    await gp.do("delete_label", label.id)
    with pytest.raises(ValueError, match="cv_"):
        await gp.do("put_label", label.id, "med_1")


async def test_contacts_come_and_go_as_a_table(gp: Driver) -> None:
    report = await gp.do("import_contacts", b"phone,name\n5511999990001,Bia\n123,Nobody\n5511999990002,Caio\n")
    assert [line.result == "refused" for line in report.lines] == [False, True, False]
    assert (report.lines[1].code, report.error) == ("invalid_phone", None)
    assert report.summary["lines"] == 3
    table = b"".join(await gp.all("export_contacts")).decode()
    assert "Bia" in table
    bia, caio = [(await gp.all("contacts", q=name))[0] for name in ("Bia", "Caio")]
    assert (await gp.do("merge_contacts", bia.id, caio.id)).id == bia.id
    await gp.do("delete_contact", bia.id)
    with pytest.raises(NotFound):
        await gp.do("contact", bia.id)
    with pytest.raises(Refused, match="unsupported_on_channel"):
        await gp.do("check_numbers", [PERSON])


async def test_an_order(gp: Driver, gateway: Gateway) -> None:
    item = {"product_retailer_id": "tea-1", "quantity": 2, "item_price": 7.99, "currency": "EUR"}
    order = {"catalog_id": "194836987003835", "text": "Please wrap it", "product_items": [item]}
    wrote = {"from": PERSON, "type": "order", "order": order}
    await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", wrote)
    await until(lambda: gp.all("messages", direction="in"))
    (found,) = await gp.all("orders", status="new", phone=PERSON)
    assert (found.total, found.currency, found.items[0].price) == (Decimal("15.98"), "EUR", Decimal("7.99"))
    assert (await gp.do("change_order", found.id, "confirmed")).status == "confirmed"
    assert (await gp.do("order", found.id)).status == "confirmed"
    with pytest.raises(WrongState):
        await gp.do("change_order", found.id, "new")


async def test_usage_and_channel(gp: Driver, gateway: Gateway) -> None:
    await gateway.send(phone=PERSON, body="Hello")
    usage = await gp.do("usage")
    assert (usage.plan.name, usage.plan.used, usage.plan.limit) == ("unlimited", 1, None)
    assert len(usage.days) == 30
    assert usage.days[0].outgoing.types == {"text": 1}
    channel = await gp.do("channel")
    assert (channel.id, channel.kind, channel.connection.state) == (gateway.channel, "official", "connected")
    assert "text" in channel.capabilities.types
    assert (await gp.do("change_profile", about="Open until six", email="")).about == "Open until six"
    assert (await gp.do("profile")).about == "Open until six"
    assert (await gp.do("health")).quality


async def test_a_phone_is_linked(gateway: Gateway, kind: Kind) -> None:
    channel = await gateway.new_qr_channel(gateway.account_id)
    async with driving(kind, gateway.url, await gateway.new_key(channel.id)) as gp:
        assert (await gp.do("connect")).connection.state
        assert (await gp.do("qr")).code
        assert (await gp.do("qr_picture")).startswith(b"\x89PNG")
        assert b"<svg" in await gp.do("qr_picture", "svg")
        assert len((await gp.do("pairing_code")).code.replace("-", "")) == 8
        assert (await gp.do("channel")).link.wanted
        assert (await gp.do("logout")).connection


@pytest.fixture
async def with_templates(gateway: Gateway, kind: Kind) -> AsyncIterator[Driver]:
    """Give a client of a channel that has templates."""
    channel = await gateway.new_channel(gateway.account_id, "15550007777", "100000000000007", waba_id=WABA)
    async with driving(kind, gateway.url, await gateway.new_key(channel.id)) as one:
        yield one


async def test_templates(with_templates: Driver) -> None:
    gp = with_templates
    assert (await gp.do("sync_templates")).deleted == 0
    body = {"type": "BODY", "text": "Hello {{1}}, it is here.", "example": {"body_text": [["Ana"]]}}
    made = await gp.do("create_template", "it_is_here", "en_US", "UTILITY", [body])
    assert made.name == "it_is_here"
    assert (await gp.do("template", made.id)).components[0]["text"] == body["text"]
    assert [one.id for one in await gp.all("templates", name="it_is")] == [made.id]
    assert (await gp.do("preview_template", made.id, variables=["Bia"])).body == "Hello Bia, it is here."
    approved = [one for one in await gp.all("templates", status="APPROVED") if one.name == "hello_world"]
    if approved:
        sent = await gp.do("send_template", PERSON, "hello_world", approved[0].language)
        assert (await gp.do("message", sent.id)).type == "template"
    with pytest.raises(TemplateProblem):
        await gp.do("send_template", PERSON, "nothing", "en_US", variables=["Ana"])
    await gp.do("delete_template", made.id)
    with pytest.raises(NotFound):
        await gp.do("edit_template", made.id, components=[body])


async def test_what_a_webhook_brings_is_genuine(gp: Driver, gateway: Gateway, receiver: Receiver) -> None:
    hook = await gp.do("create_webhook", receiver.url + "/hook", events={"ack_notification": False}, headers={"X": "1"})
    assert hook.secret
    sent = await gp.do("send_text", PERSON, "Hello")
    events = [verify_webhook(hook.secret, came.headers, came.body) for came in await receiver.wait_for(3)]
    seen = [event.message for event in events if event.message]
    assert [(news.key.id, news.direction, news.content) for news in seen] == [(sent.id, "out", {"body": "Hello"})]
    (attempt, *_) = await until(lambda: gp.all("attempts", hook.id))
    assert (attempt.status, attempt.delivery.state, attempt.request.headers["X"]) == (200, "delivered", "***")
    assert not (await gp.do("change_webhook", hook.id, active=False)).active
    assert not hasattr(await gp.do("webhook", hook.id), "secret")
    assert len(await gp.do("webhooks")) == 1
    await gp.do("delete_webhook", hook.id)
    assert await gp.do("webhooks") == []


async def test_the_typed_example_runs(gateway: Gateway) -> None:
    with Gatepost(gateway.url, gateway.key) as gp, pytest.raises(Refused, match="colour"):
        await asyncio.to_thread(typed_example.blocking, gp, PERSON)
    async with AsyncGatepost(gateway.url, gateway.key) as awaiting:
        assert (await typed_example.awaiting(awaiting, PERSON)).type == "buttons"
        with pytest.raises(NotFound):
            await typed_example.file(awaiting, "med_1")
