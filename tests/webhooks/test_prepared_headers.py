"""The headers that are prepared once for an endpoint equal those that are made for one delivery, byte by byte."""

import msgspec
import pytest
from standardwebhooks import Webhook

from gatepost.model.delivery import masked
from gatepost.store.endpoints import EndpointChange, update_endpoint
from gatepost.webhooks.signature import delivery_headers
from tests.webhooks.stage import SECRET, Stage

CUSTOM = {"X-Shop": '7 "\\ 8', "Authorization": "Bearer shop"}


@pytest.mark.parametrize("custom", [{}, CUSTOM], ids=["none", "own"])
@pytest.mark.parametrize("batch", [1, 3])
async def test_the_request_and_its_log(stage: Stage, custom: dict[str, str], batch: int) -> None:
    hook = await stage.add(batch=batch)
    before = await stage.endpoint(hook)
    await update_endpoint(stage.db, stage.channel_id, hook, EndpointChange(headers=custom), before.updated_at)
    await stage.take_over()
    await stage.emit(3)
    await stage.drive(5)
    rows = await stage.rows("delivery_attempts", "ORDER BY event_id")
    requests = {request.headers["webhook-id"]: request for request in stage.received()}
    assert (len(rows), len(requests)) == (3, 3 if batch == 1 else 1)
    for row in rows:
        logged = msgspec.json.decode(row["request_headers"], type=dict[str, str])
        request = requests[logged["webhook-id"]]
        stamp = int(request.headers["webhook-timestamp"])
        headers = delivery_headers(custom, [SECRET], request.headers["webhook-id"], stamp, request.body)
        assert row["request_headers"] == msgspec.json.encode(masked(headers)).decode()
        assert {name.lower(): value for name, value in headers.items()}.items() <= request.headers.items()
        Webhook(SECRET).verify(request.body, request.headers)


async def test_they_change_with_the_endpoint(stage: Stage) -> None:
    hook = await stage.add()
    await stage.take_over()
    for number in ("1", "2"):
        before = await stage.endpoint(hook)
        change = EndpointChange(headers={"X-Shop": number}, url=f"{stage.receiver.url}/{number}")
        await update_endpoint(stage.db, stage.channel_id, hook, change, before.updated_at)
        await stage.refresh()
        await stage.emit(1)
        await stage.drive(5)
        (request,) = stage.received(f"/{number}")
        assert request.headers["x-shop"] == number
    assert {row["url"][-2:] for row in await stage.rows("delivery_attempts")} == {"/1", "/2"}
