"""Conversations in the API: listed, filtered, changed, read, with one event per change; and what is refused."""

import asyncio
from functools import partial
from typing import Any

from gatepost.model import ids
from tests.gateway.checks import PERSON, check_refused, feed, until
from tests.running_gateway import Gateway

CONVERSATIONS = "/api/v1/conversations"
NUMBER = "100000000000001"
PEOPLE = [f"55119000000{i}" for i in range(10, 15)]


async def say(gateway: Gateway, text: str = "Hi", phone: str = PERSON, later: int = 0, **more: Any) -> None:
    """Somebody writes, and it is taken in. The network counts whole seconds: what is to come after, comes later."""
    before = await incoming(gateway)
    if later:
        await gateway.sandbox("POST", "/control/clock", {"advance": later})
    said = {"phone_number_id": NUMBER, "from": phone, "text": text, **more}
    await gateway.sandbox("POST", "/control/say", said)

    async def received() -> bool:
        return await incoming(gateway) > before

    await until(received)


async def incoming(gateway: Gateway) -> int:
    async with gateway.db.connection() as conn:
        return int(await conn.fetchval("SELECT count(*) FROM messages WHERE incoming"))


async def listed(gateway: Gateway, query: str = "", key: str | None = None) -> Any:
    found = await gateway.call("GET", f"{CONVERSATIONS}{query}", key=key)
    assert found.status == 200, found.body
    return found.json()


async def phones(gateway: Gateway, query: str = "") -> list[str]:
    return [one["contact"]["phone"] for one in (await listed(gateway, query))["data"]]


async def the_one(gateway: Gateway) -> Any:
    (one,) = (await listed(gateway))["data"]
    return one


async def seen(gateway: Gateway) -> list[Any]:
    """What the feed says of changed conversations."""
    found = [e for e in await feed(gateway) if e["type"] == "chat_notification" and e["action"] == "updated"]
    return [event["data"] for event in found]


async def test_what_is_shown(gateway: Gateway) -> None:
    await say(gateway, "First", name="Ana")
    sent = await gateway.send(phone=PERSON, body="Answer")
    await gateway.until_status(sent, "READ")
    await say(gateway, "Second", later=2, name="Ana")
    one = await the_one(gateway)
    assert (one["contact"]["phone"], one["contact"]["name"]) == (PERSON, "Ana")
    assert one["id"].removeprefix("cv_") == one["contact"]["id"].removeprefix("ct_")
    assert (one["status"], one["archived"], one["muted"]) == ("open", False, False)
    assert (one["assignee"], one["note"], one["labels"], one["unread"]) == (None, None, [], 2)
    assert one["last_message"]["content"] == {"body": "Second"}
    assert one["window_ends_at"] > one["last_message"]["created_at"]
    assert (await gateway.call("GET", f"{CONVERSATIONS}/{one['id']}")).json()["data"] == one
    path = f"{CONVERSATIONS}/{one['id']}/messages"
    whole = (await gateway.call("GET", path)).json()
    assert [m["content"]["body"] for m in whole["data"]] == ["Second", "Answer", "First"]
    assert [m["direction"] for m in whole["data"]] == ["in", "out", "in"]
    assert whole["paging"] == {"next": None}
    page = (await gateway.call("GET", f"{path}?limit=2")).json()
    await say(gateway, "Third", later=2, name="Ana")
    rest = (await gateway.call("GET", f"{path}?limit=2&cursor={page['paging']['next']}")).json()
    assert page["data"] + rest["data"] == whole["data"]
    message = (await gateway.call("GET", f"/api/v1/messages/{sent}")).json()["data"]
    assert message == whole["data"][1]


async def test_the_newest_activity_comes_first_and_pages_are_stable(gateway: Gateway) -> None:
    for phone in PEOPLE:
        await gateway.send(phone=phone, body="Hello")
    await gateway.send(phone=PEOPLE[1], body="And again")
    order = [PEOPLE[1], PEOPLE[4], PEOPLE[3], PEOPLE[2], PEOPLE[0]]
    assert await phones(gateway) == order
    first = await listed(gateway, "?limit=2")
    await gateway.send(phone=PEOPLE[4], body="Meanwhile")
    second = await listed(gateway, f"?limit=2&cursor={first['paging']['next']}")
    third = await listed(gateway, f"?limit=2&cursor={second['paging']['next']}")
    found = [one["contact"]["phone"] for page in (first, second, third) for one in page["data"]]
    assert (found, third["paging"]["next"]) == (order, None)


async def test_filters_combine(gateway: Gateway) -> None:
    for phone in PEOPLE:
        await gateway.send(phone=phone, body="Hello")
    await say(gateway, phone=PEOPLE[0], later=2)
    await say(gateway, phone=PEOPLE[1], later=2)
    by_phone = {one["contact"]["phone"]: one["id"] for one in (await listed(gateway))["data"]}
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    for phone in (PEOPLE[0], PEOPLE[2], PEOPLE[3]):
        await gateway.call("PUT", f"{CONVERSATIONS}/{by_phone[phone]}/labels/{label}")
    await gateway.call("PATCH", f"{CONVERSATIONS}/{by_phone[PEOPLE[2]]}", {"status": "closed"})
    await gateway.call("PATCH", f"{CONVERSATIONS}/{by_phone[PEOPLE[3]]}", {"archived": True})
    zero, one, two, three, four = PEOPLE
    for query, expected in {
        "": [one, zero, four, three, two],
        "status=open": [one, zero, four, three],
        "status=closed": [two],
        "archived=true": [three],
        "archived=false": [one, zero, four, two],
        "unread=true": [one, zero],
        "unread=false": [four, three, two],
        f"label={label}": [zero, three, two],
        f"label={label}&limit=2": [zero, three],
        f"label={label}&status=open&archived=false": [zero],
        f"label={label}&unread=true&phone={zero}": [zero],
        f"label={label}&phone={one}": [],
        f"phone={four}": [four],
        f"phone={four}&status=closed": [],
        f"phone={PERSON}": [],
        "since=2020-01-01&tz=America/Sao_Paulo": [one, zero, four, three, two],
        "since=2100-01-01T00:00:00Z": [],
        f"label={ids.format_id('lb', ids.ZERO)}": [],
    }.items():
        assert await phones(gateway, f"?{query}") == expected, query


async def test_people_set_what_they_like(gateway: Gateway) -> None:
    await say(gateway, name="Ana")
    one = await the_one(gateway)
    path = f"{CONVERSATIONS}/{one['id']}"
    options = {"status": "closed", "archived": True, "muted": True, "assignee": "bob@example.com", "note": "Pays late"}
    changed = (await gateway.call("PATCH", path, options)).json()["data"]
    assert changed == one | options | {"updated_at": changed["updated_at"]}
    for same in ({}, {"status": "closed"}, options):
        assert (await gateway.call("PATCH", path, same)).json()["data"] == changed
    again = (await gateway.call("PATCH", path, {"note": None, "muted": True, "archived": False})).json()["data"]
    assert (again["note"], again["muted"], again["archived"], again["assignee"]) == (
        None,
        True,
        False,
        "bob@example.com",
    )
    shown = {"id": one["id"], "contact": one["contact"], "unread": 1}
    last = options | {"note": None, "archived": False}
    assert await seen(gateway) == [
        shown | options | {"changed": list(options)},
        shown | last | {"changed": ["archived", "note"]},
    ]
    await say(gateway, name="Ana")
    assert ((await the_one(gateway))["status"], (await seen(gateway))[-1]["status"]) == ("open", "open")


async def test_what_is_refused(gateway: Gateway) -> None:
    await gateway.send(phone=PERSON, body="Hello")
    path = f"{CONVERSATIONS}/{(await the_one(gateway))['id']}"
    for field, most in (("assignee", 256), ("note", 4096)):
        assert (await gateway.call("PATCH", path, {field: "x" * most})).status == 200
        for wrong in ("x" * (most + 1), "", " ", "\x00", 1):
            check_refused(await gateway.call("PATCH", path, {field: wrong}), 422, "invalid_field", field)
    for field in ("status", "archived", "muted"):
        for value in ("ajar", None, 1):
            check_refused(await gateway.call("PATCH", path, {field: value}), 422, "invalid_field", field, value)
    check_refused(await gateway.call("PATCH", path, {"unread": 0}), 422, "invalid_field", "unread")
    for query, field in {
        "status=ajar": "status",
        "archived=1": "archived",
        "unread=yes": "unread",
        "label=VIP": "label",
        "since=yesterday": "since",
        "since=2026-02-30": "since",
        "tz=Mars": "tz",
        "limit=0": "limit",
        "limit=101": "limit",
        "colour=red": "colour",
    }.items():
        check_refused(await gateway.call("GET", f"{CONVERSATIONS}?{query}"), 422, "invalid_field", field, query)
    assert (await gateway.call("GET", f"{CONVERSATIONS}?limit=100")).status == 200
    check_refused(await gateway.call("GET", f"{CONVERSATIONS}?phone=%2B55"), 422, "invalid_phone", "phone")
    check_refused(await gateway.call("GET", f"{CONVERSATIONS}?cursor=x"), 400, "invalid_cursor")
    check_refused(await gateway.call("GET", f"{path}/messages?cursor=x"), 400, "invalid_cursor")
    check_refused(await gateway.call("GET", f"{path}/messages?q=x"), 422, "invalid_field", "q")


async def test_read_is_read_here_and_on_the_network(gateway: Gateway) -> None:
    await say(gateway, "One")
    await say(gateway, "Two", later=2)
    one = await the_one(gateway)
    path = f"{CONVERSATIONS}/{one['id']}/read"
    for _ in range(2):
        read = (await gateway.call("POST", path)).json()["data"]
        assert (read["unread"], read["shown"]) == (0, True)
    marks = (await gateway.sandbox("GET", "/control/ledger?kind=read"))["entries"]
    assert {mark["message_id"] for mark in marks} == {one["last_message"]["network_id"]}
    assert [(data["changed"], data["unread"]) for data in await seen(gateway)] == [(["unread"], 0)]
    await say(gateway, "Three")
    assert (await the_one(gateway))["unread"] == 1


async def test_on_a_linked_phone_all_unread_messages_are_marked(gateway: Gateway) -> None:
    """Unlike the official network, it marks only the messages that are named."""
    channel = await gateway.new_qr_channel(gateway.account_id)
    gateway.key, phone = await gateway.new_key(channel.id), f"/control/phones/{channel.phone}"
    await gateway.call("POST", "/api/v1/channel/connect")
    code = (await gateway.call("GET", "/api/v1/channel/qr")).json()["data"]["code"]
    await gateway.sandbox("POST", f"{phone}/scan", {"code": code})

    async def unread(count: int) -> Any:
        await gateway.sandbox("POST", "/control/clock", {"advance": 0.5})
        found = (await listed(gateway))["data"]
        return found[0] if found and found[0]["unread"] == count else None

    async def hear(*words: str) -> list[str]:
        said = [{"from": {"phone": PERSON}, "content": {"body": word}} for word in words]
        return [(await gateway.sandbox("POST", f"{phone}/incoming", one))["id"] for one in said]

    marked: list[str] = []
    for words in (("One", "Two", "Three"), ("Four", "Five")):
        heard = await hear(*words)
        one = await until(partial(unread, len(words)))
        assert (await gateway.call("POST", f"{CONVERSATIONS}/{one['id']}/read")).json()["data"]["shown"] is True
        marked += heard
        marks = (await gateway.sandbox("GET", "/control/ledger?kind=read"))["entries"]
        assert [mark["message_id"] for mark in marks] == marked


async def test_read_without_a_network(gateway: Gateway) -> None:
    """A phone that nobody linked, and somebody who never wrote."""
    channel = await gateway.new_qr_channel(gateway.account_id)
    key = await gateway.new_key(channel.id)
    sent = await gateway.call("POST", "/api/v1/message/send", {"phone": PERSON, "body": "Hello"}, key=key)
    assert sent.status == 200
    (one,) = (await listed(gateway, key=key))["data"]
    assert one["window_ends_at"] is None
    async with gateway.db.connection() as conn:
        await conn.execute("UPDATE conversations SET unread = 3 WHERE channel_id = $1", channel.id)
    read = (await gateway.call("POST", f"{CONVERSATIONS}/{one['id']}/read", key=key)).json()["data"]
    assert (read["unread"], read["shown"]) == (0, False)


async def test_unread_is_right_however_much_happens_at_once(gateway: Gateway) -> None:
    await say(gateway)
    path = f"{CONVERSATIONS}/{(await the_one(gateway))['id']}"
    said = {"phone_number_id": NUMBER, "from": PERSON, "text": "More"}
    writing = [gateway.sandbox("POST", "/control/say", said) for _ in range(20)]
    settings = [gateway.call("PATCH", path, {"note": f"No. {i}"}) for i in range(10)]
    reading = [gateway.call("POST", f"{path}/read") for _ in range(5)]
    await asyncio.gather(*writing, *settings, *reading)

    async def all_in() -> bool:
        return await incoming(gateway) == 21

    await until(all_in)
    feed_of_all = await feed(gateway)
    expected = 0
    for event in feed_of_all:  # the order of the feed is the order of the commits
        if event["type"] == "message_notification" and event["data"]["direction"] == "in":
            expected += 1
        elif event["data"].get("changed") == ["unread"]:
            expected = 0
    assert (await the_one(gateway))["unread"] == expected


async def test_strangers_and_scopes(gateway: Gateway) -> None:
    await say(gateway)
    one = await the_one(gateway)
    path, stranger = f"{CONVERSATIONS}/{one['id']}", await gateway.new_stranger()
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id is not None
    keys = {scope: await gateway.new_key(channel_id, scopes=[scope]) for scope in ("read", "send", "manage")}
    assert (await listed(gateway, key=stranger))["data"] == []
    for method, tail, body, scope in (
        ("GET", "", None, "read"),
        ("GET", "/messages", None, "read"),
        ("PATCH", "", {"note": "x"}, "manage"),
        ("POST", "/read", None, "send"),
        ("POST", "/typing", None, "send"),
    ):
        check_refused(await gateway.call(method, path + tail, body, key=stranger), 404, "not_found", about=tail)
        for nobody in (ids.format_id("cv", ids.ZERO), "cv_x", one["contact"]["id"]):
            gone = await gateway.call(method, f"{CONVERSATIONS}/{nobody}{tail}", body)
            check_refused(gone, 404, "not_found", about=(tail, nobody))
        for name, key in keys.items():
            found = await gateway.call(method, path + tail, body, key=key)
            assert found.status == (200 if name == scope else 403), (method, tail, name, found.body)
    for name, key in keys.items():
        assert (await gateway.call("GET", CONVERSATIONS, key=key)).status == (200 if name == "read" else 403)
