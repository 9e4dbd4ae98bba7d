"""Limits apply to all nodes together: each knows what the others have counted."""

import itertools
from collections.abc import AsyncIterator

import pytest

from gatepost.access.sign_in_throttle import PER_EMAIL_MINUTE
from gatepost.app import Gatepost
from tests.gateway.checks import until
from tests.gateway.event_streams import another_node
from tests.gateway.people import PASSWORD, SESSION, new_person
from tests.running_gateway import Gateway, running_gateway

CHANNEL = "/api/v1/channel"
BURST = 300
Nodes = tuple[Gateway, str, Gatepost]


@pytest.fixture
async def nodes(parted_database_url: str) -> AsyncIterator[Nodes]:
    """Yield a gateway, and another one with its address that has received counts of requests, so it listens."""
    async with (
        running_gateway(parted_database_url, role="api", api__rate=0.01, api__burst=BURST) as gateway,
        another_node(gateway) as (url, node),
    ):
        looks = itertools.count()

        async def reported() -> bool:
            if next(looks) % 10 == 0:  # so that it has time until all requests are used up
                assert (await gateway.call("GET", CHANNEL)).status == 200
            return bool(node.limits.rate._due)

        await until(reported)
        yield gateway, url, node


async def test_the_requests_of_a_key_count_on_all_nodes(nodes: Nodes) -> None:
    gateway, url, _ = nodes
    while (await gateway.call("GET", CHANNEL)).status == 200:
        pass
    accepted = 0

    async def refused() -> bool:
        nonlocal accepted
        answer = await gateway.call("GET", url + CHANNEL)
        accepted += answer.status == 200
        return answer.status == 429

    await until(refused)
    assert accepted < BURST


async def test_failed_sign_ins_count_on_all_nodes(nodes: Nodes) -> None:
    gateway, url, node = nodes
    person = await new_person(gateway, signed_in=False)

    async def sign_in(at: str, password: str) -> int:
        body = {"email": person.user.email, "password": password}
        return (await gateway.call("POST", at + SESSION, body, key="", headers={"origin": at})).status

    for _ in range(PER_EMAIL_MINUTE):
        assert await sign_in(gateway.url, "wrong horse battery") == 401

    [by_minute, _] = node.limits.sign_ins._by_email

    async def reported() -> bool:
        return len(by_minute._times.get(person.user.email, ())) == PER_EMAIL_MINUTE

    await until(reported)
    assert await sign_in(url, PASSWORD) == 429
