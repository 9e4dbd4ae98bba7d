"""One message: accepted, sent, delivered, read, and reported by webhooks that a third-party library verifies."""

from standardwebhooks.webhooks import Webhook

from tests.conftest import Receiver
from tests.running_gateway import running_gateway


async def test_message_goes_all_the_way(parted_database_url: str, receiver: Receiver) -> None:
    async with running_gateway(parted_database_url) as gateway:
        made = await gateway.call("POST", "/api/v1/webhooks", {"url": receiver.url + "/hook"})
        message_id = await gateway.send(phone="5511999998888", body="Hello", client_ref="order-1")
        await gateway.until_status(message_id, "READ")
        requests = await receiver.wait_for(6)
        verifier = Webhook(made.json()["data"]["secret"])
        events = [verifier.verify(request.body, request.headers) for request in requests]
    assert sorted(event["sequence"] for event in events) == [1, 2, 3, 4, 5, 6]
    in_order = sorted(events, key=lambda event: event["sequence"])
    assert [event["type"] for event in in_order[:2]] == ["contact_notifications", "chat_notification"]
    assert [event["data"]["status"] for event in in_order[2:]] == ["PENDING", "SENT", "DELIVERED", "READ"]
    assert {event["data"]["client_ref"] for event in in_order[2:]} == {"order-1"}
    assert {request.headers["webhook-id"] for request in requests} == {event["id"] for event in events}
