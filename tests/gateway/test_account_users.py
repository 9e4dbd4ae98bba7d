"""The people of an account, as an owner who is signed in invites, changes and removes them."""

import asyncio
from typing import Any

from gatepost.model import ids
from gatepost.store.account_log import list_entries
from gatepost.store.users import list_users
from tests.gateway.checks import check_refused
from tests.gateway.people import PASSWORD, SESSION, Person, new_person
from tests.running_gateway import Gateway

USERS = "/api/v1/account/users"
BEN: dict[str, Any] = {"email": "ben@example.com", "role": "agent"}


def path_of(person: Person) -> str:
    return f"{USERS}/{ids.format_id('usr', person.user.id)}"


async def actions(gateway: Gateway) -> list[str]:
    return [entry.action for entry in await list_entries(gateway.db, gateway.account_id, before=None, limit=100)]


async def test_a_person_is_invited_and_sets_a_password(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    answer = await owner.call("POST", USERS, BEN | {"name": "Ben"})
    assert answer.status == 201
    assert answer.headers["cache-control"] == "no-store"
    made = answer.json()["data"]
    assert (made["email"], made["purpose"]) == ("ben@example.com", "invitation")
    assert made["link"].startswith(gateway.url + "/link/")
    listed = (await owner.call("GET", USERS)).json()["data"]
    assert [(one["email"], one["role"], one["invited"]) for one in listed] == [
        (owner.user.email, "owner", False),
        ("ben@example.com", "agent", True),
    ]
    token = made["link"].rpartition("/")[2]
    used = await gateway.call("POST", f"/api/v1/one-time-links/{token}", {"password": PASSWORD}, key="")
    assert used.json()["data"]["user"]["name"] == "Ben"
    check_refused(await owner.call("POST", USERS, BEN), 409, "wrong_state", "email")
    reset = await owner.call("POST", f"{USERS}/{made['user']}/reset-link")
    assert reset.json()["data"]["purpose"] == "password_reset"
    assert {"user_created", "invitation_created", "invitation_accepted", "reset_link_created"} <= {
        *await actions(gateway)
    }
    async with gateway.db.connection() as conn:
        rows = await conn.fetch("SELECT t::text AS text FROM account_log t")
    assert not [row for row in rows if token in row["text"]]


async def test_inviting_is_done_once(gateway: Gateway) -> None:
    owner, once = await new_person(gateway), {"idempotency-key": "one"}
    answers = await asyncio.gather(*(owner.call("POST", USERS, BEN, headers=once) for _ in range(4)))
    links = {answer.json()["data"]["link"] for answer in answers if answer.status == 201}
    assert len(links) == 1
    again = await owner.call("POST", USERS, BEN, headers=once)
    assert {again.json()["data"]["link"]} == links
    assert len(await list_users(gateway.db, gateway.account_id)) == 2
    async with gateway.db.connection() as conn:
        (row,) = await conn.fetch("SELECT answer FROM idempotency_keys")
    assert links.pop().encode() not in row["answer"]


async def test_a_role_that_changes_and_a_person_who_is_removed(gateway: Gateway) -> None:
    owner, agent = await new_person(gateway), await new_person(gateway, "agent")
    changed = await owner.call("PATCH", path_of(agent), {"role": "reader"})
    assert changed.json()["data"]["role"] == "reader"
    assert (await agent.call("GET", SESSION)).json()["data"]["user"]["role"] == "reader"
    assert (await owner.call("DELETE", path_of(agent))).status == 200
    check_refused(await agent.call("GET", SESSION), 401, "session_ended")
    check_refused(await owner.call("DELETE", path_of(agent)), 404, "not_found")
    assert (await actions(gateway))[:2] == ["user_deleted", "role_changed"]


async def test_the_last_owner_stays(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    await owner.call("POST", USERS, BEN | {"role": "owner"})  # has no password yet, and so does not count
    check_refused(await owner.call("DELETE", path_of(owner)), 409, "last_owner")
    check_refused(await owner.call("PATCH", path_of(owner), {"role": "agent"}), 409, "last_owner")
    assert (await owner.call("PATCH", path_of(owner), {"role": "owner"})).status == 200


async def test_of_two_owners_who_leave_at_once_one_stays(gateway: Gateway) -> None:
    for _ in range(3):
        account_id = await gateway.new_account()
        people = [await new_person(gateway, account_id=account_id) for _ in range(2)]
        left = await asyncio.gather(
            people[0].call("PATCH", path_of(people[0]), {"role": "reader"}),
            people[1].call("DELETE", path_of(people[1])),
        )
        assert sorted(answer.status for answer in left) == [200, 409], [answer.body for answer in left]
        owners = [one for one in await list_users(gateway.db, account_id) if one.role == "owner"]
        assert len(owners) == 1


async def test_what_is_refused(gateway: Gateway) -> None:
    owner, agent = await new_person(gateway), await new_person(gateway, "agent")
    bodies: list[tuple[Any, str]] = [
        ({"role": "agent"}, "email"),
        (BEN | {"email": "ben"}, "email"),
        (BEN | {"email": "b" * 255}, "email"),
        (BEN | {"role": "admin"}, "role"),
        (BEN | {"name": "x" * 101}, "name"),
        (BEN | {"password": PASSWORD}, "password"),
    ]
    for body, field in bodies:
        check_refused(await owner.call("POST", USERS, body), 422, "invalid_field", field, body)
    check_refused(await owner.call("PATCH", path_of(agent), {"role": "admin"}), 422, "invalid_field", "role")
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    for method, path, body in (
        ("PATCH", path_of(agent), {"role": "owner"}),
        ("DELETE", path_of(agent), None),
        ("POST", path_of(agent) + "/reset-link", None),
    ):
        check_refused(await stranger.call(method, path, body), 404, "not_found", about=path)
        check_refused(await agent.call(method, path, body), 403, "missing_role", about=path)
    check_refused(await agent.call("POST", USERS, BEN), 403, "missing_role")
    assert len(await list_users(gateway.db, gateway.account_id)) == 2
