"""Messages in the API: scheduled, canceled, expired, read, traced."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from gatepost.model import times
from tests.conftest import Receiver
from tests.gateway.checks import PERSON, SEND, TEXT, check_refused, feed, statuses, until, written
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

START = datetime(2030, 5, 10, 12, 0, tzinfo=UTC)


def _soon(seconds: float) -> str:
    return times.format_time(datetime.now(UTC) + timedelta(seconds=seconds))


async def _accepted_at_network(gateway: Gateway) -> list[str]:
    entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    return [entry["content"]["body"] for entry in entries]


async def test_a_scheduled_message_leaves_at_its_time(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock) as gateway:
        await _schedule_and_send(gateway, clock, times.format_time(START + timedelta(hours=1)))


async def _schedule_and_send(gateway: Gateway, clock: MovableClock, at: str) -> None:
    answer = (await gateway.call("POST", SEND, TEXT | {"send_at": at, "body": "Later"})).json()
    assert answer["message"] == "Message scheduled"
    assert answer["data"]["status"] == "SCHEDULED"
    message_id = answer["data"]["key"]["id"]
    shown = (await gateway.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
    assert (shown["status"], shown["ack"], shown["send_at"]) == ("SCHEDULED", 0, at)
    trace = (await gateway.call("GET", f"/api/v1/messages/{message_id}/trace")).json()["data"]
    waiting = {"rule": "scheduled", "because": "It is scheduled", "until": at, "message_id": None}
    assert trace["waiting"] == shown["waiting"] == waiting
    await gateway.until_status(await gateway.send(**TEXT | {"body": "Now"}), "READ")
    assert await _accepted_at_network(gateway) == ["Now"]
    clock.advance(3600)
    await gateway.until_status(message_id, "READ")
    assert await _accepted_at_network(gateway) == ["Now", "Later"]
    sent = (await gateway.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
    assert sent["sent_at"] >= at
    assert await statuses(gateway, message_id) == ["SCHEDULED", "SENT", "DELIVERED", "READ"]
    assert (await written(gateway))["scheduled_messages"] == 0


async def test_days_pass_before_a_scheduled_message(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock) as gateway:
        message_id = await gateway.send(**TEXT, send_at=times.format_time(START + timedelta(days=3)))
        clock.advance(3 * 86_400 - 60)
        await asyncio.sleep(0.3)
        assert await gateway.status(message_id) == "SCHEDULED"
        clock.advance(61)
        await gateway.until_status(message_id, "READ")
        assert len(await _accepted_at_network(gateway)) == 1


async def test_canceling(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    message_id = await gateway.send(**TEXT, send_at=_soon(3600), client_ref="order-1")
    cancel = f"/api/v1/messages/{message_id}/cancel"
    check_refused(await gateway.call("POST", cancel, key=stranger), 404, "not_found")
    assert await gateway.status(message_id) == "SCHEDULED"
    answer = await gateway.call("POST", cancel)
    assert (answer.status, answer.json()["message"]) == (200, "Message canceled")
    data = answer.json()["data"]
    assert (data["status"], data["ack"]) == ("CANCELED", -1)
    event = (await feed(gateway))[-1]
    assert (event["type"], event["action"]) == ("ack_notification", "message")
    assert event["data"]["key"]["id"] == message_id
    assert (event["data"]["status"], event["data"]["ack"]) == ("CANCELED", -1)
    assert event["data"]["client_ref"] == "order-1"
    before, seen = await written(gateway), await feed(gateway)
    check_refused(await gateway.call("POST", cancel), 409, "wrong_state")
    assert (await written(gateway), await feed(gateway)) == (before, seen)
    assert before["scheduled_messages"] == 0


async def test_canceling_what_waits_in_the_queue(gateway: Gateway) -> None:
    key = await gateway.new_key((await gateway.new_qr_channel(gateway.account_id)).id)
    gateway.key = key
    message_id = await gateway.send(**TEXT)
    assert await gateway.status(message_id) == "PENDING"
    assert (await gateway.call("POST", f"/api/v1/messages/{message_id}/cancel")).json()["data"]["status"] == "CANCELED"
    assert await statuses(gateway, message_id) == ["PENDING", "CANCELED"]
    trace = (await gateway.call("GET", f"/api/v1/messages/{message_id}/trace")).json()["data"]
    assert [step["step"] for step in trace["steps"]] == ["accepted", "canceled"]
    assert trace["waiting"] is None


async def test_too_late_to_cancel(gateway: Gateway) -> None:
    message_id = await gateway.send(**TEXT)
    await gateway.until_status(message_id, "READ")
    answer = await gateway.call("POST", f"/api/v1/messages/{message_id}/cancel")
    check_refused(answer, 409, "wrong_state")
    assert "READ" in answer.json()["message"]
    assert await gateway.status(message_id) == "READ"


async def test_ids_that_name_nothing(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    message_id = await gateway.send(**TEXT)
    for unknown in ("0" * 32, "f" * 32, "x", message_id[1:], message_id + "0", f"msg_{message_id}", "%00", "-1"):
        for method, rest in (("GET", ""), ("GET", "/trace"), ("POST", "/cancel")):
            answer = await gateway.call(method, f"/api/v1/messages/{unknown}{rest}")
            check_refused(answer, 404, "not_found", about=(unknown, rest))
    for method, rest in (("GET", ""), ("GET", "/trace"), ("POST", "/cancel")):
        check_refused(
            await gateway.call(method, f"/api/v1/messages/{message_id}{rest}", key=stranger), 404, "not_found"
        )


async def test_a_message_expires_with_an_event(gateway: Gateway) -> None:
    """The network asks for patience for longer than the message may wait."""
    await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 130429})
    message_id = await gateway.send(**TEXT, ttl=1, client_ref="order-1")
    await gateway.until_status(message_id, "EXPIRED")
    last = (await feed(gateway))[-1]["data"]
    assert (last["status"], last["ack"], last["client_ref"]) == ("EXPIRED", -1, "order-1")
    assert last["error"]["code"] == "expired"
    shown = (await gateway.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
    assert shown["error"] == last["error"]
    assert shown["ended_at"] >= shown["expires_at"]


async def test_the_trace_shows_every_step(gateway: Gateway, receiver: Receiver) -> None:
    await gateway.call("POST", "/api/v1/webhooks", {"url": receiver.url + "/hook"})
    await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 131000, "times": 1})
    message_id = await gateway.send(**TEXT)
    await gateway.until_status(message_id, "READ")
    await receiver.wait_for(4)

    async def seen() -> Any:
        found = (await gateway.call("GET", f"/api/v1/messages/{message_id}/trace")).json()["data"]
        delivered = [delivery["state"] for event in found["events"] for delivery in event["deliveries"]]
        return found if delivered == ["delivered"] * 4 else None

    trace = await until(seen)
    trace["steps"] = [step for step in trace["steps"] if step["step"] != "waited"]  # two seconds, give or take a few
    steps = [step["step"] for step in trace["steps"]]
    assert steps == ["accepted", "attempt_failed", "sending", "sent", "delivered", "read"]
    assert trace["steps"][1]["attempt"] == 1
    assert trace["steps"][1]["reason"]["code"] == 131000
    assert trace["steps"][2]["attempt"] == 2
    times_ = [step["at"] for step in trace["steps"]]
    assert times_ == sorted(times_)
    assert trace["message"]["key"]["remoteJid"] == f"{PERSON}@s.whatsapp.net"
    assert trace["waiting"] is None
    assert [event["event"]["data"]["status"] for event in trace["events"]] == ["PENDING", "SENT", "DELIVERED", "READ"]
    for event in trace["events"]:
        (delivery,) = event["deliveries"]
        (attempt,) = delivery["attempts"]
        assert (attempt["number"], attempt["status"], attempt["error"]) == (1, 200, None)
        assert attempt["url"] == receiver.url + "/hook"
        assert attempt["latency_ms"] > 0


async def test_a_failure_has_the_same_words_everywhere(gateway: Gateway) -> None:
    await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 131051})
    message_id = await gateway.send(**TEXT)
    await gateway.until_status(message_id, "FAILED")
    trace = (await gateway.call("GET", f"/api/v1/messages/{message_id}/trace")).json()["data"]
    shown = (await gateway.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
    reasons = [step["reason"] for step in trace["steps"] if step["step"] in ("attempt_failed", "failed")]
    seen = (await feed(gateway))[-1]["data"]["error"]
    assert reasons == [shown["error"], shown["error"]]
    assert seen == shown["error"] == trace["message"]["error"]
    assert shown["error"]["code"] == 131051
