"""Passwords that people change, and one-time links with which they set one."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from gatepost.admin.one_time_links import create_reset_link, invite_user
from gatepost.model.account_log import OPERATOR
from gatepost.store.account_log import list_entries
from gatepost.store.users import get_user
from tests.gateway.checks import check_refused
from tests.gateway.people import PASSWORD, SESSION, Person, new_person
from tests.gateway.test_two_factor import set_up
from tests.movable_clock import MovableClock
from tests.patience import patience
from tests.running_gateway import Answer, Gateway, running_gateway
from tests.store.test_sessions import WAITING

LINKS = "/api/v1/one-time-links"
NEW = "staple of the new horse"
NOW = datetime(2026, 11, 15, 10, 0, 10, tzinfo=UTC)
DAY = 86_400


@pytest.fixture
async def gateway(database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway whose clock is moved by hand."""
    async with running_gateway(database_url, clock=MovableClock(NOW), role="api", security__key_cache_seconds=0) as one:
        yield one


def advance(gateway: Gateway, seconds: float) -> None:
    assert isinstance(gateway.clock, MovableClock)
    gateway.clock.advance(seconds)


async def change(person: Person, current: str, new: str) -> Answer:
    body = {"current_password": current, "new_password": new}
    return person.keep(await person.call("PUT", f"{SESSION}/password", body))


async def use(gateway: Gateway, token: str, password: str = NEW, name: str | None = None) -> Answer:
    body = {"password": password} | ({"name": name} if name else {})
    return await gateway.call("POST", f"{LINKS}/{token}", body, key="", headers={"origin": gateway.url})


async def actions(gateway: Gateway) -> list[str]:
    return [entry.action for entry in await list_entries(gateway.db, gateway.account_id, before=None, limit=100)]


async def test_a_person_changes_the_password(gateway: Gateway) -> None:
    person = await new_person(gateway)
    phone = Person(gateway, person.user)
    await phone.sign_in()
    before = (person.cookie, person.csrf)
    check_refused(await change(person, "wrong horse battery", NEW), 401, "invalid_credentials")
    check_refused(await change(person, PASSWORD, "short"), 422, "invalid_field", "new_password")
    changed = await change(person, PASSWORD, NEW)
    assert changed.status == 200, changed.body
    assert person.cookie != before[0]
    assert person.csrf != before[1]
    assert (await person.call("GET", SESSION)).status == 200
    check_refused(await phone.call("GET", SESSION), 401, "session_ended")
    old = Person(gateway, person.user, *before)
    check_refused(await old.call("GET", SESSION), 401, "session_ended")
    check_refused(await person.sign_in(), 401, "invalid_credentials")
    assert (await person.sign_in(NEW)).status == 201
    assert "password_changed" in await actions(gateway)


async def test_a_reset_link(gateway: Gateway) -> None:
    person = await new_person(gateway)
    link = await create_reset_link(gateway.db, gateway.account_id, person.user.id, now=gateway.clock.now())
    assert link.url("https://gw.example.com/") == f"https://gw.example.com/link/{link.token}"
    for _ in range(2):  # looking does not use it up
        shown = await gateway.call("GET", f"{LINKS}/{link.token}", key="")
        assert shown.json()["data"] == {
            "purpose": "password_reset",
            "email": person.user.email,
            "account_name": "Test",
            "role": "owner",
            "expires_at": "2026-11-16T10:00:10.000Z",
        }
    check_refused(await use(gateway, link.token, "short"), 422, "invalid_field", "password")
    used = await use(gateway, link.token)
    assert used.status == 201, used.body
    check_refused(await person.call("GET", SESSION), 401, "session_ended")
    person.keep(used)
    assert (await person.call("GET", SESSION)).status == 200
    check_refused(await person.sign_in(), 401, "invalid_credentials")
    for answer in (await use(gateway, link.token), await gateway.call("GET", f"{LINKS}/{link.token}", key="")):
        check_refused(answer, 404, "link_not_valid")
    assert {"signed_in", "reset_link_used", "reset_link_created"} <= set(await actions(gateway))


async def test_links_end_and_replace_each_other(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False)

    async def new_link() -> str:
        made = await create_reset_link(gateway.db, gateway.account_id, person.user.id, now=gateway.clock.now())
        return made.token

    first, second = await new_link(), await new_link()
    check_refused(await use(gateway, first), 404, "link_not_valid")
    advance(gateway, DAY - 1)
    assert (await gateway.call("GET", f"{LINKS}/{second}", key="")).status == 200
    advance(gateway, 1)
    check_refused(await use(gateway, second), 404, "link_not_valid")
    third = await new_link()
    await person.sign_in()
    assert (await change(person, PASSWORD, NEW)).status == 200
    check_refused(await use(gateway, third), 404, "link_not_valid")
    for wrong in ("x", "x" * 43, "x" * 200):
        check_refused(await gateway.call("GET", f"{LINKS}/{wrong}", key=""), 404, "link_not_valid")


async def test_an_invitation(gateway: Gateway) -> None:
    link = await invite_user(
        gateway.db, gateway.account_id, "bo@example.com", role="agent", actor=OPERATOR, now=gateway.clock.now()
    )
    body = {"email": "bo@example.com", "password": ""}
    check_refused(await gateway.call("POST", SESSION, body, key=""), 401, "invalid_credentials")
    advance(gateway, 7 * DAY - 1)
    used = await use(gateway, link.token, name="Bo")
    assert used.status == 201, used.body
    user = used.json()["data"]["user"]
    assert (user["name"], user["role"]) == ("Bo", "agent")
    assert "invitation_accepted" in await actions(gateway)


async def while_changed(gateway: Gateway, person: Person, values: str, request: Coroutine[Any, Any, Answer]) -> Answer:
    """Send a request that finds the user as before, and has to wait while another one changes the user."""
    async with gateway.db.transaction() as other:
        await other.execute(f"UPDATE users SET {values} WHERE id = $1", person.user.id)
        task = asyncio.create_task(request)
        async with patience(lambda: "the request waits for no lock"):
            while not await gateway.db.fetchval(WAITING):
                assert not task.done()
                await asyncio.sleep(0.01)
    return await task


async def test_a_link_signs_nobody_in_who_turns_two_factor_authentication_on_meanwhile(gateway: Gateway) -> None:
    person = await new_person(gateway)
    link = await create_reset_link(gateway.db, gateway.account_id, person.user.id, now=gateway.clock.now())
    used = await while_changed(gateway, person, "totp_active = true", use(gateway, link.token))
    assert (used.status, used.json()["data"]) == (200, None)
    assert "set-cookie" not in used.headers
    check_refused(await person.sign_in(NEW), 401, "code_required")


async def test_a_change_of_the_password_does_not_replace_one_that_was_set_meanwhile(gateway: Gateway) -> None:
    person, other = await new_person(gateway), await new_person(gateway)
    values = f"password_hash = (SELECT password_hash FROM users WHERE id = '{other.user.id}')"
    answer = await while_changed(gateway, person, values, change(person, PASSWORD, NEW))
    check_refused(answer, 401, "invalid_credentials")
    assert "at the same time" in answer.json()["message"]
    check_refused(await person.sign_in(NEW), 401, "invalid_credentials")
    assert (await person.sign_in()).status == 201  # the other one has the same password
    assert "password_changed" not in await actions(gateway)


async def test_two_factor_authentication_survives_a_reset(gateway: Gateway) -> None:
    person = await new_person(gateway)
    await set_up(person)
    link = await create_reset_link(gateway.db, gateway.account_id, person.user.id, now=gateway.clock.now())
    used = await use(gateway, link.token)
    assert (used.status, used.json()["data"]) == (200, None)
    assert "set-cookie" not in used.headers
    check_refused(await person.sign_in(NEW), 401, "code_required")


async def test_a_link_is_used_by_a_page_of_the_gateway(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False)
    link = await create_reset_link(gateway.db, gateway.account_id, person.user.id, now=gateway.clock.now())
    headers = {"origin": "https://evil.example.com"}
    answer = await gateway.call("POST", f"{LINKS}/{link.token}", {"password": NEW}, key="", headers=headers)
    check_refused(answer, 403, "wrong_origin")
    stored = await get_user(gateway.db, person.user.id)
    assert stored == person.user


async def test_the_token_is_in_no_log_even_of_a_fault(gateway: Gateway) -> None:
    link = await invite_user(gateway.db, gateway.account_id, "ben@example.com", role="agent", actor=OPERATOR, now=NOW)
    await gateway.db.execute("ALTER TABLE one_time_links RENAME TO elsewhere")
    with capture_logs() as lines:
        for answer in (await gateway.call("GET", f"{LINKS}/{link.token}", key=""), await use(gateway, link.token)):
            check_refused(answer, 500, "internal_error")
    failed = [line for line in lines if line["event"] == "request failed"]
    assert [line["path"] for line in failed] == [f"{LINKS}/…"] * 2
    written = "".join(f"{line} {format_exc_info(None, '', dict(line))}" for line in lines)
    assert 'relation "one_time_links" does not exist' in written
    assert link.token not in written
