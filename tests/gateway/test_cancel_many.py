"""Canceling a selection: which messages fit, which are too late, and how a long one goes on."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from gatepost.api.paging import show_cursor
from gatepost.model import times
from gatepost.model.message import CLIENT_REF_MAX
from gatepost.model.times import month_of
from tests.for_each import for_each
from tests.gateway.checks import PERSON, check_refused, feed, statuses, until
from tests.gateway.test_batch import BATCH, texts
from tests.running_gateway import FAST_NETWORK, Gateway

CANCEL = "/api/v1/messages/cancel"
OTHER = "5511999997777"


@pytest.fixture
async def waiting(gateway: Gateway) -> dict[str, str]:
    """Give scheduled messages by the names that their client_ref has."""
    made = {}
    for i, (name, phone) in enumerate([("spring-1", PERSON), ("spring-2", OTHER), ("summer-1", PERSON), ("", OTHER)]):
        options = {"send_at": later(gateway, 60 + i), **({"client_ref": name} if name else {})}
        made[name] = await gateway.send(phone=phone, body=name or "none", **options)
    return made


def later(gateway: Gateway, minutes: int) -> str:
    return times.format_time(gateway.clock.now() + timedelta(minutes=minutes))


async def cancel(gateway: Gateway, **asked: Any) -> dict[str, Any]:
    answer = await gateway.call("POST", CANCEL, asked)
    assert answer.status == 200, answer.body
    data: dict[str, Any] = answer.json()["data"]
    return data


async def left(gateway: Gateway, waiting: dict[str, str]) -> set[str]:
    """Which of them still wait."""
    return {name for name, id_ in waiting.items() if await gateway.status(id_) == "SCHEDULED"}


async def test_by_the_beginning_of_its_client_ref(gateway: Gateway, waiting: dict[str, str]) -> None:
    answer = await gateway.call("POST", CANCEL, {"client_ref_prefix": "spring-"})
    assert answer.json() == {
        "success": True,
        "message": "2 messages canceled",
        "data": {"canceled": 2, "too_late": 0, "done": True, "cursor": None},
    }
    assert await left(gateway, waiting) == {"summer-1", ""}
    assert await statuses(gateway, waiting["spring-1"]) == ["SCHEDULED", "CANCELED"]
    seen = [event["data"] for event in await feed(gateway) if event["data"].get("status") == "CANCELED"]
    assert {one["client_ref"] for one in seen} == {"spring-1", "spring-2"}
    assert {one["previous"] for one in seen} == {"SCHEDULED"}
    assert (await cancel(gateway, client_ref_prefix="spring-"))["canceled"] == 0, "a repeat changes nothing"
    assert len(await statuses(gateway, waiting["spring-1"])) == 2
    async with gateway.db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM scheduled_messages") == 2


async def test_a_prefix_is_taken_as_it_is(gateway: Gateway, waiting: dict[str, str]) -> None:
    for wrong in ("Spring", "spring_", "%", "pring", "spring-11"):
        assert (await cancel(gateway, client_ref_prefix=wrong))["canceled"] == 0, wrong
    assert len(await left(gateway, waiting)) == 4


async def test_by_person(gateway: Gateway, waiting: dict[str, str]) -> None:
    assert (await cancel(gateway, phone="5511000000000"))["canceled"] == 0
    shown = (await gateway.call("GET", f"/api/v1/messages/{waiting['']}")).json()["data"]
    assert (await cancel(gateway, phone=PERSON, conversation=shown["conversation"]["id"]))["canceled"] == 0
    assert (await cancel(gateway, phone=PERSON))["canceled"] == 2
    assert await left(gateway, waiting) == {"spring-2", ""}
    assert (await cancel(gateway, conversation=shown["conversation"]["id"]))["canceled"] == 2


async def test_by_the_number_of_a_contact_that_was_deleted(gateway: Gateway, waiting: dict[str, str]) -> None:
    contact = (await gateway.call("GET", f"/api/v1/messages/{waiting['']}")).json()["data"]["contact"]["id"]
    assert (await gateway.call("DELETE", f"/api/v1/contacts/{contact}")).status == 200
    assert (await cancel(gateway, phone=OTHER, client_ref_prefix="spring-"))["canceled"] == 1
    await gateway.send(phone=OTHER, body="to the new contact", send_at=later(gateway, 60))
    assert (await cancel(gateway, phone=OTHER))["canceled"] == 2
    assert await left(gateway, waiting) == {"spring-1", "summer-1"}


async def test_by_label(gateway: Gateway, waiting: dict[str, str]) -> None:
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    assert (await cancel(gateway, label=label))["canceled"] == 0
    shown = (await gateway.call("GET", f"/api/v1/messages/{waiting['']}")).json()["data"]
    path = f"/api/v1/contacts/{shown['contact']['id']}/labels/{label}"
    assert (await gateway.call("PUT", path)).status < 300
    assert (await cancel(gateway, label=label, client_ref_prefix="spring"))["canceled"] == 1
    assert await left(gateway, waiting) == {"spring-1", "summer-1", ""}
    assert (await cancel(gateway, label=label))["canceled"] == 1


async def test_by_the_time_that_it_is_scheduled_for(gateway: Gateway, waiting: dict[str, str]) -> None:
    await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 130429})  # so that all of them wait
    queued = await gateway.send(phone=PERSON, body="not scheduled")
    shown = (await gateway.call("GET", f"/api/v1/messages/{waiting['spring-2']}")).json()["data"]
    assert (await cancel(gateway, send_to=shown["send_at"]))["canceled"] == 1, "the end is not part of it"
    assert await left(gateway, waiting) == {"spring-2", "summer-1", ""}
    end = (await gateway.call("GET", f"/api/v1/messages/{waiting['summer-1']}")).json()["data"]["send_at"]
    assert (await cancel(gateway, send_from=shown["send_at"], send_to=end))["canceled"] == 1
    assert await left(gateway, waiting) == {"summer-1", ""}
    assert await gateway.status(queued) == "PENDING"


async def test_by_the_time_of_its_acceptance(gateway: Gateway, waiting: dict[str, str]) -> None:
    shown = (await gateway.call("GET", f"/api/v1/messages/{waiting['summer-1']}")).json()["data"]
    assert (await cancel(gateway, created_to=shown["created_at"]))["canceled"] == 2
    assert (await cancel(gateway, created_from=shown["created_at"], client_ref_prefix="s"))["canceled"] == 1
    assert await left(gateway, waiting) == {""}


async def test_by_batch_and_nothing_but_the_batch(gateway: Gateway, waiting: dict[str, str]) -> None:
    sends = [one | {"send_at": later(gateway, 60)} for one in texts(1000)]
    data = (await gateway.call("POST", BATCH, {"messages": [*sends[:999], {"phone": "12", "body": "x"}]})).json()[
        "data"
    ]
    other = (await gateway.call("POST", BATCH, {"messages": sends[:3]})).json()["data"]
    assert data["batch_id"] != other["batch_id"]
    made = await cancel(gateway, batch_id=data["batch_id"])
    assert made == {"canceled": 999, "too_late": 0, "done": True, "cursor": None}
    again = await cancel(gateway, batch_id=data["batch_id"])
    assert (again["canceled"], again["too_late"]) == (0, 999), "of a batch, what has ended is counted too"
    assert len(await left(gateway, waiting)) == 4
    assert (await cancel(gateway, created_from="2026-01-01"))["canceled"] == 7


async def test_a_batch_that_is_repeated_keeps_its_id(gateway: Gateway) -> None:
    body = {"messages": [texts(1)[0] | {"send_at": later(gateway, 60)}, {"phone": "12", "body": "x"}]}
    key = {"idempotency-key": "campaign-1"}
    first, again = [(await gateway.call("POST", BATCH, body, headers=key)).json()["data"] for _ in range(2)]
    assert first["batch_id"] == again["batch_id"]
    fresh = (await gateway.call("POST", BATCH, body)).json()["data"]
    assert fresh["batch_id"] != first["batch_id"]
    assert (await cancel(gateway, batch_id=first["batch_id"]))["canceled"] == 1
    assert (await cancel(gateway, batch_id=fresh["batch_id"]))["canceled"] == 1
    none = (await gateway.call("POST", BATCH, {"messages": [{"phone": "12", "body": "x"}]})).json()["data"]
    assert none["batch_id"] is None


async def test_a_batch_of_two_commits_is_one(gateway: Gateway) -> None:
    """What the plan cut off at first, and took with the repeat, has the same id; what came between stays."""
    account = await gateway.new_account("starter")
    gateway.key = await gateway.new_key((await gateway.new_channel(account, "15550007777", "100000000000007")).id)
    month = month_of(gateway.clock.now())
    async with gateway.db.connection() as conn:
        await conn.execute("INSERT INTO account_usage VALUES ($1, $2, 11999)", account, month)
    body = {"messages": [one | {"send_at": later(gateway, 60)} for one in texts(2)]}
    key = {"idempotency-key": "campaign-2"}
    first = (await gateway.call("POST", BATCH, body, headers=key)).json()["data"]
    async with gateway.db.connection() as conn:
        await conn.execute("UPDATE account_usage SET used = 0 WHERE account_id = $1", account)
    between = await gateway.send(phone=PERSON, body="between", send_at=later(gateway, 60))
    second = (await gateway.call("POST", BATCH, body, headers=key)).json()["data"]
    assert (first["accepted"], second["accepted"]) == (1, 2)
    assert first["batch_id"] == second["batch_id"]
    assert (await cancel(gateway, batch_id=first["batch_id"]))["canceled"] == 2
    assert await gateway.status(between) == "SCHEDULED"


async def test_what_is_on_its_way_is_too_late(gateway: Gateway) -> None:
    await gateway.sandbox("POST", "/control/faults", {"fault": "accept_hang", "seconds": 30, "to": PERSON})
    on_its_way = await gateway.send(phone=PERSON, body="A", client_ref="x-1")
    behind = await gateway.send(phone=PERSON, body="B", client_ref="x-2")

    async def called() -> bool:
        shown = (await gateway.call("GET", f"/api/v1/messages/{on_its_way}")).json()["data"]
        return bool(shown["status"] != "PENDING" or shown["waiting"]["rule"] == "sending")

    await until(called)
    made = await cancel(gateway, client_ref_prefix="x-")
    assert made["canceled"] == 1
    assert await gateway.status(behind) == "CANCELED"
    assert await gateway.status(on_its_way) != "CANCELED"


async def test_what_waits_in_the_owners_memory_is_let_go(gateway: Gateway) -> None:
    """A campaign that is being sent stops at once."""
    slow = FAST_NETWORK | {"throughput": 2}
    channel = await gateway.new_channel(gateway.account_id, "15550004444", "100000000000004", slow)
    gateway.key = await gateway.new_key(channel.id)
    sends = [one | {"priority": "bulk"} for one in texts(300)]
    made = (await gateway.call("POST", BATCH, {"messages": sends})).json()["data"]
    ids = [result["data"]["key"]["id"] for result in made["results"]]
    await gateway.until_status(ids[0], "READ")
    stopped = await cancel(gateway, batch_id=made["batch_id"])
    assert stopped["canceled"] + stopped["too_late"] == 300
    assert stopped["canceled"] > 200

    async def settled() -> bool:
        shown = (await gateway.call("GET", "/api/v1/channel")).json()["data"]
        return bool(shown["queued"] == 0)

    await until(settled)
    sent = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    assert len(sent) == stopped["too_late"]


async def test_two_at_once_cancel_each_message_once(gateway: Gateway) -> None:
    sends = [one | {"send_at": later(gateway, 60)} for one in texts(600)]
    batch_id = (await gateway.call("POST", BATCH, {"messages": sends})).json()["data"]["batch_id"]
    both = await asyncio.gather(*(cancel(gateway, batch_id=batch_id) for _ in range(2)))
    assert sum(one["canceled"] for one in both) == 600
    seen = [event for event in await feed(gateway) if event["data"].get("status") == "CANCELED"]
    assert len(seen) == 600


@for_each(
    ("asked", "field"),
    [
        ({}, "batch_id"),
        ({"tz": "UTC"}, "batch_id"),
        ({"phone": None}, "batch_id"),
        ({"phone": "12"}, "phone"),
        ({"conversation": "x"}, "conversation"),
        ({"client_ref_prefix": ""}, "client_ref_prefix"),
        ({"client_ref_prefix": "x" * 257}, "client_ref_prefix"),
        ({"client_ref_prefix": "a\x00b"}, "client_ref_prefix"),
        ({"created_from": "yesterday"}, "created_from"),
        ({"send_to": "2026-02-30"}, "send_to"),
        ({"send_from": "2026-11-15", "send_to": "2026-11-15"}, "send_to"),
        ({"created_from": "2026-11-15", "tz": "Mars/Olympus"}, "tz"),
        ({"status": "SCHEDULED"}, "status"),
    ],
)
async def test_a_selection_that_is_none_cancels_nothing(
    gateway: Gateway, waiting: dict[str, str], asked: dict[str, Any], field: str
) -> None:
    code = "invalid_phone" if field == "phone" else "invalid_field"
    check_refused(await gateway.call("POST", CANCEL, asked), 422, code, field, about=asked)
    assert len(await left(gateway, waiting)) == 4


async def test_cursors_of_others_are_refused(gateway: Gateway) -> None:
    for wrong in ("x", "e30", "bnVsbA", "W10", "eyJpZCI6IngifQ"):
        answer = await gateway.call("POST", CANCEL, {"phone": PERSON, "cursor": wrong})
        check_refused(answer, 400, "invalid_cursor", about=wrong)
    cursor = show_cursor({"id": "0" * 32, "at": -1})
    check_refused(await gateway.call("POST", CANCEL, {"phone": PERSON, "cursor": cursor}), 400, "invalid_cursor")
    far = show_cursor({"id": "f" * 32, "at": 253_402_300_799_000_000})
    assert (await cancel(gateway, created_from="2026-01-01", cursor=far))["canceled"] == 0


async def test_a_client_ref_of_the_longest_kind(gateway: Gateway) -> None:
    longest = "x" * CLIENT_REF_MAX
    await gateway.send(phone=PERSON, body="A", client_ref=longest, send_at=later(gateway, 60))
    assert (await cancel(gateway, client_ref_prefix=longest[:-1]))["canceled"] == 1
    assert (await cancel(gateway, client_ref_prefix=longest))["canceled"] == 0


async def test_another_tenants_things_are_not_there(gateway: Gateway, waiting: dict[str, str]) -> None:
    batch = (await gateway.call("POST", BATCH, {"messages": [texts(1)[0] | {"send_at": later(gateway, 60)}]})).json()[
        "data"
    ]
    label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
    shown = (await gateway.call("GET", f"/api/v1/messages/{waiting['']}")).json()["data"]
    stranger = await gateway.new_stranger()
    for asked in (
        {"batch_id": batch["batch_id"]},
        {"batch_id": "bat_" + "0" * 32},
        {"batch_id": "nonsense"},
        {"label": label},
        {"conversation": shown["conversation"]["id"]},
    ):
        check_refused(await gateway.call("POST", CANCEL, asked, key=stranger), 404, "not_found", about=asked)
    for asked in ({"phone": PERSON}, {"client_ref_prefix": "s"}, {"created_from": "2026-01-01"}):
        answer = await gateway.call("POST", CANCEL, asked, key=stranger)
        assert answer.json()["data"] == {"canceled": 0, "too_late": 0, "done": True, "cursor": None}
    assert len(await left(gateway, waiting)) == 4
