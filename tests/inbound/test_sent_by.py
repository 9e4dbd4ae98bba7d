"""Messages that were written on the channel's own phone say so."""

from gatepost.model.sender import PHONE
from tests.inbound.incoming_messages import ANA, data, message_from, receive
from tests.outbound.stage import Stage


async def test_the_phone_is_the_sender(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA), message_from(stage, ANA, from_me=True))
    rows = await stage.rows("messages")
    assert {row["incoming"]: row["sent_by"] for row in rows} == {True: None, False: PHONE}
    incoming, outgoing = await data(stage, "message_notification")
    assert "sent_by" not in incoming
    assert outgoing["sent_by"] == {"kind": "phone", "id": None, "label": None}


async def test_an_edit_names_the_sender_too(stage: Stage) -> None:
    sent = message_from(stage, ANA, from_me=True)
    edit = {"edit": {"type": "text", "content": {"body": "Hello"}}}
    await receive(stage, sent, message_from(stage, ANA, "edit", edit, from_me=True, target=sent.network_id))
    (updated,) = await data(stage, "message_notification", "updated")
    assert updated["sent_by"] == {"kind": "phone", "id": None, "label": None}
