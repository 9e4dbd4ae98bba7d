"""What only real links show, from the customer's request to the phone: ids, crashes, restarts and orders."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from gatepost.networks.qr.phone.protos import e2e
from tests.conformance.conftest import Place
from tests.conformance.line import new_person, until
from tests.conformance.phone_gateway import Phones, running_phones
from tests.conformance.phone_line import PhoneLine
from tests.conformance.test_linked_state import because, worker

pytestmark = pytest.mark.asyncio(loop_scope="package")
WAITING = """SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'"""


@pytest_asyncio.fixture(loop_scope="package")
async def place(phones: Place) -> Phones:
    return await phones()


@pytest_asyncio.fixture(loop_scope="package")
async def line(place: Phones) -> PhoneLine:
    return await place.new_line()


def kill_child(place: Phones) -> None:
    """The program that holds the links, and the library below it, end at once and without a word."""
    pid = place.children[-1].pid
    assert pid
    os.killpg(pid, signal.SIGKILL)


@asynccontextmanager
async def nothing_commits(place: Phones, line: PhoneLine) -> AsyncIterator[Any]:
    """Holds the channel's head, so that nothing of the channel can be written."""
    conn = await asyncpg.connect(place.url)
    try:
        async with conn.transaction():
            await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", line.channel_id)
            yield conn
    finally:
        await conn.close()


async def test_a_message_goes_under_our_own_id(line: PhoneLine) -> None:
    person = new_person()
    sent = [await line.send(person, body=f"Number {number}") for number in range(3)]
    for message_id in sent:
        assert (await line.until_status(message_id, "READ"))["network_id"] == message_id
    assert [one["id"] for one in line.network.seen if one.get("phone") == person and one["saw"] == "message"] == sent


async def test_a_crash_while_sending_neither_loses_nor_doubles(place: Phones, line: PhoneLine) -> None:
    person = new_person()
    await line.network.do("silence", on=True)
    sent = await line.send(person, body="Once")
    await line.network.saw("message", lambda one: one["id"] == sent)
    kill_child(place)
    await line.network.do("silence", on=False)
    await line.until_status(sent, "READ")
    assert await line.acks(sent) == ["SENT", "DELIVERED", "READ"]
    assert [one["id"] for one in line.network.seen if one.get("phone") == person and one["saw"] == "message"] == [
        sent,
        sent,
    ]


async def test_what_is_not_committed_is_not_confirmed_and_comes_again(place: Phones, line: PhoneLine) -> None:
    person = new_person()
    await line.until_acknowledged()
    async with nothing_commits(place, line) as conn:
        network_id = await line.say(person, "text", {"body": "Keep this"})
        await until(lambda: conn.fetchval(WAITING))
        kill_child(place)
        await line.network.saw("gone", lambda one: one["device"].startswith(line.phone))
        assert await line.unacknowledged() == 1
    (event,) = await line.received(person, 1)
    await line.until_state("connected")
    await line.until_acknowledged()
    assert (await line.message(event["data"]["key"]["id"]))["network_id"] == network_id
    await line.say(person, "text", {"body": "And this"})
    received = await line.received(person, 2)
    assert [one["data"]["content"]["body"] for one in received] == ["Keep this", "And this"]


async def test_a_restarted_gateway_needs_no_new_code(parted_database_url: str, tmp_path: Path) -> None:
    async with running_phones(parted_database_url, tmp_path, role="api") as place:
        async with worker(place.gateway, parted_database_url):
            line, person = await place.new_line(), new_person()
            await line.until_status(await line.send(person, body="Before"), "READ")
        assert (await line.get("/channel"))["connection"]["state"] == "disconnected"
        waits = [await line.send(person, body=f"Number {number}") for number in range(3)]
        for number in range(3):
            await line.say(person, "text", {"body": f"Meanwhile {number}"})
        async with worker(place.gateway, parted_database_url):
            for message_id in waits:
                await line.until_status(message_id, "READ")
            received = await line.received(person, 3)
            await line.until_acknowledged()
        assert [event["data"]["content"]["body"] for event in received] == [
            f"Meanwhile {number}" for number in range(3)
        ]
        assert [taken.id for taken in await line.taken()][1:] == waits
        assert len({one["qr"] for one in await line.connections() if "qr" in one}) == 1, "scanned once, and never again"


async def test_a_refusal_keeps_new_people_waiting_and_nobody_else(line: PhoneLine) -> None:
    friend, stranger, other = new_person(), new_person(), new_person()
    await line.until_status(await line.send(friend, body="Hello"), "READ")
    await line.fault(fault="refuse", code=463, to=stranger)
    waits = await line.send(stranger, body="May I?")
    channel = await line.until_state("limited")
    assert "new people" in channel["connection"]["reason"]
    waits_too = await line.send(other, body="And I?")
    assert await because(line, waits_too)
    await line.until_status(await line.send(friend, body="How are you?"), "READ")
    assert [(await line.message(one))["status"] for one in (waits, waits_too)] == ["PENDING", "PENDING"]
    refused = [one["id"] for one in line.network.seen if one["saw"] == "message" and one["refused"] == 463]
    assert refused.count(waits) == 1
    assert not [one for one in line.network.seen if one.get("phone") == other and one["saw"] == "message"]


async def test_an_order_comes_with_its_lines(line: PhoneLine) -> None:
    person = new_person()
    goods = [{"id": "tea", "name": "Tea", "price": 30100, "quantity": 2}, {"id": "cup", "name": "Cup", "price": 5005}]
    await line.network.do("order", id="o1", token="t1", items=goods, total=65205, currency="USD")
    order = e2e.OrderMessage(
        orderID="o1",
        token="t1",
        message="Please wrap it",
        orderTitle="Tea and a cup",
        itemCount=3,
        sellerJID=f"{line.phone}@s.whatsapp.net",
        totalAmount1000=65205,
        totalCurrencyCode="USD",
    )
    await line.arrive(person, e2e.Message(orderMessage=order))
    (event,) = await line.received(person, 1)
    items = [
        {"retailer_id": "tea", "quantity": 2, "price": "30.10", "currency": "USD"},
        {"retailer_id": "cup", "quantity": 1, "price": "5.005", "currency": "USD"},
    ]
    assert event["data"]["content"]["order"]["items"] == items
    (told,) = [one["data"] for one in await line.events(person) if one["type"] == "order_notifications"]
    assert (told["items"], told["total"], told["currency"]) == (items, "65.205", "USD")
    assert (told["status"], told["note"], told["message"]) == ("new", "Please wrap it", event["data"]["key"]["id"])


async def test_an_order_whose_lines_cannot_be_had_comes_without(line: PhoneLine) -> None:
    person = new_person()
    order = e2e.OrderMessage(orderID="unknown", token="t", totalAmount1000=1500, totalCurrencyCode="USD", itemCount=1)
    await line.arrive(person, e2e.Message(orderMessage=order))
    (event,) = await line.received(person, 1)
    content = event["data"]["content"]["order"]
    assert (content["items"], content["total"], content["item_count"]) == ([], "1.50", 1)
