"""Keys of a channel, as an owner who is signed in creates, rotates and revokes them."""

import asyncio
from datetime import timedelta
from typing import Any

from gatepost.model import ids, times
from gatepost.store.account_log import list_entries
from tests.gateway.checks import check_refused, until
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway

CHANNEL = "/api/v1/channel"


def keys_of(channel: str) -> str:
    return f"/api/v1/account/channels/{channel}/keys"


async def create(person: Person, **fields: Any) -> Any:
    answer = await person.call("POST", keys_of(person.gateway.channel), {"name": "Shop"} | fields)
    assert answer.status == 201, answer.body
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()["data"]


async def actions(gateway: Gateway) -> list[str]:
    entries = await list_entries(gateway.db, gateway.account_id, before=None, limit=100)
    return [entry.action for entry in entries if entry.action.startswith("key_")]


async def test_a_key_for_an_assistant_with_more_than_that_has_a_warning(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    for scopes, warned in ((["mcp"], False), (["send", "read"], False), (["mcp", "send", "read"], True)):
        made = await create(owner, scopes=scopes)
        assert (made["warning"] is not None) == warned, scopes
    assert made["warning"].startswith("Besides mcp, this key has send, read. ")
    listed = (await owner.call("GET", keys_of(gateway.channel))).json()["data"]
    assert [key["warning"] for key in listed][1:] == [None, None, made["warning"]]


async def test_a_key_is_made_used_rotated_and_revoked(gateway: Gateway) -> None:
    owner, path = await new_person(gateway), keys_of(gateway.channel)
    made = await create(owner, scopes=["read"])
    assert made["scopes"] == ["read"]
    assert made["created_by"] == owner.user.email
    assert made["key"].startswith(made["hint"])
    assert (await gateway.call("GET", CHANNEL, key=made["key"])).status == 200
    rotated = await owner.call("POST", f"{path}/{made['id']}/rotate", {"overlap": 3600})
    assert rotated.status == 201
    new = rotated.json()["data"]
    assert (new["name"], new["scopes"]) == ("Shop", ["read"])
    for key in (made["key"], new["key"]):
        assert (await gateway.call("GET", CHANNEL, key=key)).status == 200
    revoked = await owner.call("DELETE", f"{path}/{new['id']}")
    assert revoked.json()["data"]["revoked_at"] is not None

    async def ended() -> bool:
        return (await gateway.call("GET", CHANNEL, key=new["key"])).status == 401

    await until(ended)
    again = await owner.call("DELETE", f"{path}/{new['id']}")
    assert again.json()["data"]["revoked_at"] == revoked.json()["data"]["revoked_at"]
    check_refused(await owner.call("POST", f"{path}/{new['id']}/rotate", {}), 409, "wrong_state")
    assert await actions(gateway) == ["key_revoked", "key_rotated", "key_created", "key_created"]
    listed = await (await new_person(gateway, "reader")).call("GET", path)
    assert [key["id"] for key in listed.json()["data"]][1:] == [made["id"], new["id"]]
    assert listed.json()["data"][0]["created_by"] == "operator"
    assert b'"key":' not in listed.body


async def test_the_log_has_no_key(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    made = await create(owner)
    async with gateway.db.connection() as conn:
        rows = await conn.fetch("SELECT t::text AS text FROM account_log t")
        kept = await conn.fetch("SELECT t::text AS text FROM idempotency_keys t")
    assert rows
    assert not [row for row in [*rows, *kept] if made["key"][len(made["hint"]) :] in row["text"]]


async def test_creating_is_done_once(gateway: Gateway) -> None:
    owner, path = await new_person(gateway), keys_of(gateway.channel)
    once = {"idempotency-key": "one"}
    answers = await asyncio.gather(*(owner.call("POST", path, {"name": "Shop"}, headers=once) for _ in range(4)))
    assert {answer.status for answer in answers} <= {201, 409}
    texts = {answer.json()["data"]["key"] for answer in answers if answer.status == 201}
    assert len(texts) == 1
    again = await owner.call("POST", path, {"name": "Shop"}, headers=once)
    assert again.headers["idempotent-replayed"] == "true"
    assert {again.json()["data"]["key"]} == texts
    other = await owner.call("POST", path, {"name": "Other"}, headers=once)
    check_refused(other, 422, "idempotency_key_reused")
    assert await actions(gateway) == ["key_created", "key_created"]
    async with gateway.db.connection() as conn:
        rows = await conn.fetch("SELECT answer FROM idempotency_keys")
    assert not [row for row in rows if texts.copy().pop().encode() in row["answer"]]
    key_id = again.json()["data"]["id"]
    rotations = [await owner.call("POST", f"{path}/{key_id}/rotate", {"overlap": 0}, headers=once) for _ in range(2)]
    assert rotations[0].json() == rotations[1].json()


async def test_a_key_that_expires(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    at = times.format_time(gateway.clock.now() + timedelta(days=1))
    assert (await create(owner, expires_at=at))["expires_at"] == at


async def test_bodies_that_are_refused(gateway: Gateway) -> None:
    owner, path = await new_person(gateway), keys_of(gateway.channel)
    bodies: list[tuple[Any, str]] = [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "Shop", "scopes": []}, "scopes"),
        ({"name": "Shop", "scopes": ["all"]}, "scopes"),
        ({"name": "Shop", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"name": "Shop", "expires_at": "2040-01-01T00:00:00"}, "expires_at"),
        ({"name": "Shop", "expires_at": "9999-12-31T23:59:59-01:00"}, "expires_at"),
        ({"name": "Shop", "other": 1}, "other"),
    ]
    for body, field in bodies:
        check_refused(await owner.call("POST", path, body), 422, "invalid_field", field, body)
    rotate = f"{path}/{(await create(owner))['id']}/rotate"
    for overlap in (-1, 30 * 86_400 + 1, "1h"):
        check_refused(await owner.call("POST", rotate, {"overlap": overlap}), 422, "invalid_field", "overlap", overlap)


async def test_keys_of_another_account_and_of_another_channel(gateway: Gateway) -> None:
    owner, agent = await new_person(gateway), await new_person(gateway, "agent")
    made = await create(owner)
    second = await gateway.new_qr_channel(gateway.account_id)
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    for person, channel in ((stranger, gateway.channel), (owner, ids.format_id("ch", second.id))):
        path = f"{keys_of(channel)}/{made['id']}"
        check_refused(await person.call("DELETE", path), 404, "not_found")
        check_refused(await person.call("POST", path + "/rotate", {}), 404, "not_found")
    for method, path, body in (
        ("POST", keys_of(gateway.channel), {"name": "Shop"}),
        ("DELETE", f"{keys_of(gateway.channel)}/{made['id']}", None),
    ):
        check_refused(await agent.call(method, path, body), 403, "missing_role")
    check_refused(await stranger.call("GET", keys_of(gateway.channel)), 404, "not_found")
    assert (await gateway.call("GET", CHANNEL, key=made["key"])).status == 200
