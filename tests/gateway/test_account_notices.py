"""Changes of an account that are no events: open pages are notified on every node, no matter who made the change."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gatepost.admin import accounts
from gatepost.model import ids
from gatepost.store import accounts as account_rows
from gatepost.store.keys import record_key_uses
from tests.gateway.account_streams import AccountReader, open_account_stream
from tests.gateway.event_streams import another_node
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway, running_gateway

VIEWS = {"views": [{"name": "VIP", "q": "bread"}]}
HOOK = {"url": "https://example.com/hook"}


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a gateway that sends nothing."""
    async with running_gateway(parted_database_url, role="api") as one:
        yield one


OF_ACCOUNT = {"users", "log", "plan", "views", "all"}


async def seen(streams: list[AccountReader], *resources: str, channel: str = "") -> None:
    """Read from each stream until it has said that these have changed, of the account or of the channel."""
    for stream in streams:
        wanted = set(resources)
        while wanted:
            notice = await stream.notice("account_changed")
            resource = notice["resource"]
            assert notice["channel"] == (None if resource in OF_ACCOUNT else {"id": channel or notice["channel"]["id"]})
            wanted.discard(resource)


async def done(person: Person, method: str, path: str, body: Any = None) -> Any:
    answer = await person.call(method, path, body)
    assert answer.status < 300, answer.body
    return answer.json().get("data")


async def upload(gateway: Gateway) -> str:
    made = await gateway.call("POST", "/api/v1/media", raw=b"Hello", headers={"content-type": "text/plain"})
    assert made.status == 201, made.body
    file: str = made.json()["data"]["id"]
    return file


@pytest.mark.usefixtures("frequent_housekeeping")
async def test_every_change_is_reported_on_every_node(gateway: Gateway) -> None:
    person, now, own = await new_person(gateway), gateway.clock.now(), gateway.channel
    made = await gateway.call("POST", "/api/v1/contacts", {"phone": "5511977776666"})
    notes = f"/api/v1/conversations/cv_{made.json()['data']['id'][3:]}/notes"
    reader = await new_person(gateway, "reader")
    async with (
        another_node(gateway) as (url, _),
        open_account_stream(person) as here,
        open_account_stream(reader, url=url) as there,
    ):
        streams = [here, there]
        invited = await done(person, "POST", "/api/v1/account/users", {"email": "new@example.com", "role": "agent"})
        await seen(streams, "users", "log")
        user = f"/api/v1/account/users/{invited['user']}"
        await done(person, "PATCH", user, {"role": "reader"})
        await seen(streams, "users", "log")
        await done(person, "DELETE", user)
        await seen(streams, "users", "log")
        key = (await done(person, "POST", f"/api/v1/account/channels/{own}/keys", {"name": "Shop"}))["id"]
        await seen(streams, "keys", "log", channel=own)
        key_id = ids.parse_id("key", key)
        assert key_id
        await record_key_uses(gateway.db, {key_id: now})
        await seen(streams, "keys", channel=own)
        await done(person, "DELETE", f"/api/v1/account/channels/{own}/keys/{key}")
        await seen(streams, "keys", channel=own)
        note = await done(person, "POST", notes, {"text": "Wants it on Friday"})
        await seen(streams, "notes", channel=own)
        await done(person, "DELETE", f"{notes}/{note['id']}")
        await seen(streams, "notes", channel=own)
        hook = await done(person, "POST", "/api/v1/webhooks", HOOK)
        await seen(streams, "webhooks", channel=own)
        await done(person, "POST", f"/api/v1/webhooks/{hook['id']}/recover", {"since": "2026-01-01T00:00:00Z"})
        await seen(streams, "recoveries", channel=own)
        await done(person, "DELETE", f"/api/v1/webhooks/{hook['id']}")
        await seen(streams, "webhooks", channel=own)
        await done(person, "PUT", "/api/v1/session/views", VIEWS)
        await seen(streams, "views")
        file = await upload(gateway)
        await seen(streams, "files", channel=own)
        assert (await gateway.call("DELETE", f"/api/v1/media/{file}")).status == 200
        await seen(streams, "files", channel=own)
        await accounts.add_addon(gateway.db, gateway.account_id, "API Access", now)  # as the command line does
        await seen(streams, "plan")
        await account_rows.set_plan(gateway.db, gateway.account_id, "starter")
        await seen(streams, "plan")
        assert (await gateway.call("GET", "/api/v1/messages/unknown")).status >= 400
        await seen(streams, "refused_requests", channel=own)


async def test_another_account_is_not_notified(gateway: Gateway) -> None:
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    person = await new_person(gateway)
    async with open_account_stream(stranger) as theirs, open_account_stream(person) as ours:
        await theirs.notice("ready")
        await done(person, "POST", f"/api/v1/account/channels/{gateway.channel}/keys", {"name": "Shop"})
        await seen([ours], "keys", "log", channel=gateway.channel)
        await done(person, "PUT", "/api/v1/session/views", VIEWS)
        await upload(gateway)
        await seen([ours], "views", "files", channel=gateway.channel)
        await new_person(gateway, "agent", account_id=stranger.user.account_id, signed_in=False)
        first = await theirs.notice("account_changed")
        assert first == {"resource": "users", "channel": None}


async def test_a_change_that_is_rolled_back_is_not_reported(gateway: Gateway) -> None:
    person = await new_person(gateway)
    async with open_account_stream(person) as stream:
        await stream.notice("ready")
        with contextlib.suppress(ZeroDivisionError):
            async with gateway.db.transaction() as conn:
                await conn.execute("UPDATE accounts SET plan = 'starter' WHERE id = $1", gateway.account_id)
                raise ZeroDivisionError
        await new_person(gateway, "agent", signed_in=False)
        assert (await stream.notice("account_changed"))["resource"] in ("users", "log")


async def test_after_a_lost_connection_of_the_node_everything_is_read_again(gateway: Gateway) -> None:
    person = await new_person(gateway)
    async with open_account_stream(person) as stream:
        await stream.notice("ready")
        await new_person(gateway, "agent", signed_in=False)
        await seen([stream], "users", "log")  # so that the node listens
        ended = await gateway.db.fetch(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND query LIKE 'LISTEN%'"""
        )
        assert ended
        await seen([stream], "all")
        await new_person(gateway, "agent", signed_in=False)
        await seen([stream], "users")


async def test_an_attempt_of_a_delivery_is_reported(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url) as gateway:
        person = await new_person(gateway)
        await done(person, "POST", "/api/v1/webhooks", {"url": "http://127.0.0.1:8999/closed"})
        async with open_account_stream(person) as stream:
            await stream.notice("ready")
            await gateway.send(phone="5511977776666", body="Hello")
            await seen([stream], "deliveries", channel=gateway.channel)


async def test_a_stream_that_begins_in_the_past_gets_notices_too(gateway: Gateway) -> None:
    made = await gateway.call("POST", "/api/v1/contacts", {"phone": "5511977776666"})
    ana, ben = await new_person(gateway), await new_person(gateway)
    where = {"channel": gateway.channel, "conversation": "cv_" + made.json()["data"]["id"][3:], "state": "viewing"}
    async with open_account_stream(ben) as stream:
        await done(ana, "PUT", "/api/v1/account/presence", where)
        await stream.notice("presence")
    async with open_account_stream(ben, "?back=10") as stream:
        assert (await stream.notice("presence"))["state"] == "viewing"
