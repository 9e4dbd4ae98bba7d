"""The account of a person who is signed in: what it has, its channels, and the log of who did what."""

from typing import Any

from gatepost.admin import accounts
from gatepost.model import ids
from gatepost.model.account import API_ACCESS
from tests.gateway.checks import check_refused, until
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway

ACCOUNT = "/api/v1/account"
CHANNELS, LOG = ACCOUNT + "/channels", ACCOUNT + "/log"


async def read(person: Person, path: str) -> Any:
    answer = await person.call("GET", path)
    assert answer.status == 200, answer.body
    return answer.json()["data"]


async def test_the_plan_and_what_is_used_of_it(gateway: Gateway) -> None:
    person = await new_person(gateway, "reader")
    await gateway.send(phone="5511999998888", body="Hello")
    found = await read(person, ACCOUNT)
    assert found["id"] == ids.format_id("acc", gateway.account_id)
    assert (found["name"], found["suspended"], found["addons"], found["api_access"]) == ("Test", False, [], False)
    assert found["plan"]["name"] == "unlimited"
    assert found["plan"]["used"] == 1
    assert found["storage"]["used"] == 0
    assert found["trial"]["active"] is True
    await accounts.add_addon(gateway.db, gateway.account_id, API_ACCESS, gateway.clock.now())
    assert (await read(person, ACCOUNT))["api_access"] is True


async def test_only_the_account_answers_while_it_is_suspended(gateway: Gateway) -> None:
    person = await new_person(gateway)
    await accounts.set_suspended(gateway.db, gateway.account_id, True)

    async def suspended() -> bool:
        return bool((await read(person, ACCOUNT))["suspended"])

    await until(suspended)
    for path in (CHANNELS, LOG, f"{CHANNELS}/{gateway.channel}", f"{CHANNELS}/{gateway.channel}/keys"):
        check_refused(await person.call("GET", path), 402, "account_suspended", about=path)


async def test_channels_with_their_state_and_headroom(gateway: Gateway) -> None:
    person = await new_person(gateway, "reader")
    linked = await gateway.new_qr_channel(gateway.account_id)
    stranger = await gateway.new_channel(await gateway.new_account(), "15550002222", "100000000000002")
    official, qr = await read(person, CHANNELS)
    assert (official["id"], qr["id"]) == (gateway.channel, ids.format_id("ch", linked.id))
    assert official["kind"] == "official"
    assert official["connection"] == "connected"
    assert official["throughput"] == {"limit": 1000, "used": 0, "free": 1000}
    assert official["tier"]["limit"] is None
    assert official["unread"] == 0
    assert "link" not in official
    assert (qr["kind"], qr["connection"]) == ("qr", "disconnected")
    assert "No phone is linked" in qr["reason"]
    assert qr["link"] == {"wanted": False, "linked_at": None, "qr_until": None, "locked_until": None}
    missing = f"{CHANNELS}/{ids.format_id('ch', stranger.id)}"
    check_refused(await person.call("GET", missing), 404, "not_found")
    check_refused(await person.call("GET", f"{CHANNELS}/nonsense"), 404, "not_found")


async def test_unread_conversations_are_counted(gateway: Gateway) -> None:
    person = await new_person(gateway, "reader")
    for phone in ("5511999990001", "5511999990002"):
        for _ in range(2):
            said = {"from": phone, "type": "text", "text": {"body": "Hello"}}
            await gateway.sandbox("POST", "/control/numbers/100000000000001/incoming", said)

    async def both() -> bool:
        return bool((await read(person, CHANNELS))[0]["unread"] == 2)

    await until(both)


async def test_only_an_owner_sees_the_verify_token(gateway: Gateway) -> None:
    owner, agent = await new_person(gateway), await new_person(gateway, "agent")
    answer = await owner.call("GET", f"{CHANNELS}/{gateway.channel}")
    found = answer.json()["data"]
    assert found["callback_url"] == f"{gateway.url}/callbacks/cloud/{gateway.channel}"
    assert found["verify_token"] == "verify"
    assert answer.headers["cache-control"] == "no-store"
    assert b"app-secret" not in answer.body
    hidden = await agent.call("GET", f"{CHANNELS}/{gateway.channel}")
    assert b"verify" not in hidden.body
    assert hidden.json()["data"]["name"] == "Test"


async def test_the_log_by_actor_action_and_time(gateway: Gateway) -> None:
    owner, other = await new_person(gateway), await new_person(gateway)
    path = f"{CHANNELS}/{gateway.channel}/keys"
    for person in (owner, other, owner):
        assert (await person.call("POST", path, {"name": "Shop"})).status == 201
    everything = await read(owner, LOG + "?limit=100")
    assert [entry["id"] for entry in everything] == sorted((entry["id"] for entry in everything), reverse=True)
    me = ids.format_id("usr", owner.user.id)
    mine = await read(owner, f"{LOG}?actor={me}&action=key_created")
    assert [entry["actor"] for entry in mine] == [{"kind": "user", "id": me, "label": owner.user.email}] * 2
    assert mine[0]["details"] == {"name": "Shop", "channel": gateway.channel, "scopes": ["send", "read", "manage"]}
    assert {entry["actor"]["label"] for entry in await read(owner, LOG + "?actor=operator")} == {"operator"}
    assert len(await read(owner, LOG + "?action=key_created")) == 4
    first = await owner.call("GET", LOG + "?action=key_created&limit=3")
    second = await owner.call("GET", f"{LOG}?action=key_created&limit=3&cursor={first.json()['paging']['next']}")
    assert [len(page.json()["data"]) for page in (first, second)] == [3, 1]
    assert second.json()["paging"]["next"] is None
    at = mine[0]["at"]
    assert mine[0] not in await read(owner, f"{LOG}?to={at}")
    assert mine[0] in await read(owner, f"{LOG}?from={at}")
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    assert len(await read(stranger, LOG)) == 2  # that they were created, and signed in


async def test_the_checklist_follows_what_is_done(gateway: Gateway) -> None:
    account = await gateway.new_account()
    person, path = await new_person(gateway, "reader", account_id=account), ACCOUNT + "/checklist"
    nothing = {"channel_connected": False, "message_sent": False, "webhook_added": False}
    await gateway.new_qr_channel(account)
    assert await read(person, path) == nothing
    channel = await gateway.new_channel(account, "15550002222", "100000000000002")
    assert await read(person, path) == nothing | {"channel_connected": True}
    key = await gateway.new_key(channel.id)
    await gateway.call("POST", "/api/v1/message/send", {"phone": "5511999998888", "body": "Hello"}, key=key)
    await gateway.call("POST", "/api/v1/webhooks", {"url": "http://127.0.0.1:8999/hooks"}, key=key)
    assert set((await read(person, path)).values()) == {True}


async def test_queries_of_the_log_that_are_refused(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    for query in ("actor=nobody", "from=yesterday", "limit=0", "tz=Moon", "action=%00"):
        field = query.partition("=")[0]
        check_refused(await owner.call("GET", f"{LOG}?{query}"), 422, "invalid_field", field, query)
    check_refused(await owner.call("GET", f"{LOG}?cursor=x"), 400, "invalid_cursor")
    for role in ("agent", "reader"):
        person = await new_person(gateway, role)
        check_refused(await person.call("GET", LOG), 403, "missing_role")


async def test_a_channel_is_changed_and_deleted(gateway: Gateway) -> None:
    owner, path = await new_person(gateway), f"{CHANNELS}/{gateway.channel}"
    changed = await owner.call("PATCH", path, {"name": "The bakery", "limits": {"throughput": 20}})
    assert changed.status == 200, changed.body
    found = await read(owner, path)
    assert (found["name"], found["limits"]["throughput"], found["limits"]["tier"]) == ("The bakery", 20, 0)
    bodies: list[tuple[Any, str]] = [
        ({"name": ""}, "name"),
        ({"limits": {"throughput": 0}}, "throughput"),
        ({"limits": {"speed": 1}}, "speed"),
        ({"phone": "1"}, "phone"),
    ]
    for body, field in bodies:
        check_refused(await owner.call("PATCH", path, body), 422, "invalid_field", field, body)
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    agent = await new_person(gateway, "agent")
    for method, body in (("PATCH", {"name": "Mine"}), ("DELETE", None)):
        check_refused(await stranger.call(method, path, body), 404, "not_found")
        check_refused(await agent.call(method, path, body), 403, "missing_role")
    assert (await owner.call("DELETE", path)).status == 200
    check_refused(await owner.call("DELETE", path), 404, "not_found")
    assert await read(owner, CHANNELS) == []
    entries = await read(owner, f"{LOG}?actor={ids.format_id('usr', owner.user.id)}")
    assert [entry["action"] for entry in entries][:2] == ["channel_deleted", "channel_changed"]
    assert entries[1]["details"] == {"name": "The bakery", "limits": {"throughput": 20}}
