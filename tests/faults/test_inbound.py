"""Callbacks: large batches are stored once, duplicates never, and nothing without a valid signature."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from gatepost.admin import channels
from tests.conftest import Receiver
from tests.faults.callbacks import body_of, post_callback, post_raw, signed, text
from tests.faults.run_records import read_feed
from tests.faults.stage import APP_SECRET, Stage, running_stage
from tests.running_gateway import FAST_NETWORK


@pytest.fixture
async def stage(database_url: str, receiver: Receiver) -> AsyncIterator[Stage]:
    """A running gateway."""
    async with running_stage(database_url, receiver) as one:
        await one.create_channel()
        await one.start()
        yield one


async def incoming(stage: Stage) -> int:
    [row] = await stage.rows("SELECT count(*) AS n FROM messages WHERE incoming")
    return int(row["n"])


async def test_a_thousand_updates_in_one_body_come_in_once(stage: Stage) -> None:
    updates = [text(f"wamid.{number}", f"55119{number % 400:08}", f"Text {number}") for number in range(1000)]
    assert (await post_callback(stage, updates)).status == 200
    assert await incoming(stage) == 1000
    again = await asyncio.gather(
        post_callback(stage, updates), post_callback(stage, updates[::-1]), post_callback(stage, updates[:10] * 5)
    )
    assert [answer.status for answer in again] == [200, 200, 200]
    assert await incoming(stage) == 1000
    events = await read_feed(stage)
    assert [event["sequence"] for event in events] == list(range(1, 1801))  # each of 400 people is greeted with two
    texts = [event["data"]["content"]["body"] for event in events if event["type"] == "message_notification"]
    assert texts == [f"Text {number}" for number in range(1000)]
    assert len(await stage.rows("SELECT 1 FROM contacts")) == 400


async def test_each_of_a_thousand_reaches_the_receiver(stage: Stage) -> None:
    await post_callback(stage, [text(f"wamid.{number}", f"55119{number:08}") for number in range(1000)])
    requests = await stage.receiver.wait_for(3000)
    assert len({request.headers["webhook-id"] for request in requests}) == 3000


async def test_one_double_inside_a_body_counts_once(stage: Stage) -> None:
    one = text("wamid.same", "5511944440000")
    assert (await post_callback(stage, [one, one, one])).status == 200
    assert await incoming(stage) == 1


def forgeries(body: bytes) -> dict[str, dict[str, str]]:
    """What a forger without the secret, or with a careless one, could try."""
    rewritten = json.dumps(json.loads(body), indent=1).encode()
    sha1 = hmac.new(APP_SECRET.encode(), body, hashlib.sha1).hexdigest()
    right = signed(body)["X-Hub-Signature-256"]
    return {
        "none": {},
        "empty": {"X-Hub-Signature-256": ""},
        "wrong secret": signed(body, "another-secret"),
        "no secret": signed(body, ""),
        "sha1": {"X-Hub-Signature": f"sha1={sha1}"},
        "sha1 as sha256": {"X-Hub-Signature-256": f"sha256={sha1}"},
        "sha1 in its own words": {"X-Hub-Signature-256": f"sha1={sha1}"},
        "over the same JSON in another format": signed(rewritten),
        "half of the right one": {"X-Hub-Signature-256": right[:39]},
        "without its prefix": {"X-Hub-Signature-256": right.removeprefix("sha256=")},
    }


async def test_a_forged_callback_is_refused_and_leaves_no_trace(stage: Stage) -> None:
    body = body_of([text("wamid.forged", "5511944440000")])
    before = await traces(stage)
    for how, proof in forgeries(body).items():
        assert (await post_raw(stage, body, proof)).status == 401, how
        assert await traces(stage) == before, how
    assert (await post_raw(stage, body, signed(body))).status == 200
    assert await incoming(stage) == 1


async def test_a_body_that_was_changed_after_signing_is_refused(stage: Stage) -> None:
    body = body_of([text("wamid.changed", "5511944440000", "Pay 10")])
    assert (await post_raw(stage, body.replace(b"Pay 10", b"Pay 99"), signed(body))).status == 401
    assert await incoming(stage) == 0


async def test_the_secret_of_another_channel_is_refused(stage: Stage) -> None:
    await channels.create_official(
        stage.db,
        stage.vault,
        await stage.new_account(),
        phone="15550003333",
        name="Other",
        number=channels.CloudNumber("100000000000003", base_url=stage.sandbox_url),
        token="token-3",
        app_secret="other-app-secret",
        verify_token="verify",
        limits=FAST_NETWORK,
        now=datetime.now(UTC),
    )
    before = await traces(stage)
    for number_id in ("100000000000001", "100000000000003"):
        body = body_of([text("wamid.other", "5511944440000")], number_id)
        assert (await post_raw(stage, body, signed(body, "other-app-secret"))).status == 401
    assert await traces(stage) == before


async def traces(stage: Stage) -> list[Any]:
    """Everything that a callback could change."""
    tables = ("messages", "events", "deliveries", "contacts", "conversations", "parked_statuses")
    counts = [await stage.rows(f"SELECT count(*) AS n FROM {table}") for table in tables]
    return [*counts, await stage.rows("SELECT channel_id, seq, last_event_id FROM channel_heads ORDER BY 1")]
