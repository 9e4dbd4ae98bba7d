"""Many sends at once, each with its own result."""

from datetime import timedelta

import pytest

from gatepost_client import File, compose
from gatepost_client.errors import NotFound, QuotaExceeded, Refused, TooLarge
from gatepost_client.types import Sent
from tests.client.driver import Driver, Kind, Naps, driving
from tests.client.lossy import lossy_road
from tests.client.test_sending import PERSON, PIXEL
from tests.conftest import Answer, Receiver
from tests.running_gateway import Gateway


async def test_one_bad_message_does_not_spoil_the_rest(gp: Driver, gateway: Gateway) -> None:
    options = [
        compose.text(PERSON, "First"),
        compose.text("12", "Nobody"),
        compose.image(PERSON, File(PIXEL, "image/jpeg")),
        compose.message(PERSON, "Red", colour="red"),
    ]
    batch = await gp.do("batch", options)
    assert [isinstance(result, Sent) for result in batch.results] == [True, False, True, False]
    assert [type(error) for error in batch.refused] == [Refused, Refused]
    assert [error.code for error in batch.refused] == ["invalid_phone", "invalid_field"]
    assert [problem.field for problem in batch.refused[0].fields] == ["phone"]
    assert (await gp.do("message", batch.accepted[0].id)).content == {"body": "First"}
    assert (await gp.do("message", batch.accepted[1].id)).type == "image"


async def test_a_lost_answer_sends_nothing_twice(gateway: Gateway, kind: Kind) -> None:
    async with lossy_road(gateway.url) as road, driving(kind, road.url, gateway.key, Naps()) as gp:
        road.lost = 1
        options = [compose.text(PERSON, f"Number {i}") for i in range(10)]
        assert len((await gp.do("batch", options)).accepted) == 10
        assert len(await gp.all("messages")) == 10
        again = [(await gp.do("batch", options, idempotency_key="news")).results for _ in range(2)]
        assert [sent.id for sent in again[0]] == [sent.id for sent in again[1]]
        assert len(await gp.all("messages")) == 20


async def test_a_batch_has_its_limit(gp: Driver) -> None:
    text = compose.text(PERSON, "x")
    assert len((await gp.do("batch", [text] * 1000)).accepted) == 1000
    for wrong in (0, 1001):
        with pytest.raises(Refused, match="1 to 1,000"):
            await gp.do("batch", [text] * wrong)


async def test_keys_belong_to_the_batch(kind: Kind) -> None:
    async with driving(kind, "http://127.0.0.1:1", "gpk_x") as gp:
        with pytest.raises(ValueError, match="one idempotency_key"):
            await gp.do("batch", [compose.text(PERSON, "x", idempotency_key="y")])


@pytest.mark.parametrize(
    ("code", "kind_of"),
    [
        ("plan_quota_exceeded", QuotaExceeded),
        ("media_too_large", TooLarge),
        ("not_found", NotFound),
        ("invalid_field", Refused),
    ],
)
async def test_each_refusal_has_its_class(kind: Kind, receiver: Receiver, code: str, kind_of: type) -> None:
    one = b'{"success":false,"message":"No","error":{"code":"%b"}}' % code.encode()
    receiver.answer = Answer(200, body=b'{"data":{"accepted":0,"refused":1,"results":[%b]}}' % one)
    async with driving(kind, receiver.url, "gpk_x") as gp:
        (refused,) = (await gp.do("batch", [compose.text(PERSON, "x")])).refused
    assert isinstance(refused, kind_of)


async def test_a_batch_is_withdrawn_by_its_id(gp: Driver, gateway: Gateway) -> None:
    later = gateway.clock.now() + timedelta(hours=1)
    batch = await gp.do("batch", [compose.text(PERSON, f"{i}", send_at=later) for i in range(3)])
    kept = await gp.do("send_text", PERSON, "kept", send_at=later + timedelta(hours=1))
    made = await gp.do("cancel_messages", batch_id=batch.id, send_to=later + timedelta(seconds=1))
    assert (made.canceled, made.too_late) == (3, 0)
    shown = await gp.do("message", kept.id)
    assert (shown.status, shown.waiting.rule) == ("SCHEDULED", "scheduled")
    assert shown.waiting.until == shown.send_at
