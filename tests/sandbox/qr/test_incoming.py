"""Everything that people, and the phone's owner, may do."""

import hashlib
from base64 import b64encode
from typing import Any

import pytest

from tests.for_each import for_each
from tests.sandbox.driver import START, Driver

from .peer import ANA, BEN, PHONE, Peer, message

ORDER = {"items": [{"retailer_id": "r1", "quantity": 2, "price": "30.00", "currency": "USD"}]}
FILE = {"data": b64encode(b"picture").decode(), "mime_type": "image/jpeg", "filename": "a.jpg"}
KINDS: list[dict[str, Any]] = [
    {"type": "text", "content": {"body": "Hi"}},
    {"type": "location", "content": {"location": {"latitude": 1.5, "longitude": 2, "live": True}}},
    {"type": "contacts", "content": {"contacts": [{"name": {"formatted_name": "Ben"}}]}},
    {"type": "reaction", "content": {"reaction": {"emoji": "👍"}}, "target": "3EB0"},
    {"type": "reaction", "content": {"reaction": {"emoji": ""}}, "target": "3EB0"},
    {"type": "edit", "content": {"edit": {"type": "text", "content": {"body": "Hi!"}}}, "target": "3A01"},
    {"type": "revoke", "content": {}, "target": "3A01"},
    {"type": "poll", "content": {"poll": {"question": "?", "options": ["a", "b"], "multiple": True}}},
    {"type": "poll_vote", "content": {"poll": {"options": ["a"]}}, "target": "3EB0"},
    {"type": "poll_vote", "content": {"poll": {"options": []}}},
    {"type": "order", "content": {"order": ORDER | {"catalog_id": "c", "text": "Soon, please"}}},
    {"type": "button_reply", "content": {"reply": {"id": "yes", "title": "Yes"}}},
    {"type": "list_reply", "content": {"reply": {"id": "1", "title": "One", "description": "The first"}}},
    {"type": "call", "content": {"call": {"kind": "missed"}}},
    {"type": "event_invitation", "content": {"anything": [1, 2]}},
    {"content": {"body": "Hi"}, "chat": {"kind": "group", "id": "120363", "name": "Friends"}},
    {"content": {"body": "Hi"}, "chat": {"kind": "status", "id": "status"}},
    {"content": {"body": "Hi"}, "chat": {"kind": "newsletter", "id": "9"}},
    {"content": {"body": "Hi"}, "from_me": True},
    {"content": {"body": "Hi"}, "quote": {"id": "3EB0", "from_me": True}},
    {"content": {"body": "Hi"}, "context": {"forwarded": True}},
    {"content": {"body": "Hi"}, "id": "3AFF"},
]
NONSENSE: list[dict[str, Any]] = [
    {"type": "text", "content": {}},
    {"type": "text", "content": {"body": "x"}, "colour": 1},
    {"type": "text", "content": {"body": "x"}, "media": FILE},
    {"type": "image", "content": {}},
    {"type": "image", "content": {}, "media": FILE | {"data": "?"}},
    {"type": "reaction", "content": {"reaction": {"emoji": "👍"}}},
    {"type": "edit", "content": {"edit": {"type": "text", "content": {}}}},
    {"type": "revoke"},
    {"type": "order", "content": {"order": {"items": []}}},
    {"type": "order", "content": {"order": {"items": [ORDER["items"][0] | {"price": "-1"}]}}},
    {"type": "order", "content": {"order": {"items": [ORDER["items"][0] | {"quantity": 0}]}}},
    {"type": "x" * 65, "content": {}},
    {"content": {"body": "x"}, "chat": {"kind": "party", "id": "1"}},
    {"content": {"body": "x"}, "from": {"phone": "me"}},
]


async def say(driver: Driver, **fields: Any) -> Any:
    return await driver.control("POST", f"phones/{PHONE}/incoming", {"from": {"phone": ANA, "name": "Ana"}} | fields)


@pytest.mark.parametrize("fields", KINDS)
async def test_every_kind_arrives(empty: Driver, linked: Peer, fields: dict[str, Any]) -> None:
    seen = await say(empty, **fields)
    [event] = await linked.take()
    lid = event["from"]["lid"]
    assert (seen["sessions"], seen["id"]) == (1, fields.get("id", event["id"]))
    assert event == {
        "event": "message",
        "session": "ch_1",
        "seq": 1,
        "id": seen["id"],
        "from": {"phone": ANA, "lid": lid, "name": "Ana"},
        "from_me": False,
        "type": "text",
        "at": int(START),
    } | {name: value for name, value in fields.items() if name != "from"}
    [row] = await empty.ledger(kind="incoming", phone_number_id=PHONE)
    assert (row["wamid"], row["from"], row["type"]) == (seen["id"], ANA, event["type"])


@for_each("fields", NONSENSE)
async def test_nonsense_is_refused(empty: Driver, linked: Peer, fields: dict[str, Any]) -> None:
    reply = await empty.call("POST", f"/control/phones/{PHONE}/incoming", {"from": {"phone": ANA}} | fields)
    assert reply.status == 400
    assert await linked.take() == []


@pytest.mark.parametrize("kind", ["image", "video", "audio", "document", "sticker"])
async def test_a_file_arrives_with_its_handle(empty: Driver, linked: Peer, kind: str) -> None:
    await say(empty, type=kind, content={"caption": "Look"}, media=FILE)
    [event] = await linked.take()
    handle = event["media"].pop("handle")
    assert event["content"] == {"media": {}, "caption": "Look"}
    assert event["media"] == {
        "mime_type": "image/jpeg",
        "sha256": hashlib.sha256(b"picture").hexdigest(),
        "size": 7,
        "filename": "a.jpg",
    }
    got = await linked.ask("get", handle=handle, most=7)
    assert (got["data"], got["last"], got["mime"]) == (FILE["data"], True, "image/jpeg")


async def test_a_phone_with_no_device_gets_no_updates(empty: Driver, linked: Peer) -> None:
    seen = await empty.control(
        "POST", f"phones/{BEN}/incoming", {"from": {"phone": ANA}, "content": {"body": "Anybody?"}}
    )
    assert seen["sessions"] == 0
    assert await linked.take() == []


async def test_somebody_known_by_private_id_alone(empty: Driver, linked: Peer) -> None:
    await say(empty, **{"from": {"phone": ANA, "name": "Ana", "hidden": True}}, content={"body": "Guess who"})
    [said] = await linked.take()
    lid = said["from"]["lid"]
    assert said["from"] == {"lid": lid, "name": "Ana"}
    assert (await linked.ask("send", **message(to={"lid": lid})))["ok"] is True
    await empty.advance(10)
    assert {str(event["from"]) for event in await linked.take()} == {str({"lid": lid})}
    await empty.control("POST", f"phones/{PHONE}/contacts", {"phone": ANA, "name": "Ana", "username": "ana"})
    [news] = await linked.take()
    assert news["person"] == {"phone": ANA, "lid": lid, "name": "Ana", "username": "ana"}
    await say(empty, content={"body": "Me"})
    assert [event["from"]["phone"] for event in await linked.take()] == [ANA]


async def test_a_changed_name_and_a_changed_number(empty: Driver, linked: Peer) -> None:
    await say(empty, content={"body": "Hi"})
    [first] = await linked.take()
    await empty.control("POST", f"phones/{PHONE}/contacts", {"phone": ANA, "name": "Ana B."})
    await empty.control("POST", f"phones/{PHONE}/contacts", {"phone": BEN, "old_phone": ANA})
    lid = first["from"]["lid"]
    assert [(e["person"], e.get("old_phone"), e["seq"]) for e in await linked.take()] == [
        ({"phone": ANA, "lid": lid, "name": "Ana B."}, None, 2),
        ({"phone": BEN, "lid": lid}, ANA, 3),
    ]
    await say(empty, **{"from": {"phone": BEN}}, content={"body": "Still me"})
    assert (await linked.take())[0]["from"] == {"phone": BEN, "lid": lid, "name": "Ana B."}
    await say(empty, **{"from": {"phone": ANA}}, content={"body": "I have her number now"})
    [stranger] = await linked.take()
    assert stranger["from"]["lid"] != lid
    assert stranger["from"]["name"] != "Ana B."


async def test_labels(empty: Driver, linked: Peer) -> None:
    for body in (
        {"id": "7", "action": "changed", "name": "VIP", "color": 3},
        {"id": "7", "action": "assigned", "person": ANA},
        {"id": "7", "action": "removed", "person": ANA},
        {"id": "7", "action": "deleted"},
    ):
        await empty.control("POST", f"phones/{PHONE}/labels", body)
    events = await linked.take()
    assert [event["action"] for event in events] == ["changed", "assigned", "removed", "deleted"]
    assert (events[0]["name"], events[0]["color"], events[0]["at"]) == ("VIP", 3, int(START))
    assert (events[1]["person"]["phone"], "person" in events[3]) == (ANA, False)
    assert (await empty.call("POST", f"/control/phones/{PHONE}/labels", {"id": "7", "action": "eaten"})).status == 400
