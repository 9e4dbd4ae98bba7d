"""The event feed: in order, without a gap, and nobody else's."""

import asyncio
from typing import Any

from gatepost.model.event import TYPES
from tests.gateway.checks import SEND, TEXT, check_refused, feed
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

EVENTS = "/api/v1/events"


async def _page(gateway: Gateway, query: str = "") -> Any:
    answer = await gateway.call("GET", EVENTS + query)
    assert answer.status == 200, answer.body
    return answer.json()


async def test_an_event_in_full(gateway: Gateway) -> None:
    message_id = await gateway.send(**TEXT, client_ref="order-1")
    met, opened, event = (await _page(gateway))["data"][:3]
    assert (met["type"], met["action"], met["sequence"]) == ("contact_notifications", "created", 1)
    assert (opened["type"], opened["action"], opened["sequence"]) == ("chat_notification", "created", 2)
    assert set(event) == {"id", "type", "action", "timestamp", "sequence", "channel", "data"}
    assert event["id"].startswith("evt_")
    assert (event["type"], event["action"], event["sequence"]) == ("message_notification", "created", 3)
    assert event["timestamp"].endswith("Z")
    assert event["channel"] == {"id": gateway.channel, "kind": "official", "phone": "15550001111"}
    data = event["data"]
    assert data["key"] == {"remoteJid": "5511999998888@s.whatsapp.net", "fromMe": True, "id": message_id}
    assert (data["direction"], data["type"], data["content"]) == ("out", "text", {"body": "Hello"})
    assert (data["status"], data["client_ref"], data["context"]) == ("PENDING", "order-1", None)
    assert data["contact"]["phone"] == "5511999998888"
    assert data["contact"]["id"][3:] == data["conversation"]["id"][3:]


async def test_acks_in_full(gateway: Gateway) -> None:
    message_id = await gateway.send(**TEXT, client_ref="order-1")
    await gateway.until_status(message_id, "READ")
    acks = [event["data"] for event in await feed(gateway) if event["type"] == "ack_notification"]
    assert [(a["status"], a["ack"], a["previous"]) for a in acks] == [
        ("SENT", 1, "PENDING"),
        ("DELIVERED", 2, "SENT"),
        ("READ", 3, "DELIVERED"),
    ]
    assert {ack["client_ref"] for ack in acks} == {"order-1"}
    assert {ack["key"]["id"] for ack in acks} == {message_id}


async def test_paging(gateway: Gateway) -> None:
    assert await _page(gateway) == {"success": True, "message": "OK", "data": [], "paging": {"next": None}}
    for _ in range(3):
        await gateway.until_status(await gateway.send(**TEXT), "READ")
    everything = await feed(gateway)
    assert [event["sequence"] for event in everything] == list(range(1, 15))
    one = await _page(gateway, "?limit=1")
    assert [event["sequence"] for event in one["data"]] == [1]
    assert len((await _page(gateway, "?limit=100"))["data"]) == 14
    after_five = await _page(gateway, f"?after={everything[4]['id']}&limit=3")
    assert after_five["data"] == everything[5:8]
    assert after_five["paging"]["next"] == everything[7]["id"]
    end = everything[-1]["id"]
    assert await _page(gateway, f"?after={end}") == {
        "success": True,
        "message": "OK",
        "data": [],
        "paging": {"next": end},
    }


async def test_the_usual_page_has_twenty(gateway: Gateway) -> None:
    await asyncio.gather(*(gateway.send(phone=f"55119{number:08}", body="Hi") for number in range(21)))
    assert len((await _page(gateway))["data"]) == 20


async def test_only_some_types(gateway: Gateway) -> None:
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    acks = (await _page(gateway, "?types=ack_notification"))["data"]
    assert [event["sequence"] for event in acks] == [4, 5, 6]
    both = (await _page(gateway, "?types=ack_notification,message_notification"))["data"]
    assert [event["sequence"] for event in both] == [3, 4, 5, 6]
    assert (await _page(gateway, "?types=order_notifications"))["data"] == []
    assert len((await _page(gateway, "?types=" + ",".join(TYPES)))["data"]) == 6


async def test_questions_that_make_no_sense(gateway: Gateway) -> None:
    for query, status, code, field in (
        ("?limit=0", 422, "invalid_field", "limit"),
        ("?limit=101", 422, "invalid_field", "limit"),
        ("?limit=-1", 422, "invalid_field", "limit"),
        ("?limit=", 422, "invalid_field", "limit"),
        ("?limit=1e2", 422, "invalid_field", "limit"),
        ("?limit=%D9%A1", 422, "invalid_field", "limit"),
        ("?types=", 422, "invalid_field", "types"),
        ("?types=smoke_signals", 422, "invalid_field", "types"),
        ("?types=ack_notification,", 422, "invalid_field", "types"),
        ("?after=", 400, "invalid_cursor", None),
        ("?after=1", 400, "invalid_cursor", None),
        ("?after=evt_x", 400, "invalid_cursor", None),
        (f"?after=evt_{'g' * 32}", 400, "invalid_cursor", None),
        (f"?after=we_{'0' * 32}", 400, "invalid_cursor", None),
    ):
        check_refused(await gateway.call("GET", EVENTS + query), status, code, field, about=query)


async def test_strangers_see_only_their_own(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    assert await feed(gateway, key=stranger) == []
    theirs = (await gateway.call("POST", SEND, TEXT, key=stranger)).json()["data"]["key"]["id"]
    first = (await feed(gateway, key=stranger))[2]
    assert (first["sequence"], first["data"]["key"]["id"]) == (3, theirs)
    assert first["channel"]["id"] != gateway.channel
    mine = await feed(gateway)
    assert theirs not in str(mine)
    beyond = await gateway.call("GET", f"{EVENTS}?after={first['id']}")
    assert {event["channel"]["id"] for event in beyond.json()["data"]} <= {gateway.channel}


async def test_a_reader_beside_many_writers_misses_nothing(gateway: Gateway) -> None:
    count = 60

    async def write(number: int) -> None:
        for turn in range(10):
            await gateway.send(phone=f"5511900{number:05}{turn}", body="Hi")

    writers = [asyncio.create_task(write(number)) for number in range(count // 10)]
    seen: list[Any] = []
    after = ""
    async with asyncio.timeout(PATIENCE):
        while sum(event["data"].get("status") == "READ" for event in seen) < count:
            page = await _page(gateway, f"?limit=7{after}")
            seen += page["data"]
            await asyncio.sleep(0 if page["data"] else 0.01)
            after = f"&after={page['paging']['next']}" if page["paging"]["next"] else ""
    await asyncio.gather(*writers)
    assert [event["sequence"] for event in seen] == list(range(1, 6 * count + 1))
    assert len({event["id"] for event in seen}) == len(seen)
    assert [event["id"] for event in seen] == sorted(event["id"] for event in seen)
