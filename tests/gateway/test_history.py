"""History by date: filters, words, pages, and nobody else's messages."""

import asyncio
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from gatepost.model import ids, times
from gatepost.services.history_query import TYPES_MAX
from gatepost.store.search.query import read_indexed_end
from tests.gateway.checks import PERSON, SEND, check_refused, until
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

MESSAGES = "/api/v1/messages"
OTHER = "5511999997777"


async def page(gateway: Gateway, key: str | None = None, **query: Any) -> Any:
    names = {name.rstrip("_"): value for name, value in query.items()}
    answer = await gateway.call("GET", f"{MESSAGES}?{urlencode(names)}", key=key)
    assert answer.status == 200, answer.body
    return answer.json()


async def found(gateway: Gateway, **query: Any) -> list[str]:
    """The ids of a page that is the last one."""
    seen = await page(gateway, **query)
    assert seen["paging"] == {"next": None}
    return [message["key"]["id"] for message in seen["data"]]


async def test_the_newest_first_in_pages(gateway: Gateway) -> None:
    sent = [await gateway.send(phone=PERSON, body=f"number {n}") for n in range(5)]
    first = await page(gateway, limit=2)
    late = await gateway.send(phone=PERSON, body="meanwhile")
    second = await page(gateway, limit=2, cursor=first["paging"]["next"])
    third = await page(gateway, limit=2, cursor=second["paging"]["next"])
    shown = [message["key"]["id"] for seen in (first, second, third) for message in seen["data"]]
    assert shown == sent[::-1]
    assert third["paging"] == {"next": None}
    assert (await found(gateway))[0] == late


async def test_a_page_that_is_just_full_has_an_empty_one_behind_it(gateway: Gateway) -> None:
    await gateway.send(phone=PERSON, body="one")
    first = await page(gateway, limit=1)
    assert (await page(gateway, limit=1, cursor=first["paging"]["next"]))["paging"] == {"next": None}


async def test_a_message_is_shown_as_by_its_id(gateway: Gateway) -> None:
    sent = await gateway.send(phone=PERSON, body="one", client_ref="mine")
    await gateway.until_status(sent, "READ")
    (shown,) = (await page(gateway))["data"]
    assert shown == (await gateway.call("GET", f"{MESSAGES}/{sent}")).json()["data"]


async def test_from_is_in_and_to_is_out(gateway: Gateway) -> None:
    first = await gateway.send(phone=PERSON, body="one")
    await asyncio.sleep(0.002)
    second = await gateway.send(phone=PERSON, body="two")
    (shown, _) = (await page(gateway))["data"]
    at = shown["created_at"]
    assert await found(gateway, from_=at) == [second]
    assert await found(gateway, to=at) == [first]
    today = gateway.clock.now().date()
    assert await found(gateway, from_=today - timedelta(days=1), to=today + timedelta(days=2)) == [second, first]
    assert await found(gateway, to=today - timedelta(days=1), tz="Asia/Tokyo") == []


async def test_filters_combine(gateway: Gateway) -> None:
    mine = await gateway.send(phone=PERSON, body="one")
    theirs = await gateway.send(phone=OTHER, body="two")
    later = times.format_time(gateway.clock.now() + timedelta(hours=1))
    waiting = await gateway.send(phone=PERSON, body="later", send_at=later)
    place = await gateway.send(
        phone=PERSON, type="location", location={"latitude": 1, "longitude": 2, "name": "Museum"}
    )
    for sent in (mine, theirs, place):
        await gateway.until_status(sent, "READ")
    conversation = (await gateway.call("GET", f"{MESSAGES}/{mine}")).json()["data"]["conversation"]["id"]
    assert await found(gateway, phone=PERSON) == [place, waiting, mine]
    assert await found(gateway, conversation=conversation) == [place, waiting, mine]
    assert await found(gateway, conversation=conversation, phone=OTHER) == []
    assert await found(gateway, phone="5511900000000") == []
    assert await found(gateway, status="READ") == [place, theirs, mine]
    assert await found(gateway, status="SCHEDULED") == [waiting]
    assert await found(gateway, status="PENDING,FAILED") == []
    assert await found(gateway, status="READ,SCHEDULED", phone=PERSON, type="text") == [waiting, mine]
    assert await found(gateway, type="location,image") == [place]
    assert await found(gateway, direction="in") == []
    assert await found(gateway, direction="out", q="museum") == [place]


async def test_what_people_write_is_found_too(gateway: Gateway) -> None:
    sent = await gateway.send(phone=PERSON, body="Where are you?")
    await gateway.until_status(sent, "READ")
    said = {"phone_number_id": "100000000000001", "from": PERSON, "text": "À la maison"}
    await gateway.sandbox("POST", "/control/say", said)
    async with asyncio.timeout(PATIENCE):
        while not (received := await found(gateway, direction="in", q="a la MAIS")):
            await asyncio.sleep(0.02)
    assert received == await found(gateway, status="RECEIVED", phone=PERSON)


async def test_words(gateway: Gateway) -> None:
    one = await gateway.send(phone=PERSON, body="Your order 1234 is on its way")
    two = await gateway.send(phone=OTHER, body="Ihre Größe und ein Café, 注文")
    assert await found(gateway, q="order") == [one]
    assert await found(gateway, q="way ORD") == [one]
    assert await found(gateway, q="ord way") == []  # only the last word may be unfinished
    assert await found(gateway, q="grosse cafe") == [two]
    assert await found(gateway, q="文") == [two]
    assert await found(gateway, q="order", phone=OTHER) == []
    assert await found(gateway, q="caf", phone=OTHER) == [two]
    assert await found(gateway, q="order cafe") == []


async def test_the_owner_puts_words_into_blocks(gateway: Gateway) -> None:
    sends = [{"phone": f"551190000{n:04}", "body": f"common word{n}"} for n in range(130)]
    await asyncio.gather(*(gateway.send(**send) for send in sends))

    async def closed() -> bool:
        return await read_indexed_end(gateway.db, UUID(gateway.channel[3:])) != ids.ZERO

    await until(closed)
    assert len(await found(gateway, q="word77")) == 1
    assert len((await page(gateway, q="common", limit=100))["data"]) == 100


async def test_questions_that_make_no_sense(gateway: Gateway) -> None:
    for query, field in (
        ("colour=red", "colour"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=2&limit=3", "limit"),
        ("from=yesterday", "from"),
        ("from=2026-02-30", "from"),
        ("from=2026-11-15T10:00:00", "from"),
        ("to=0001-01-01&tz=Asia/Tokyo", "to"),
        ("from=2026-11-15&to=2026-11-15", "to"),
        ("from=2026-11-15&tz=Mars/Crater", "tz"),
        ("tz=../../etc/passwd", "tz"),
        ("tz=America", "tz"),
        ("conversation=1", "conversation"),
        ("direction=up", "direction"),
        ("status=read", "status"),
        ("status=", "status"),
        ("type=Text", "type"),
        ("type=text,", "type"),
        ("q=", "q"),
        ("q=!%3F", "q"),
        ("q=a%00b", "q"),
        ("q=" + "x" * 201, "q"),
        ("q=" + "+".join("abcdefghijk"), "q"),
        ("format=csv", "format"),
    ):
        check_refused(await gateway.call("GET", f"{MESSAGES}?{query}"), 422, "invalid_field", field, about=query)


async def test_so_many_types_and_no_more(gateway: Gateway) -> None:
    types = [f"type_{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(TYPES_MAX + 1)]
    assert (await gateway.call("GET", f"{MESSAGES}?type={','.join(types[1:] * 2)}")).status == 200
    check_refused(await gateway.call("GET", f"{MESSAGES}?type={','.join(types)}"), 422, "invalid_field", "type")


async def test_limits_are_in(gateway: Gateway) -> None:
    assert await found(gateway, limit=100, q="x" * 200) == []
    assert await found(gateway, limit=1, q=" ".join("abcdefghij")) == []


async def test_other_refusals(gateway: Gateway) -> None:
    check_refused(await gateway.call("GET", f"{MESSAGES}?phone=%2B55"), 422, "invalid_phone", "phone")
    for cursor in ("x", "bnVsbA", "IjEi"):
        check_refused(await gateway.call("GET", f"{MESSAGES}?cursor={cursor}"), 400, "invalid_cursor")
    nobody = f"{MESSAGES}?conversation=cv_{'0' * 32}"
    check_refused(await gateway.call("GET", nobody), 404, "not_found")


async def test_strangers_see_only_their_own(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    mine = await gateway.send(phone=PERSON, body="a secret word")
    theirs = (await gateway.call("POST", SEND, {"phone": PERSON, "body": "a word"}, key=stranger)).json()["data"]
    assert await found(gateway, q="word") == await found(gateway, phone=PERSON) == [mine]
    assert await found(gateway, key=stranger, phone=PERSON) == [theirs["key"]["id"]]
    assert await found(gateway, key=stranger, q="secret") == []
    conversation = (await gateway.call("GET", f"{MESSAGES}/{mine}")).json()["data"]["conversation"]["id"]
    answer = await gateway.call("GET", f"{MESSAGES}?conversation={conversation}", key=stranger)
    check_refused(answer, 404, "not_found")


async def test_a_key_needs_the_scope_to_read(gateway: Gateway) -> None:
    key = await gateway.new_key(
        (await gateway.new_channel(gateway.account_id, "15550004444", "100000000000004")).id, scopes=["send"]
    )
    for path in (MESSAGES, f"{MESSAGES}/export"):
        check_refused(await gateway.call("GET", path, key=key), 403, "missing_scope")
