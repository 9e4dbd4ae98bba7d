"""The log of deliveries in the API: why a webhook did not arrive, and how to send it again."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from gatepost.model.event import TYPES
from tests.conftest import Answer, Receiver
from tests.gateway.checks import TEXT, check_refused, feed, until
from tests.gateway.failing_webhooks import (
    BROKEN,
    DAY,
    HOOKS,
    LOG,
    create_webhook,
    failed_delivery,
    give_up,
    read_log,
    until_delivery,
    until_logged,
)
from tests.running_gateway import Gateway

# -- looking ----------------------------------------------------------------------------------------------------------


async def test_what_is_shown_of_a_delivery(frozen: Gateway, receiver: Receiver) -> None:
    secret = {"Authorization": "Bearer hush", "X-Api-Key": "hush", "X-Shop": "7"}
    hook = await create_webhook(frozen, receiver.url + "/hook", headers=secret)
    short = await failed_delivery(frozen, receiver, hook)
    assert short["id"].startswith("dl_")
    assert short["endpoint"] == {"id": hook, "url": receiver.url + "/hook", "state": "active"}
    (event,) = [one for one in await feed(frozen) if one["type"] == "message_notification"]
    message = {"message": event["data"]["key"]["id"]}
    assert short["event"] == {name: event[name] for name in ("id", "type", "action", "sequence", "timestamp")} | message
    assert (short["status"], short["settled_at"]) == ("pending", None)
    assert short["waiting"] == "The last attempt failed; it will be retried."
    wait = datetime.fromisoformat(short["next_attempt_at"]) - frozen.clock.now()
    assert timedelta(seconds=3) < wait < timedelta(seconds=7)
    last = short["last_attempt"]
    assert (last["number"], last["status"]) == (1, 500)
    assert last["error"] == "The endpoint answered 500. Only statuses from 200 to 299 count as received."
    whole = await read_log(frozen, f"/{short['id']}")
    assert {name: value for name, value in whole.items() if name != "attempts"} == short
    (attempt,) = whole["attempts"]
    (sent,) = receiver.requests
    assert attempt["request"]["url"] == receiver.url + "/hook"
    assert attempt["request"]["body"].encode() == sent.body
    assert (attempt["answer"]["body"], attempt["batch"]) == ("out of order", [])
    answered = dict(attempt["answer"]["headers"])
    assert (answered["x-said"], answered["set-cookie"]) == ("no", "***")
    assert attempt["latency_ms"] == last["latency_ms"] > 0
    headers = {name.lower(): value for name, value in attempt["request"]["headers"].items()}
    assert (headers["authorization"], headers["x-api-key"], headers["x-shop"]) == ("***", "***", "***")
    assert headers["webhook-signature"] == sent.headers["webhook-signature"]
    assert sent.headers["authorization"] == "Bearer hush"
    tries = await frozen.call("GET", f"{HOOKS}/{hook}/attempts")
    assert b"hush" not in tries.body
    assert tries.json()["data"][0]["request"]["headers"]["X-Shop"] == "***"
    async with frozen.db.connection() as conn:
        for table in ("endpoints", "delivery_attempts"):
            rows = await conn.fetch(f"SELECT {table}::text AS row FROM {table}")
            assert rows
            assert not any("hush" in row["row"] for row in rows)
    about = next(one["data"]["key"]["id"] for one in await feed(frozen) if one["type"] == "message_notification")
    trace = (await frozen.call("GET", f"/api/v1/messages/{about}/trace")).json()["data"]
    (traced,) = [one for seen in trace["events"] for one in seen["deliveries"] if one["attempts"]]
    assert {attempt["error"], tries.json()["data"][0]["error"], traced["attempts"][0]["error"]} == {last["error"]}
    assert (traced["id"], traced["state"]) == (short["id"], short["status"])


async def test_a_failure_has_the_same_words_everywhere(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url)
    short = await failed_delivery(frozen, receiver, hook)
    words = short["last_attempt"]["error"]
    assert words == "The endpoint answered 500. Only statuses from 200 to 299 count as received."
    (attempt,) = (await frozen.call("GET", f"{HOOKS}/{hook}/attempts")).json()["data"]
    message = receiver.requests[0].json()["data"]["key"]["id"]
    trace = (await frozen.call("GET", f"/api/v1/messages/{message}/trace")).json()["data"]
    (traced,) = [one for event in trace["events"] for delivery in event["deliveries"] for one in delivery["attempts"]]
    (shown,) = (await read_log(frozen, f"/{short['id']}"))["attempts"]
    assert [(one["status"], one["error"]) for one in (attempt, traced, shown)] == [(500, words)] * 3
    await frozen.call("DELETE", f"{HOOKS}/{hook}")
    trace = (await frozen.call("GET", f"/api/v1/messages/{message}/trace")).json()["data"]
    seen = {one["id"]: one for event in trace["events"] for one in event["deliveries"]}
    after = seen[short["id"]]
    assert (after["state"], after["next_at"], after["attempts"]) == ("canceled", None, [traced])


async def test_filters(frozen: Gateway, receiver: Receiver) -> None:
    one = await create_webhook(frozen, receiver.url + "/one")
    two = await create_webhook(frozen, receiver.url + "/two", events=dict.fromkeys(TYPES, True))
    receiver.answer = lambda request: BROKEN if request.path == "/one" else Answer()
    await frozen.until_status(await frozen.send(**TEXT), "READ")
    both = await until_logged(frozen, 7)
    assert [item["event"]["sequence"] for item in both] == sorted(
        (item["event"]["sequence"] for item in both), reverse=True
    )
    await until_logged(frozen, 1, "?status=pending")
    await until_logged(frozen, 6, "?status=delivered")
    today = frozen.clock.now()
    tomorrow, yesterday = (f"{today + DAY:%Y-%m-%d}", f"{today - DAY:%Y-%m-%d}")
    for query, count in (
        (f"?endpoint={one}", 1),
        (f"?endpoint={two}", 6),
        (f"?endpoint=we_{'0' * 32}", 0),
        ("?status=exhausted", 0),
        ("?status=pending,delivered", 7),
        ("?type=message_notification", 2),
        ("?type=ack_notification,message_notification&status=delivered", 4),
        (f"?from={yesterday}&to={tomorrow}T00:00:00Z", 7),
        (f"?from={tomorrow}&tz=Pacific/Honolulu", 0),
        (f"?to={yesterday}", 0),
    ):
        assert len(await read_log(frozen, query)) == count, query
    pages, query = [], "?limit=3"
    while True:
        page = (await frozen.call("GET", LOG + query)).json()
        pages.append([item["id"] for item in page["data"]])
        if page["paging"]["next"] is None:
            break
        query = f"?limit=3&cursor={page['paging']['next']}"
    assert [id_ for page in pages for id_ in page] == [item["id"] for item in both]
    for query, status, code, field in (
        ("?endpoint=x", 422, "invalid_field", "endpoint"),
        ("?status=lost", 422, "invalid_field", "status"),
        ("?status=", 422, "invalid_field", "status"),
        ("?type=smoke", 422, "invalid_field", "type"),
        ("?from=soon", 422, "invalid_field", "from"),
        (f"?from={tomorrow}&to={yesterday}", 422, "invalid_field", "to"),
        ("?tz=Moon", 422, "invalid_field", "tz"),
        ("?limit=101", 422, "invalid_field", "limit"),
        ("?state=pending", 422, "invalid_field", "state"),
        ("?cursor=W10", 400, "invalid_cursor", None),
    ):
        check_refused(await frozen.call("GET", LOG + query), status, code, field, about=query)


async def test_a_batch_shows_the_body_that_was_sent(gateway: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(gateway, receiver.url, batch={"most": 3, "wait": 1})
    for _ in range(3):
        await gateway.send(**TEXT)
    log = await until_logged(gateway, 3, f"?endpoint={hook}&status=delivered")
    sent = {request.headers["webhook-id"]: request for request in receiver.requests}
    for short in log:
        (attempt,) = (await read_log(gateway, f"/{short['id']}"))["attempts"]
        request = sent[attempt["request"]["headers"]["webhook-id"]]
        assert attempt["request"]["body"].encode() == request.body
        assert short["event"]["id"] in (attempt["batch"] or [short["event"]["id"]])


async def test_strangers_and_unknown_ids(gateway: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(gateway, receiver.url)
    await gateway.send(**TEXT)
    (mine,) = await until_logged(gateway, 1)
    stranger = await gateway.new_stranger()
    assert (await gateway.call("GET", LOG, key=stranger)).json()["data"] == []
    assert (await gateway.call("GET", f"{LOG}?endpoint={hook}", key=stranger)).json()["data"] == []
    for key, id_ in (
        (stranger, mine["id"]),
        (gateway.key, "x"),
        (gateway.key, mine["id"][:-1]),
        (gateway.key, mine["id"][:35] + "0" * 32),
    ):
        check_refused(await gateway.call("GET", f"{LOG}/{id_}", key=key), 404, "not_found")
        check_refused(await gateway.call("POST", f"{LOG}/{id_}/retry", key=key), 404, "not_found")
    answer = await gateway.call("POST", f"{LOG}/retry", {"ids": [mine["id"]]}, key=stranger)
    assert answer.json()["data"]["results"][0]["error"]["code"] == "not_found"
    await until_delivery(gateway, mine["id"], "delivered")
    async with gateway.db.connection() as conn:
        await conn.execute("DELETE FROM events")
    check_refused(await gateway.call("GET", f"{LOG}/{mine['id']}"), 404, "not_found")
    check_refused(await gateway.call("POST", f"{LOG}/{mine['id']}/retry"), 404, "not_found")
    assert await read_log(gateway) == []


# -- once more --------------------------------------------------------------------------------------------------------


async def test_what_was_given_up_arrives_when_it_is_asked_for(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url)
    short = await failed_delivery(frozen, receiver, hook)
    await give_up(frozen, hook)
    receiver.answer = Answer()
    answer = await frozen.call("POST", f"{LOG}/{short['id']}/retry")
    assert (answer.status, answer.json()["data"]["status"]) == (200, "pending")
    whole = await until_delivery(frozen, short["id"], "delivered")
    assert [attempt["number"] for attempt in whole["attempts"]] == [1, 11]
    assert (whole["attempt_count"], whole["next_attempt_at"], whole["waiting"]) == (11, None, None)
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    message = msgspec.json.decode(first.body)["data"]["key"]["id"]
    trace = (await frozen.call("GET", f"/api/v1/messages/{message}/trace")).json()["data"]
    seen = [one for event in trace["events"] for one in event["deliveries"]]
    assert [attempt["number"] for attempt in seen[0]["attempts"]] == [1, 11]


async def test_a_retry_that_fails_restarts_the_schedule(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url)
    short = await failed_delivery(frozen, receiver, hook)
    await give_up(frozen, hook)
    await frozen.call("POST", f"{LOG}/{short['id']}/retry")

    async def again() -> Any:
        one = await read_log(frozen, f"/{short['id']}")
        return one if one["attempt_count"] == 11 else None

    one = await until(again)
    wait = datetime.fromisoformat(one["next_attempt_at"]) - frozen.clock.now()
    assert (one["status"], timedelta(seconds=3) < wait < timedelta(seconds=7)) == ("pending", True)


async def test_what_waits_is_due_now(frozen: Gateway, receiver: Receiver) -> None:
    """Twice: what was delivered can be had again, too."""
    hook = await create_webhook(frozen, receiver.url)
    short = await failed_delivery(frozen, receiver, hook)
    receiver.answer = Answer()
    for count in (2, 3):
        assert (await frozen.call("POST", f"{LOG}/{short['id']}/retry")).status == 200
        await receiver.wait_for(count)
        whole = await until_delivery(frozen, short["id"], "delivered")
        assert whole["attempt_count"] == count


async def test_a_paused_endpoint_is_tried_at_once(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url)
    short = await failed_delivery(frozen, receiver, hook)
    async with frozen.db.connection() as conn:
        await conn.execute(
            "UPDATE endpoints SET state = 'paused', probe_at = $1, probes = 3, updated_at = $2",
            frozen.clock.now() + timedelta(hours=1),
            frozen.clock.now() + timedelta(milliseconds=1),
        )
    receiver.answer = Answer()
    shown = await read_log(frozen, f"/{short['id']}")
    assert shown["endpoint"]["state"] == "paused"
    assert "is paused" in shown["waiting"]
    assert (await frozen.call("POST", f"{LOG}/{short['id']}/retry")).status == 200
    await until_delivery(frozen, short["id"], "delivered")


async def test_disabled_and_deleted_endpoints(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url)
    short = await failed_delivery(frozen, receiver, hook)
    path = f"{LOG}/{short['id']}/retry"
    await frozen.call("PATCH", f"{HOOKS}/{hook}", {"active": False})
    refused = await frozen.call("POST", path)
    check_refused(refused, 409, "wrong_state")
    assert "Enable it first" in refused.json()["message"]
    shown = await read_log(frozen, f"/{short['id']}")
    assert (shown["next_attempt_at"], "disabled" in shown["waiting"]) == (None, True)
    await frozen.call("DELETE", f"{HOOKS}/{hook}")
    assert "was deleted" in (await frozen.call("POST", path)).json()["message"]
    check_refused(await frozen.call("POST", path), 409, "wrong_state")
    for found in (await read_log(frozen, f"/{short['id']}"), *(await read_log(frozen))):
        assert found["endpoint"] == {"id": hook, "url": None, "state": "deleted"}
        assert found["last_attempt"]["status"] == 500
        assert (found["status"], found["waiting"], found["next_attempt_at"]) == ("canceled", None, None)
    assert [one["id"] for one in await read_log(frozen, "?status=canceled")] == [short["id"]]
    assert await read_log(frozen, "?status=pending") == []
    answer = (await frozen.call("POST", f"{LOG}/retry", {"ids": [short["id"]]})).json()["data"]
    assert (answer["accepted"], answer["refused"], answer["results"][0]["error"]["code"]) == (0, 1, "wrong_state")
    assert len(receiver.requests) == 1


async def test_a_selection(frozen: Gateway, receiver: Receiver) -> None:
    hook = await create_webhook(frozen, receiver.url)
    receiver.answer = BROKEN
    for _ in range(3):
        await frozen.send(**TEXT)
    log = await until_logged(frozen, 3)
    await receiver.wait_for(3)
    await until(lambda: _attempted(frozen, 3))
    receiver.answer = Answer()
    mine, unknown = [one["id"] for one in log], "dl_" + "0" * 64
    answer = await frozen.call("POST", f"{LOG}/retry", {"ids": [mine[0], unknown, mine[1], "x", mine[0]]})
    data = answer.json()["data"]
    assert [result["success"] for result in data["results"]] == [True, False, True, False, True]
    assert (data["accepted"], data["refused"]) == (3, 2)
    await until_logged(frozen, 2, f"?status=delivered&endpoint={hook}")
    assert len(receiver.requests) == 5
    full = await frozen.call("POST", f"{LOG}/retry", {"ids": [mine[2]] + [unknown] * 99})
    assert (full.status, full.json()["data"]["accepted"]) == (200, 1)
    await until_logged(frozen, 3, "?status=delivered")
    bad: list[Any] = [{"ids": []}, {"ids": [unknown] * 101}, {"ids": "all"}, {}]
    for body in bad:
        check_refused(await frozen.call("POST", f"{LOG}/retry", body), 422, "invalid_field", "ids", about=body)


async def _attempted(gateway: Gateway, count: int) -> bool:
    return len([one for one in await read_log(gateway) if one["last_attempt"]]) == count
