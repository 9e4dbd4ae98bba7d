"""Sessions: signing in and out, cookies, and what ends a session."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gatepost.admin import accounts, sign_in, users
from gatepost.model import ids, times
from gatepost.model.account import API_ACCESS
from gatepost.model.session import token_hash
from gatepost.store.account_log import list_entries
from gatepost.store.sessions import find_session, list_sessions
from tests.for_each import for_each
from tests.gateway.checks import SEND, TEXT, check_refused, until
from tests.gateway.people import PASSWORD, SESSION, Person, new_person, post_session
from tests.movable_clock import MovableClock
from tests.running_gateway import Answer, Gateway, running_gateway

CHANNEL, CONTACTS = "/api/v1/channel", "/api/v1/contacts"
HOUR, DAY = 3600, 86_400
START = datetime(2030, 5, 10, 12, 0, tzinfo=UTC)


async def actions(gateway: Gateway) -> list[str]:
    return [entry.action for entry in await list_entries(gateway.db, gateway.account_id, before=None, limit=100)]


def token_of(person: Person) -> str:
    return person.cookie.partition("=")[2]


async def test_a_person_signs_in_and_out(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False)
    answer = await person.sign_in()
    assert answer.status == 201
    assert answer.headers["cache-control"] == "no-store"
    session = answer.json()["data"]
    assert session["user"] == {
        "id": ids.format_id("usr", person.user.id),
        "email": person.user.email,
        "name": "",
        "role": "owner",
        "totp": False,
    }
    assert session["account"]["id"] == ids.format_id("acc", gateway.account_id)
    assert session["account"] | {"id": "", "trial_ends_at": ""} == {
        "id": "",
        "name": "Test",
        "plan": "unlimited",
        "suspended": False,
        "trial_ends_at": "",
        "api_access": False,
    }
    assert session["scopes"] == ["send", "read", "manage"]
    again = await person.call("GET", SESSION)
    assert again.status == 200
    ends = {"idle_expires_at": "", "now": ""}  # each use moves it
    assert again.json()["data"] | ends == session | ends
    assert again.headers["cache-control"] == "no-store"
    assert "ratelimit" in again.headers
    out = await person.call("DELETE", SESSION)
    assert out.json()["data"] == {"ended": 1}
    assert out.headers["set-cookie"].startswith("gatepost_session=; Max-Age=0; Path=/; HttpOnly")
    check_refused(await person.call("GET", SESSION), 401, "session_ended")
    assert await actions(gateway) == ["signed_in", "user_created", "key_created", "channel_created"]


async def test_only_the_hash_of_a_token_is_stored(gateway: Gateway) -> None:
    person = await new_person(gateway)
    token = token_of(person)
    assert len(token) == 43
    async with gateway.db.connection() as conn:
        (row,) = await conn.fetch("SELECT * FROM sessions")
    assert row["hash"] == token_hash(token)
    assert token not in str(dict(row))
    assert person.csrf not in (token, "")
    assert row["address"] == "127.0.0.1"


async def test_a_cookie_that_was_given_is_never_adopted(gateway: Gateway) -> None:
    fixed = "f" * 43
    person = await new_person(gateway, signed_in=False)
    answer = await person.sign_in(cookie=f"gatepost_session={fixed}")
    assert answer.status == 201
    assert token_of(person) != fixed
    stranger = Person(gateway, person.user, f"gatepost_session={fixed}")
    check_refused(await stranger.call("GET", SESSION), 401, "session_ended")
    first = person.cookie
    await person.sign_in(cookie=first)
    assert person.cookie != first
    assert await find_session(gateway.db, token_hash(first.partition("=")[2])) is None, "it was replaced"
    assert len(await list_sessions(gateway.db, person.user.id, gateway.clock.now())) == 1


async def test_the_flags_of_the_cookie(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock) as gateway:
        person = await new_person(gateway, signed_in=False)
        plain = (await person.sign_in()).headers["set-cookie"]
        assert plain.split("; ")[1:] == ["Max-Age=2592000", "Path=/", "HttpOnly", "SameSite=Lax"]
        assert plain.startswith("gatepost_session=")
        email = person.user.email
    public = "https://Gateway.example.com:443/"
    async with running_gateway(database_url, clock=clock, server__public_url=public) as gateway:
        origin = {"origin": "https://gateway.example.com"}
        answer = await post_session(gateway, {"email": email, "password": PASSWORD}, origin)
        secure = answer.headers["set-cookie"]
        assert secure.split("; ")[1:] == ["Max-Age=2592000", "Path=/", "HttpOnly", "SameSite=Lax", "Secure"]
        assert secure.startswith("__Host-gatepost_session=")
        token = secure.partition(";")[0].partition("=")[2]
        for name, status in (("__Host-gatepost_session", 200), ("gatepost_session", 401)):
            found = await gateway.call("GET", SESSION, key="", headers={"cookie": f"{name}={token}"})
            assert found.status == status, name
        local = await post_session(gateway, {"email": email, "password": PASSWORD})
        check_refused(local, 403, "wrong_origin")
        assert "https://gateway.example.com" in local.json()["message"]


async def test_unknown_and_wrong_get_the_same_words(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False)
    wrong = await post_session(gateway, {"email": person.user.email, "password": "wrong horse battery"})
    unknown = await post_session(gateway, {"email": "nobody@example.com", "password": PASSWORD})
    for answer in (wrong, unknown):
        error = check_refused(answer, 401, "invalid_credentials")
        error["request_id"] = ""
        assert "set-cookie" not in answer.headers
    bodies = [answer.json() | {"error": answer.json()["error"] | {"request_id": ""}} for answer in (wrong, unknown)]
    assert bodies[0] == bodies[1]

    async def logged() -> bool:
        return (await actions(gateway))[0] == "sign_in_failed"

    await until(logged)


@for_each(
    ("body", "field"),
    [
        ({"email": "a@example.com"}, "password"),
        ({"email": "a@example.com", "password": "x" * 201}, "password"),
        ({"email": "a" * 255, "password": PASSWORD}, "email"),
        ({"email": "a@example.com", "password": PASSWORD, "code": "1" * 41}, "code"),
        ({"email": "a@example.com", "password": PASSWORD, "remember": True}, "remember"),
    ],
)
async def test_bodies_that_are_refused(gateway: Gateway, body: Any, field: str) -> None:
    check_refused(await post_session(gateway, body), 422, "invalid_field", field)


async def test_signing_in_from_another_site(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False)
    for origin in ("https://evil.example.com", "null", gateway.url.replace("http", "https"), gateway.url + "0"):
        check_refused(await person.sign_in(origin=origin), 403, "wrong_origin", about=origin)
    without = await gateway.call("POST", SESSION, {"email": person.user.email, "password": PASSWORD}, key="")
    assert without.status == 201, "programs send no Origin"


async def test_both_credentials_and_the_wrong_one(gateway: Gateway) -> None:
    person = await new_person(gateway)
    bearer = {"authorization": f"Bearer {gateway.key}"}
    for method, path, body in (("GET", CHANNEL, None), ("POST", SEND, TEXT), ("GET", SESSION, None)):
        check_refused(await person.call(method, path, body, headers=bearer), 400, "two_credentials", about=path)
    check_refused(await gateway.call("GET", SESSION), 403, "session_required")
    proxied = await person.call("GET", SESSION, headers={"authorization": "Basic YTpi"})
    assert proxied.status == 200, "the Authorization of a proxy in front is none of ours"


async def test_a_session_names_its_channel(gateway: Gateway) -> None:
    person = await new_person(gateway)
    assert (await person.call("GET", CHANNEL)).json()["data"]["id"] == gateway.channel
    assert (await person.call("POST", SEND, TEXT)).status == 200
    theirs = await gateway.new_channel(await gateway.new_account(), "15550002222", "100000000000002")
    for method, path, body in (("GET", CHANNEL, None), ("POST", SEND, TEXT)):
        none: dict[str, str | None] = {"gatepost-channel": None}
        check_refused(await person.call(method, path, body, headers=none), 400, "channel_required")
        for channel in (ids.format_id("ch", theirs.id), "ch_" + "0" * 32, "ch_x", gateway.channel.upper()):
            headers: dict[str, str | None] = {"gatepost-channel": channel}
            check_refused(await person.call(method, path, body, headers=headers), 404, "not_found", about=channel)


async def test_a_channel_in_the_query(gateway: Gateway) -> None:
    person = await new_person(gateway)
    person.channel = None
    export = f"{CONTACTS}/export"
    assert (await person.call("GET", f"{export}?channel={gateway.channel}")).status == 200
    assert (await person.call("GET", f"/api/v1/events/stream?seconds=1&channel={gateway.channel}")).status == 200
    assert (await person.call("GET", f"/api/v1/collection?channel={gateway.channel}")).status == 200
    check_refused(await person.call("GET", f"{export}?channel=ch_{'0' * 32}"), 404, "not_found")
    check_refused(await person.call("GET", f"{CONTACTS}?channel={gateway.channel}"), 400, "channel_required")
    check_refused(await person.call("POST", f"{SEND}?channel={gateway.channel}", TEXT), 400, "channel_required")
    check_refused(await gateway.call("GET", f"{export}?channel={gateway.channel}"), 422, "invalid_field", "channel")


async def test_a_session_ends_when_it_is_idle_or_old(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock, security__key_cache_seconds=0) as gateway:
        person, other = await new_person(gateway), await new_person(gateway)
        clock.advance(12 * HOUR - 1)
        used = await person.call("GET", SESSION)
        assert used.json()["data"]["idle_expires_at"] == times.format_time(clock.now() + timedelta(hours=12))
        clock.advance(1)
        check_refused(await other.call("GET", SESSION), 401, "session_ended")
        async with gateway.db.connection() as conn:  # housekeeping writes uses every five seconds of the real clock
            await conn.execute("UPDATE sessions SET last_used_at = $1 WHERE user_id = $2", clock.now(), person.user.id)
        assert (await person.call("GET", SESSION)).status == 200
        clock.advance(30 * DAY - 12 * HOUR - 1)
        async with gateway.db.connection() as conn:
            await conn.execute("UPDATE sessions SET last_used_at = $1 WHERE user_id = $2", clock.now(), person.user.id)
        assert (await person.call("GET", SESSION)).status == 200
        clock.advance(1)
        check_refused(await person.call("GET", SESSION), 401, "session_ended")


async def test_signing_out_everywhere(gateway: Gateway) -> None:
    person = await new_person(gateway)
    phone = Person(gateway, person.user)
    await phone.sign_in()
    out = await person.call("DELETE", f"{SESSION}?everywhere=true")
    assert out.json()["data"] == {"ended": 2}

    async def ended() -> bool:
        return (await phone.call("GET", SESSION)).status == 401

    await until(ended)
    assert (await actions(gateway))[0] == "signed_out_everywhere"


async def test_trial_and_suspension(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock, security__key_cache_seconds=0) as gateway:
        clock.advance(14 * DAY)
        person = await new_person(gateway)
        assert (await person.call("GET", CHANNEL)).status == 200
        made = await person.call("POST", CONTACTS, {"phone": "5511977776666"})
        assert made.status == 201, "only what sends is refused"
        by_key, by_session = await gateway.call("POST", SEND, TEXT), await person.call("POST", SEND, TEXT)
        check_refused(by_session, 402, "api_access_required")
        assert by_session.json()["message"] == by_key.json()["message"]
        await accounts.add_addon(gateway.db, gateway.account_id, API_ACCESS, clock.now())
        assert (await person.call("POST", SEND, TEXT)).status == 200
        await accounts.set_suspended(gateway.db, gateway.account_id, True)
        check_refused(await person.call("GET", CHANNEL), 402, "account_suspended")
        check_refused(await person.call("POST", SEND, TEXT), 402, "account_suspended")
        assert (await person.call("GET", SESSION)).json()["data"]["account"]["suspended"] is True
        assert (await person.sign_in()).status == 201
        assert (await person.call("DELETE", SESSION)).status == 200


async def test_a_role_that_changes_takes_effect(database_url: str) -> None:
    async with running_gateway(database_url, security__key_cache_seconds=0) as gateway:
        person = await new_person(gateway)
        assert (await person.call("POST", SEND, TEXT)).status == 200
        await users.change_role(gateway.db, gateway.account_id, person.user.id, "reader", now=gateway.clock.now())
        check_refused(await person.call("POST", SEND, TEXT), 403, "missing_scope")
        assert (await person.call("GET", SESSION)).json()["data"]["scopes"] == ["read"]
        assert (await actions(gateway))[0] == "role_changed"


@pytest.mark.usefixtures("frequent_housekeeping")
async def test_last_use_is_written_once_a_minute(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock, security__key_cache_seconds=0) as gateway:
        person = await new_person(gateway)

        async def last_use() -> timedelta:
            (session,) = await list_sessions(gateway.db, person.user.id, clock.now())
            return session.last_used_at - START

        clock.advance(59)
        await person.call("GET", SESSION)
        clock.advance(1)
        await person.call("GET", SESSION)

        async def written() -> bool:
            return await last_use() > timedelta(0)

        await until(written)
        assert await last_use() == timedelta(seconds=60)


async def test_the_operator_ends_sessions(gateway: Gateway) -> None:
    """As any other node does: this one has looked the session up and trusts it for less than a second."""
    person = await new_person(gateway)
    assert (await person.call("GET", CHANNEL)).status == 200
    assert await sign_in.end_sessions(gateway.db, person.user, now=gateway.clock.now()) == 1

    async def refused() -> Answer | None:
        answer = await person.call("GET", CHANNEL)
        return answer if answer.status != 200 else None

    check_refused(await until(refused), 401, "session_ended")
    (entry,) = await list_entries(gateway.db, gateway.account_id, before=None, limit=1)
    assert (entry.action, entry.actor.kind, entry.target) == ("signed_out_everywhere", "operator", person.user.email)
