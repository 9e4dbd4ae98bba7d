"""pywa hears what became of its messages, through its own handlers and with its check of signatures."""

import time
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import httpx
from pywa.handlers import MessageStatusHandler
from pywa.types.message_status import MessageStatusType, PricingCategory
from pywa.types.templates import BodyText, TemplateLanguage

from tests.patience import PATIENCE

from .stage import PERSON, Stage

OGG = b"OggS" + bytes(32)


def listen(stage: Stage) -> Queue[Any]:
    received: Queue[Any] = Queue()
    stage.wa.add_handlers(MessageStatusHandler(lambda _, status: received.put(status)))
    return received


def take(received: Queue[Any], count: int) -> list[Any]:
    return [received.get(timeout=PATIENCE) for _ in range(count)]


def test_sent_delivered_and_read(stage: Stage) -> None:
    received = listen(stage)
    sent = stage.wa.send_message(PERSON, "Hello", tracker="order 17")
    stage.advance(10)
    first, *_ = statuses = take(received, 3)
    assert {status.status for status in statuses} == {
        MessageStatusType.SENT,
        MessageStatusType.DELIVERED,
        MessageStatusType.READ,
    }
    assert {status.id for status in statuses} == {sent.id}
    assert first.tracker == "order 17"
    assert first.from_user.wa_id == PERSON
    assert first.pricing is not None


def test_a_voice_message_is_played(stage: Stage) -> None:
    received = listen(stage)
    stage.wa.send_voice(PERSON, OGG, mime_type="audio/ogg")
    stage.advance(60)
    assert MessageStatusType.PLAYED in {status.status for status in take(received, 4)}


def test_a_failure_with_its_error(stage: Stage) -> None:
    received = listen(stage)
    stage.control("PUT", f"people/{PERSON}", {"character": "absent"})
    stage.wa.send_message(PERSON, "Hello")
    stage.advance(10)
    [failed] = take(received, 1)
    assert (failed.status, failed.error.code) == (MessageStatusType.FAILED, 131026)


def test_a_template_with_variables_and_its_price(stage: Stage) -> None:
    received = listen(stage)
    values = BodyText.params("Ana", "4711")  # type: ignore[arg-type]
    sent = stage.wa.send_template(PERSON, "order_update", TemplateLanguage.ENGLISH_US, params=[values])
    stage.advance(10)
    statuses = take(received, 3)
    assert {status.id for status in statuses} == {sent.id}
    categories = {status.pricing.category for status in statuses if status.pricing}
    assert categories == {PricingCategory.UTILITY}


def test_pywa_waits_for_a_status(stage: Stage) -> None:
    sent = stage.wa.send_message(PERSON, "Hello")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(sent.wait_until_delivered, timeout=PATIENCE)
        while not (stage.wa._listeners or waiting.done()):  # a status that came before would be missed
            time.sleep(0.01)
        stage.advance(0.5)  # delivered, not read
        assert waiting.result().status == MessageStatusType.DELIVERED


def test_a_callback_with_a_wrong_signature_is_ignored(stage: Stage) -> None:
    received = listen(stage)
    stage.register(f"{stage.hooks.url}/", app_secret="another", verify=False)
    body = b'{"object": "whatsapp_business_account", "entry": []}'
    forged = httpx.post(
        f"{stage.hooks.url}/", content=body, headers={"X-Hub-Signature-256": "sha256=00"}, trust_env=False
    )
    assert forged.status_code == 403
    stage.wa.send_message(PERSON, "Hello")
    stage.advance(0.2)
    attempts = stage.control("GET", "ledger?kind=callback")["entries"]
    assert {attempt["http_status"] for attempt in attempts} == {403}
    assert received.empty()
