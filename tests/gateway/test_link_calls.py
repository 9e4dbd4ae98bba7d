"""Requests that need the link of a phone at once, in a process that does not hold it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gatepost.clock import SystemClock
from gatepost.services import link_calls
from gatepost.store.pool import Database
from tests.conformance.conftest import new_qr_line
from tests.conformance.line import new_person
from tests.conformance.qr_line import QrLine
from tests.gateway.checks import check_refused
from tests.running_gateway import ListeningGatepost, running_gateway

LONGEST = 'é"\\\n👍' * 819  # 4,095 characters


@asynccontextmanager
async def linked_elsewhere(url: str) -> AsyncIterator[QrLine]:
    """Yield a channel at a gateway that only has an API. Another one holds the link."""
    async with running_gateway(url, role="api") as gateway:
        db = await Database.connect(url, connections=4)
        worker = ListeningGatepost(gateway.settings, db, url, SystemClock(), "worker")
        await worker.start()
        try:
            yield await new_qr_line(gateway)
        finally:
            await worker.stop()
            await db.close()


async def test_a_process_without_the_link_edits_deletes_checks_and_marks_as_read(parted_database_url: str) -> None:
    async with linked_elsewhere(parted_database_url) as line:
        person = new_person()
        sent = await line.send(person, body="First words")
        await line.until_status(sent, "READ")
        assert (await line.call("PATCH", f"/messages/{sent}", {"body": LONGEST})).status == 200
        assert (await line.message(sent))["content"] == {"body": LONGEST}
        (seen,) = [e["data"] for e in await line.events(person) if e["action"] == "updated"]
        assert (seen["change"], seen["content"]) == ("edited", {"body": LONGEST})
        assert (await line.call("DELETE", f"/messages/{sent}")).status == 200
        assert (await line.message(sent))["deleted_at"]
        await line.say(person, "text", {"body": "Hello"})
        (event,) = await line.received(person, 1)
        conversation = event["data"]["conversation"]["id"]
        assert (await line.call("POST", f"/messages/{event['data']['key']['id']}/read")).status == 200
        assert (await line.call("POST", f"/conversations/{conversation}/typing")).status == 200
        read = await line.call("POST", f"/conversations/{conversation}/read")
        assert (read.status, read.json()["data"]["shown"]) == (200, True)
        checked = await line.call("POST", "/contacts/check", {"phones": [person]})
        assert [one["exists"] for one in checked.json()["data"]] == [True]


async def test_the_error_of_a_call_comes_back(parted_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with linked_elsewhere(parted_database_url) as line:
        sent = await line.send(new_person(), body="First words")
        await line.until_status(sent, "READ")
        unknown = "UPDATE messages SET network_id = repeat('0', 32) WHERE channel_id = $1"
        await line.gateway.db.execute(unknown, line.channel_id)
        check_refused(await line.call("PATCH", f"/messages/{sent}", {"body": "x"}), 422, "network_refused")
        monkeypatch.setattr(link_calls, "_AT_ONCE", 0)
        answer = await line.call("PATCH", f"/messages/{sent}", {"body": "x"})
        check_refused(answer, 503, "network_unavailable")
        assert "Too many requests are in progress." in answer.json()["message"]
        assert (await line.message(sent))["content"] == {"body": "First words"}


async def test_a_link_that_no_process_holds(parted_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_calls, "_BEGUN_WITHIN", 0.05)
    async with running_gateway(parted_database_url, role="api") as gateway:
        qr = await gateway.new_qr_channel(gateway.account_id)
        key = await gateway.new_key(qr.id)
        check = {"phones": ["5511999998888"]}
        answer = await gateway.call("POST", "/api/v1/contacts/check", check, key=key)
        check_refused(answer, 409, "channel_not_connected")
        await gateway.db.execute("UPDATE channels SET connection = 'connected' WHERE id = $1", qr.id)
        answer = await gateway.call("POST", "/api/v1/contacts/check", check, key=key)
        check_refused(answer, 503, "network_unavailable")
        assert "does not answer" in answer.json()["message"]
