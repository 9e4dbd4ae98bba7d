"""A phone on the page and a gateway: what the API sends is seen, and what the person does arrives at the webhook."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.conftest import Receiver
from tests.gateway.checks import until
from tests.patience import patience
from tests.running_gateway import Gateway, running_gateway
from tests.sandbox.page.chatting import attach, bubble, png, sound
from tests.sandbox.page.viewer import viewing

NUMBER, ANA, NEW = "100000000000001", "5511999990000", "5511977776666"
LIST = {
    "button": "Choose",
    "sections": [{"title": "Bread", "rows": [{"id": "rye", "title": "Rye", "description": "Baked at six"}]}],
}


@pytest.fixture
async def gateway(parted_database_url: str, receiver: Receiver) -> AsyncIterator[Gateway]:
    """Give a gateway whose events a receiver gets, and a person who reads what is open on the page."""
    async with running_gateway(parted_database_url) as one:
        assert (await one.call("POST", "/api/v1/webhooks", {"url": receiver.url + "/hook"})).status == 201
        await one.sandbox("PUT", f"/control/people/{ANA}", {"name": "Ana Souza", "reads": "when_open"})
        yield one


async def event(receiver: Receiver, type_: str, count: int = 1, **wanted: Any) -> Any:
    """Wait for an event of a type, whose data has these values; return its data."""

    def found() -> list[Any]:
        events = [request.json() for request in receiver.requests]
        return [
            one["data"]
            for one in events
            if one["type"] == type_ and all(one["data"].get(name) == value for name, value in wanted.items())
        ]

    async with patience(lambda: f"{count} × {type_} {wanted}, but there are {len(receiver.requests)} events"):
        while len(found()) < count:
            await asyncio.sleep(0.02)
    return found()[count - 1]


async def incoming(receiver: Receiver, kind: str) -> Any:
    """Wait for a message of the person; return its content."""
    return (await event(receiver, "message_notification", direction="in", type=kind))["content"]


async def upload_voice(gateway: Gateway) -> str:
    answer = await gateway.call("POST", "/api/v1/media", raw=sound(), headers={"content-type": "audio/ogg"})
    assert answer.status == 201, answer.body
    return str(answer.json()["data"]["id"])


async def test_what_a_person_does_arrives_at_the_webhook(gateway: Gateway, receiver: Receiver) -> None:
    async with viewing(gateway.sandbox_url) as viewer:
        page = viewer.page
        await viewer.open(f"#/{ANA}")
        await viewer.see("No chats yet")
        sent = await gateway.send(phone=ANA, body="Hello Ana")
        await expect(page.locator(".chat-row")).to_contain_text("Hello Ana")
        await gateway.until_status(sent, "DELIVERED")
        await page.locator(".chat-row").click()
        await gateway.until_status(sent, "READ")

        await page.get_by_label("Message", exact=True).fill("Hello shop")
        await page.keyboard.press("Enter")
        assert await incoming(receiver, "text") == {"body": "Hello shop"}

        buttons = [{"id": "y", "title": "Yes"}, {"id": "n", "title": "No"}]
        await gateway.send(phone=ANA, type="buttons", body="Shall we bring it?", buttons=buttons)
        await page.get_by_role("button", name="Yes", exact=True).click()
        assert (await incoming(receiver, "button_reply"))["reply"] == {"id": "y", "title": "Yes"}

        await gateway.send(phone=ANA, type="list", body="What would you like?", **LIST)
        await page.get_by_role("button", name="Choose").click()
        sheet = page.get_by_role("dialog", name="Choose")
        await sheet.get_by_role("radio", name="Rye").check()
        await sheet.get_by_role("button", name="Send").click()
        assert (await incoming(receiver, "list_reply"))["reply"]["id"] == "rye"

        sections = [{"title": "Bread", "products": ["rye-1", "rye-2"]}]
        products = {"catalog_id": "c1", "sections": sections, "header": {"type": "text", "text": "Bread"}}
        await gateway.send(phone=ANA, type="product_list", body="Fresh today", **products)
        await page.get_by_role("button", name="View and order").click()
        cart = page.get_by_role("dialog", name="Cart")
        await cart.get_by_role("button", name="More of rye-2").click()
        await cart.get_by_role("button", name="Send order").click()
        order = await event(receiver, "order_notifications")
        assert [(item["retailer_id"], item["quantity"]) for item in order["items"]] == [("rye-2", 1)]

        await attach(page, "Photo or video", "cup.png", "image/png", png())
        await page.get_by_role("button", name="Send", exact=True).click()
        assert (await incoming(receiver, "image"))["media"]["mime_type"] == "image/png"
        await attach(page, "Voice message from a file", "hello.wav", "audio/wav", sound())
        await page.get_by_role("button", name="Send", exact=True).click()
        assert (await incoming(receiver, "audio"))["voice"] is True

        heard = await gateway.send(phone=ANA, type="audio", media={"id": await upload_voice(gateway)}, voice=True)
        await gateway.until_status(heard, "READ")
        await page.get_by_role("button", name="Play voice message").last.click()
        await gateway.until_status(heard, "PLAYED")
        assert (await event(receiver, "ack_notification", status="PLAYED"))["key"]["id"] == heard

        await bubble(page, "Hello Ana").click(button="right", position={"x": 8, "y": 8})
        actions = page.get_by_role("dialog", name="Message")
        await actions.get_by_role("button", name="React with 👍", exact=True).click()
        reaction = await event(receiver, "message_notification", change="reaction")
        assert (reaction["key"]["id"], reaction["reaction"]["emoji"]) == (sent, "👍")


async def test_the_window_stays_open_when_a_person_changes_number(gateway: Gateway, receiver: Receiver) -> None:
    await gateway.sandbox("PATCH", "/control/settings", {"limits": {"window": "sync"}})
    async with viewing(gateway.sandbox_url) as viewer:
        page = viewer.page
        await viewer.open(f"#/{ANA}/{NUMBER}")
        await page.get_by_label("Message", exact=True).fill("I am moving")
        await page.keyboard.press("Enter")
        await incoming(receiver, "text")
        await page.get_by_role("button", name="Back to the chats").click()
        await page.get_by_role("button", name="Menu of Ana Souza").click()
        await page.get_by_role("menuitem", name="Change number").click()
        await page.get_by_label("New number").fill(NEW)
        await page.get_by_role("dialog").get_by_role("button", name="Change number").click()
        await page.locator(".chat-row").click()
        await expect(page.locator(".screen-title")).to_contain_text("window 2")
        sent = await gateway.send(phone=NEW, body="Hello at the new number")
        await gateway.until_status(sent, "READ")
        await viewer.see("Hello at the new number")


async def test_a_fault_is_seen_in_the_trace_of_the_message(gateway: Gateway) -> None:
    async with viewing(gateway.sandbox_url) as viewer:
        await viewer.open("#/panel/faults")
        await viewer.button("The network answers 500 for a minute").click()
        await viewer.see("matched 0, applied 0")
        sent = await gateway.send(phone=ANA, body="Hello")

        async def retried() -> bool:
            steps = (await gateway.call("GET", f"/api/v1/messages/{sent}/trace")).json()["data"]
            return "500" in str(steps)

        await until(retried)
        await viewer.button("Remove all").click()
        await viewer.see("No fault is active")
        await gateway.until_status(sent, "DELIVERED")


async def test_a_phone_is_linked_by_a_scan_on_the_page(gateway: Gateway) -> None:
    channel = await gateway.new_qr_channel(gateway.account_id, "15550004444")
    key = await gateway.new_key(channel.id)
    await gateway.call("POST", "/api/v1/channel/connect", {}, key=key)

    async def shown() -> Any:
        answer = await gateway.call("GET", "/api/v1/channel/qr", key=key)
        return answer.json()["data"]["code"] if answer.status == 200 else None

    async def connected() -> bool:
        found = (await gateway.call("GET", "/api/v1/channel", key=key)).json()["data"]["connection"]
        return bool(found["state"] == "connected")

    code = await until(shown)
    async with viewing(gateway.sandbox_url) as viewer:
        await viewer.open("#/panel/phones")
        await scan(viewer.page, "15550004444", code)
        await until(connected)
        await viewer.see("connected")
        sent = await gateway.call(
            "POST", "/api/v1/message/send", {"phone": ANA, "body": "From a linked phone"}, key=key
        )
        assert sent.status == 200
        await viewer.open(f"#/{ANA}/15550004444")
        await viewer.see("From a linked phone")


async def scan(page: Page, phone: str, code: str) -> None:
    """Paste a code in the panel and scan it."""
    await page.get_by_label("Phone that scans").fill(phone)
    await page.get_by_label("Code", exact=True).fill(code)
    await page.get_by_role("button", name="Scan", exact=True).click()
