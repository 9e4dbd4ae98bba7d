"""Two-factor authentication: set-up, codes that are used once, recovery codes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pyotp
import pytest

from gatepost.admin.totp import remove_totp
from gatepost.store.account_log import list_entries
from gatepost.store.users import get_user
from tests.gateway.checks import check_refused, until
from tests.gateway.people import PASSWORD, SESSION, Person, new_person
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

TOTP = f"{SESSION}/totp"
NOW = datetime(2026, 11, 15, 10, 0, 10, tzinfo=UTC)


@pytest.fixture
async def gateway(database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway whose clock is moved by hand."""
    async with running_gateway(database_url, clock=MovableClock(NOW), role="api", security__key_cache_seconds=0) as one:
        yield one


def advance(gateway: Gateway, seconds: float) -> None:
    assert isinstance(gateway.clock, MovableClock)
    gateway.clock.advance(seconds)


async def set_up(person: Person) -> tuple[pyotp.TOTP, list[str]]:
    """Turn it on as a person with an app does; return the app and the recovery codes."""
    begun = await person.call("POST", TOTP, {"password": PASSWORD})
    assert begun.status == 200, begun.body
    app = pyotp.parse_uri(begun.json()["data"]["uri"])
    assert isinstance(app, pyotp.TOTP)
    assert app.secret == begun.json()["data"]["secret"]
    confirmed = await person.call("POST", f"{TOTP}/confirm", {"code": code_of(app, person.gateway)})
    assert confirmed.status == 200, confirmed.body
    assert confirmed.headers["cache-control"] == "no-store"
    codes: list[str] = confirmed.json()["data"]["recovery_codes"]
    return app, codes


def code_of(app: pyotp.TOTP, gateway: Gateway) -> str:
    return str(app.at(gateway.clock.now()))


async def test_signing_in_takes_a_code(gateway: Gateway) -> None:
    person = await new_person(gateway)
    app, codes = await set_up(person)
    assert len(codes) == len(set(codes)) == 10
    assert (await person.call("GET", SESSION)).json()["data"]["user"]["totp"] is True
    check_refused(await person.sign_in(), 401, "code_required")
    check_refused(await person.sign_in("wrong horse battery"), 401, "invalid_credentials")
    check_refused(await person.sign_in(code="000000"), 401, "invalid_code")
    used = code_of(app, gateway)
    check_refused(await person.sign_in(code=used), 401, "invalid_code")  # it confirmed the set-up
    advance(gateway, 30)
    fresh = code_of(app, gateway)
    assert (await person.sign_in(code=f" {fresh[:3]} {fresh[3:]}")).status == 201
    check_refused(await person.sign_in(code=fresh), 401, "invalid_code")
    check_refused(await person.sign_in(code=used), 401, "invalid_code")  # still in the window, and older
    actions = [entry.action for entry in await list_entries(gateway.db, gateway.account_id, before=None, limit=20)]
    assert "totp_enabled" in actions
    assert "sign_in_failed" in actions


async def test_recovery_codes_are_used_once(gateway: Gateway) -> None:
    person = await new_person(gateway)
    _, codes = await set_up(person)
    assert (await person.sign_in(code=codes[0].upper().replace("-", " "))).status == 201
    check_refused(await person.sign_in(code=codes[0]), 401, "invalid_code")
    assert (await person.sign_in(code=codes[1])).status == 201
    replaced = await person.call("POST", f"{TOTP}/recovery-codes", {"password": PASSWORD})
    new = replaced.json()["data"]["recovery_codes"]
    assert len({*new, *codes}) == 20
    check_refused(await person.sign_in(code=codes[2]), 401, "invalid_code")
    assert (await person.sign_in(code=new[0])).status == 201


async def test_two_tries_with_one_code_at_once(gateway: Gateway) -> None:
    person = await new_person(gateway)
    app, codes = await set_up(person)
    advance(gateway, 60)
    for code in (code_of(app, gateway), codes[3]):
        answers = await asyncio.gather(*(Person(gateway, person.user).sign_in(code=code) for _ in range(3)))
        assert sorted(answer.status for answer in answers) == [201, 401, 401]
        advance(gateway, 60)


async def test_nothing_is_stored_in_plain(gateway: Gateway) -> None:
    person = await new_person(gateway)
    app, codes = await set_up(person)
    stored = await get_user(gateway.db, person.user.id)
    assert stored is not None
    assert stored.totp_secret is not None
    assert app.byte_secret() not in stored.totp_secret
    hashes = await gateway.db.fetchval("SELECT recovery_codes FROM users WHERE id = $1", person.user.id)
    assert len(hashes) == 10
    assert not {code.replace("-", "").encode() for code in codes} & set(hashes)


async def test_set_up_needs_the_password_and_the_right_order(gateway: Gateway) -> None:
    person = await new_person(gateway)
    wrong: Any = {"password": "wrong horse battery"}
    check_refused(await person.call("POST", TOTP, wrong), 401, "invalid_credentials")
    check_refused(await person.call("POST", f"{TOTP}/confirm", {"code": "123456"}), 409, "wrong_state")
    check_refused(await person.call("DELETE", TOTP, {"password": PASSWORD}), 409, "wrong_state")
    codes = f"{TOTP}/recovery-codes"
    check_refused(await person.call("POST", codes, {"password": PASSWORD}), 409, "wrong_state")
    await person.call("POST", TOTP, {"password": PASSWORD})
    check_refused(await person.call("POST", f"{TOTP}/confirm", {"code": "000000"}), 401, "invalid_code")
    assert (await person.sign_in()).status == 201, "it is not on before it is confirmed"
    advance(gateway, 60)
    await set_up(person)
    check_refused(await person.call("POST", TOTP, {"password": PASSWORD}), 409, "wrong_state")
    for method, path in (("DELETE", TOTP), ("POST", codes)):
        check_refused(await person.call(method, path, wrong), 401, "invalid_credentials")


async def test_turning_it_off(gateway: Gateway) -> None:
    person = await new_person(gateway)
    await set_up(person)
    assert (await person.call("DELETE", TOTP, {"password": PASSWORD})).status == 200
    assert (await person.sign_in()).status == 201
    advance(gateway, 60)
    await set_up(person)
    stored = await get_user(gateway.db, person.user.id)
    assert stored is not None
    await remove_totp(gateway.db, stored, now=gateway.clock.now())
    assert (await person.sign_in()).status == 201
    entries = await list_entries(gateway.db, gateway.account_id, before=None, limit=20)
    actors = [entry.actor.kind for entry in entries if entry.action == "totp_disabled"]
    assert actors == ["operator", "user"]


async def test_a_wrong_code_counts_as_a_failed_try_and_a_missing_one_does_not(gateway: Gateway) -> None:
    person = await new_person(gateway)
    await set_up(person)
    for _ in range(7):
        check_refused(await person.sign_in(), 401, "code_required")
    for _ in range(5):
        check_refused(await person.sign_in(code="000000"), 401, "invalid_code")
    check_refused(await person.sign_in(code="000000"), 429, "rate_limited")

    async def logged() -> bool:
        entries = await list_entries(gateway.db, gateway.account_id, before=None, limit=50)
        return [entry.details.get("reason") for entry in entries].count("code") == 5

    await until(logged)
