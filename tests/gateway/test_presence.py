"""Presence: where people are, reported to the others of the account, on all nodes, and kept nowhere."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from gatepost.api.account_presence import PRESENCES
from gatepost.model import ids
from gatepost.services.account_streams import AccountStreams
from gatepost.services.event_waiters import EventWaiters
from gatepost.services.presence_board import MAX_KNOWN, PresenceBoard
from gatepost.store.notifications import Presence
from tests.gateway.account_streams import open_account_stream
from tests.gateway.checks import check_refused
from tests.gateway.event_streams import another_node
from tests.gateway.people import Person, new_person
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

PATH = "/api/v1/account/presence"


@pytest.fixture
async def gateway(database_url: str) -> AsyncIterator[Gateway]:
    """Yield a gateway that sends nothing."""
    async with running_gateway(database_url, role="api") as one:
        yield one


async def new_conversation(gateway: Gateway) -> str:
    made = await gateway.call("POST", "/api/v1/contacts", {"phone": "5511977776666"})
    assert made.status == 201
    return "cv_" + str(made.json()["data"]["id"])[3:]


async def be(person: Person, conversation: str, state: str = "viewing", more: Mapping[str, Any] = {}) -> Any:
    body = {"channel": person.gateway.channel, "conversation": conversation, "state": state} | dict(more)
    return await person.call("PUT", PATH, body)


async def test_others_are_notified_on_every_node(gateway: Gateway) -> None:
    conversation = await new_conversation(gateway)
    ana, ben = await new_person(gateway), await new_person(gateway, "reader")
    async with (
        another_node(gateway) as (url, _),
        open_account_stream(ana) as own,
        open_account_stream(ben) as here,
        open_account_stream(ben, url=url) as there,
    ):
        for stream in (own, here, there):
            await stream.notice("ready")
        for state, seconds in (("viewing", 90), ("typing", 10), ("gone", 0)):
            assert (await be(ana, conversation, state)).status == 200
            for stream in (here, there):
                notice = await stream.notice("presence")
                assert (notice["state"], notice["expires_in"]) == (state, seconds)
                assert notice["user"]["id"] == ids.format_id("usr", ana.user.id)
                assert notice["conversation"] == {"id": conversation}
        await be(ben, conversation)  # the first notice that ana gets is not her own
        assert (await own.notice("presence"))["user"]["id"] == ids.format_id("usr", ben.user.id)


async def test_later_streams_are_notified_too_and_another_account_is_not(gateway: Gateway) -> None:
    conversation = await new_conversation(gateway)
    ana, ben = await new_person(gateway), await new_person(gateway)
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    async with open_account_stream(ben) as stream:
        await stream.notice("ready")
        await be(ana, conversation, "typing")
        await stream.notice("presence")
    async with open_account_stream(ben) as stream:
        assert (await stream.notice("presence"))["state"] == "typing"
    async with open_account_stream(stranger, "?seconds=1") as stream:
        assert [block for block in await stream.end() if block.get("event") == "presence"] == []


async def test_what_is_refused(gateway: Gateway) -> None:
    conversation, ana = await new_conversation(gateway), await new_person(gateway)
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    check_refused(await be(stranger, conversation), 404, "not_found")
    for changed in ({"conversation": "cv_" + "0" * 32}, {"conversation": "x"}, {"channel": "ch_" + "0" * 32}):
        check_refused(await be(ana, conversation, more=changed), 404, "not_found")
    check_refused(await be(ana, conversation, "asleep"), 422, "invalid_field", "state")
    check_refused(await be(ana, conversation, more={"more": 1}), 422, "invalid_field", "more")


async def test_so_often_and_not_more(gateway: Gateway) -> None:
    conversation, ana, ben = await new_conversation(gateway), await new_person(gateway), await new_person(gateway)
    for _ in range(PRESENCES):
        assert (await be(ana, conversation)).status == 200
    check_refused(await be(ana, conversation), 429, "rate_limited")
    assert (await be(ben, conversation)).status == 200


def test_it_expires_and_takes_bounded_memory() -> None:
    clock = MovableClock(datetime(2026, 11, 15, tzinfo=UTC))
    board = PresenceBoard(AccountStreams(None, clock, EventWaiters(None, 1), 1), clock)  # type: ignore[arg-type]
    account = UUID(int=1)
    for number in range(MAX_KNOWN + 10):
        board.put(Presence(account, UUID(int=number), "Ana", account, account, "viewing"))
    assert len(board.current(account, UUID(int=MAX_KNOWN))) == MAX_KNOWN - 1
    clock.advance(90)
    assert board.current(account, account) == []
