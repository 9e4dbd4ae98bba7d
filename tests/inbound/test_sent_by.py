"""Messages that were written on the channel's own phone say so."""

from gatepost.model.sender import PHONE
from tests.inbound.incoming_messages import ANA, message_from, receive
from tests.outbound.stage import Stage


async def test_the_phone_is_the_sender(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA), message_from(stage, ANA, from_me=True))
    rows = await stage.rows("messages")
    assert {row["incoming"]: row["sent_by"] for row in rows} == {True: None, False: PHONE}
