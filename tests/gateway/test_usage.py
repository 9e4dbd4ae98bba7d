"""Usage in the API: the plan, the limits, and the days."""

from datetime import UTC, datetime
from typing import Any

from gatepost.admin import accounts
from gatepost.model import times
from gatepost.model.account import API_ACCESS
from tests.gateway.checks import PERSON, until
from tests.running_gateway import Gateway, running_gateway

USAGE = "/api/v1/usage"
SMALL: dict[str, Any] = {"plans__small__title": "Small", "plans__small__messages_per_month": 5}


async def usage(gateway: Gateway) -> Any:
    answer = await gateway.call("GET", USAGE)
    assert answer.status == 200, answer.body
    return answer.json()["data"]


async def test_a_plan_with_its_rest(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, **SMALL) as gateway:
        account_id = await gateway.new_account("small")
        channel = await gateway.new_channel(account_id, "15550007777", "100000000000007")
        gateway.key = await gateway.new_key(channel.id)
        for _ in range(2):
            await gateway.send(phone=PERSON, body="Hello")
        shown = await usage(gateway)
        now = datetime.now(UTC)
        assert shown["plan"] == {
            "name": "small",
            "title": "Small",
            "month": times.month_of(now).isoformat()[:7],
            "limit": 5,
            "used": 2,
            "left": 3,
            "resets_at": times.format_time(times.month_end(now)),
        }
        assert (shown["trial"]["active"], shown["addons"], shown["api_access"]) == (True, [], False)
        await accounts.add_addon(gateway.db, account_id, API_ACCESS, now)
        assert (await usage(gateway))["api_access"] is True


async def test_what_the_limits_leave(gateway: Gateway) -> None:
    shown = await usage(gateway)
    assert (shown["plan"]["limit"], shown["plan"]["left"]) == (None, None)
    assert (shown["throughput"]["limit"], shown["throughput"]["used"]) == (1000, 0)
    assert shown["tier"]["limit"] is None
    assert shown["api"] == {"rate": 100_000, "burst": 100_000}


async def test_the_days_by_direction_and_type(gateway: Gateway) -> None:
    assert [day["out"]["total"] for day in (await usage(gateway))["days"]] == [0] * 30
    await gateway.send(phone=PERSON, body="Hello")
    await gateway.send(phone=PERSON, type="location", location={"latitude": 1, "longitude": 2})
    sent = await gateway.send(phone=PERSON, body="Again")
    await gateway.until_status(sent, "READ")
    said = {"phone_number_id": "100000000000001", "from": PERSON, "text": 'Hi "direction":"out","type":"image"'}
    await gateway.sandbox("POST", "/control/say", said)

    async def received() -> bool:
        return bool((await usage(gateway))["days"][0]["in"]["total"])

    await until(received)
    today = (await usage(gateway))["days"][0]
    assert today["date"] == datetime.now(UTC).date().isoformat()
    assert today["out"] == {"total": 3, "types": {"location": 1, "text": 2}}
    assert today["in"] == {"total": 1, "types": {"text": 1}}
    gateway.key = await gateway.new_stranger()
    assert (await usage(gateway))["days"][0]["out"]["total"] == 0
