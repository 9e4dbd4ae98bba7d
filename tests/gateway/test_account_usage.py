"""The usage of an account in the API: days in UTC, types, channels, failures, limits of the range, other accounts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from gatepost.model import ids
from tests.gateway.checks import PERSON, check_refused, until
from tests.gateway.people import Person, new_person
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

USAGE = "/api/v1/account/usage"
EVENING = datetime(2026, 11, 14, 23, 59, 59, 900_000, tzinfo=UTC)


async def usage(person: Person, query: str = "") -> Any:
    answer = await person.call("GET", f"{USAGE}?{query}")
    assert answer.status == 200, answer.body
    return answer.json()["data"]


async def test_days_types_channels_and_failures(gateway: Gateway) -> None:
    reader = await new_person(gateway, "reader")
    second = await gateway.new_channel(gateway.account_id, "15550002222", "100000000000002")
    await gateway.send(phone=PERSON, body="Hello")
    await gateway.send(phone=PERSON, type="location", location={"latitude": 1, "longitude": 2})
    await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 131026, "to": "5511999990001"})
    failed = [await gateway.send(phone="5511999990001", body="Hello") for _ in range(2)]
    for message in failed:
        await gateway.until_status(message, "FAILED")
    said = {"from": PERSON, "type": "text", "text": {"body": "Hi"}}
    await gateway.sandbox("POST", "/control/numbers/100000000000002/incoming", said)

    async def received() -> bool:
        return bool((await usage(reader))["days"][-1]["in"]["total"])

    await until(received)
    found = await usage(reader)
    today = datetime.now(UTC).date()
    assert (found["from"], found["to"], found["time_zone"]) == (
        (today - timedelta(days=29)).isoformat(),
        (today + timedelta(days=1)).isoformat(),
        "UTC",
    )
    assert [day["date"] for day in found["days"]] == [
        (today - timedelta(days=back)).isoformat() for back in reversed(range(30))
    ]
    assert found["days"][-1] == {
        "date": today.isoformat(),
        "out": {"total": 4, "types": {"location": 1, "text": 3}},
        "in": {"total": 1, "types": {"text": 1}},
        "failed": 2,
    }
    first, other = found["channels"]
    assert (first["id"], first["out"], first["in"], first["failed"]) == (gateway.channel, 4, 0, 2)
    assert first["out_by_day"] == [0] * 29 + [4]
    assert (other["id"], other["out"], other["in"], other["failed"]) == (ids.format_id("ch", second.id), 0, 1, 0)
    assert other["in_by_day"] == [0] * 29 + [1]
    assert first["throughput"]["limit"] == 1000
    assert (found["plan"]["name"], found["plan"]["used"]) == ("unlimited", 4)
    (failure,) = found["failures"]
    assert (failure["code"], failure["count"]) == ("131026", 2)
    assert (failure["last_channel"], failure["last_message"]) == (gateway.channel, failed[-1])
    assert failure["title"]
    assert failure["advice"]

    async with gateway.db.connection() as conn:
        await conn.execute("DELETE FROM messages WHERE channel_id = $1", UUID(hex=gateway.channel[3:]))  # as retention
    (failure,) = (await usage(reader))["failures"]
    assert (failure["count"], failure["title"]) == (2, "Cannot be delivered")

    only = await usage(reader, f"channel={ids.format_id('ch', second.id)}")
    assert [channel["id"] for channel in only["channels"]] == [ids.format_id("ch", second.id)]
    assert (only["days"][-1]["out"]["total"], only["days"][-1]["in"]["total"], only["failures"]) == (0, 1, [])
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    theirs = await usage(stranger)
    assert (theirs["channels"], theirs["failures"], theirs["plan"]["used"]) == ([], [], 0)
    assert {day["out"]["total"] + day["in"]["total"] + day["failed"] for day in theirs["days"]} == {0}
    check_refused(await stranger.call("GET", f"{USAGE}?channel={gateway.channel}"), 404, "not_found")


async def test_days_end_at_midnight_in_utc(database_url: str) -> None:
    clock = MovableClock(EVENING)
    async with running_gateway(database_url, clock=clock) as gateway:
        reader = await new_person(gateway, "reader")
        await gateway.send(phone=PERSON, body="In the evening")
        clock.advance(0.2)
        await gateway.send(phone=PERSON, body="In the morning")
        await gateway.send(phone=PERSON, body="In the morning")
        days = (await usage(reader, "from=2026-11-13&to=2026-11-16"))["days"]
        assert {day["date"]: day["out"]["total"] for day in days} == {
            "2026-11-13": 0,
            "2026-11-14": 1,
            "2026-11-15": 2,
        }
        assert [day["out"]["total"] for day in (await usage(reader, "to=2026-11-15&from=2026-11-14"))["days"]] == [1]


@pytest.mark.parametrize(
    ("query", "days"),
    [("from=2026-01-01&to=2026-04-03", 92), ("to=2026-11-15", 30), ("from=2026-02-28&to=2026-03-01", 1)],
)
async def test_ranges(gateway: Gateway, query: str, days: int) -> None:
    assert len((await usage(await new_person(gateway, "agent"), query))["days"]) == days


async def test_ranges_that_are_refused(gateway: Gateway) -> None:
    person = await new_person(gateway, "reader")
    for query, field in (
        ("from=2026-01-01&to=2026-04-04", "from"),  # 93 days
        ("from=2026-01-01&to=2026-01-01", "to"),
        ("from=2026-01-02&to=2026-01-01", "to"),
        ("from=2026-02-30", "from"),
        ("from=2026-11-15T10:00:00Z", "from"),
        ("to=9999-12-31", "to"),
        ("to=today", "to"),
        ("from=0001-01-01", "from"),
        ("to=0001-01-01", "to"),
        ("tz=Europe/Lisbon", "tz"),
    ):
        check_refused(await person.call("GET", f"{USAGE}?{query}"), 422, "invalid_field", field, query)
    check_refused(await person.call("GET", f"{USAGE}?channel=nonsense"), 404, "not_found")
    check_refused(await gateway.call("GET", USAGE), 403, "session_required")
