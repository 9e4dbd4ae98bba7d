"""Sessions and keys that are needed at the same moment are looked up together, and each gets its own."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from gatepost.access.authentication import Authenticator
from gatepost.access.rate_limit import RateLimit
from gatepost.access.session_authentication import SessionAuthenticator, SessionRequest
from gatepost.access.wrong_credentials import WrongCredentials
from gatepost.admin import sign_in
from gatepost.model.errors import NotAuthenticated
from gatepost.model.session import AccessRule, new_token
from gatepost.store.pool import Database
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway
from tests.store.query_plans import explained_database

A = TypeVar("A", Authenticator, SessionAuthenticator)


def make(kind: type[A], db: Database, gateway: Gateway) -> A:
    """Return an authenticator that caches nothing."""
    return kind(db, gateway.clock, RateLimit(100, 100), WrongCredentials(0, gateway.clock), 0.0)


def request_of(token: str, channel: str | None = None) -> SessionRequest:
    return SessionRequest(token, "GET", channel, None, None, "", None)


def token_of(person: Person) -> str:
    return person.cookie.partition("=")[2]


async def outcomes(*checks: Awaitable[object]) -> list[bool]:
    """Run checks at the same moment; return which of them allow the request."""
    results = await asyncio.gather(*checks, return_exceptions=True)
    assert all(not isinstance(result, BaseException) or isinstance(result, NotAuthenticated) for result in results)
    return [not isinstance(result, BaseException) for result in results]


async def test_sessions(gateway: Gateway) -> None:
    people = [await new_person(gateway, role) for role in ("owner", "agent", "reader")]
    async with explained_database(gateway.settings.database.url) as (db, plans):
        sessions = make(SessionAuthenticator, db, gateway)
        requests = [request_of(token_of(person)) for person in people] + [request_of(new_token())]
        rule, on_channel = AccessRule(), AccessRule(scope="read")
        checks = [sessions.check(request, rule) for request in requests]
        checks += [sessions.check(request_of(token_of(people[0]), gateway.channel), on_channel)]
        assert await outcomes(*checks) == [True, True, True, False, True]
        assert len(plans) == 2, "one for the sessions, one for the channel"
        await sign_in.end_sessions(gateway.db, people[1].user, now=gateway.clock.now())
        assert await outcomes(*(sessions.check(request, rule) for request in requests)) == [True, False, True, False]
        assert len(plans) == 3
        for person in people[::2]:
            access, _ = await sessions.admit(request_of(token_of(person)), rule)
            assert access.user.user_id == person.user.id


async def test_keys(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    async with explained_database(gateway.settings.database.url) as (db, plans):
        gate = make(Authenticator, db, gateway)
        keys = [f"Bearer {key}" for key in (gateway.key, stranger)]
        callers = await asyncio.gather(*(gate.check(key, "read") for key in keys))
        assert len(plans) == 1
        assert callers[0].account_id == gateway.account_id != callers[1].account_id
