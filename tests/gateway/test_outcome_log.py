"""The log of whole lives of messages: one line per outcome, and no secret, number, text or address in any line."""

import msgspec
import structlog

from tests.conftest import Answer, Receiver
from tests.gateway.checks import until
from tests.running_gateway import running_gateway

GOOD, BAD = "5511999998888", "5511999990001"


async def test_each_outcome_has_a_line_and_no_line_has_a_secret(parted_database_url: str, receiver: Receiver) -> None:
    receiver.answer = lambda request: Answer(500 if len(receiver.requests) == 1 else 410, body=b"canary-answer")
    with structlog.testing.capture_logs() as lines:
        async with running_gateway(parted_database_url) as gateway:
            hook = {"url": receiver.url + "/canary-path?token=canary-query", "headers": {"X-Key": "canary-header"}}
            made = (await gateway.call("POST", "/api/v1/webhooks", hook)).json()["data"]
            await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 131026, "to": BAD})
            read = await gateway.send(phone=GOOD, body="canary-text", client_ref="canary-ref")
            failed = await gateway.send(phone=BAD, body="canary-text")
            await gateway.until_status(read, "READ")
            await gateway.until_status(failed, "FAILED")
            await gateway.call("GET", "/api/v1/messages/canary-id", key="gpk_canary")

            async def given_up() -> bool:
                return any(line["event"].startswith("delivery given up") for line in lines)

            await until(given_up)
            secrets = [gateway.key, made["secret"], made["secret"].removeprefix("whsec_"), gateway.sandbox_url]

    def outcomes(message_id: str) -> list[tuple[str, str]]:
        return [(line["log_level"], line["event"]) for line in lines if line.get("message") == message_id]

    assert outcomes(failed) == [("info", "message failed")]
    assert [line["code"] for line in lines if line["event"] == "message failed"] == [131026]
    assert set(outcomes(read)) >= {("debug", f"message {state}") for state in ("sent", "delivered", "read")}
    ends = {(line["log_level"], line["event"]) for line in lines if line["event"].startswith("delivery")}
    assert ("debug", "delivery is tried again") in ends
    assert ("warning", "delivery given up: the endpoint is gone") in ends
    text = "\n".join(msgspec.json.encode(line, enc_hook=repr).decode() for line in lines)
    for word in (*secrets, GOOD, BAD, "15550001111", "canary", "whsec_", "gpk_", "app-secret", "Bearer"):
        assert word not in text, word
