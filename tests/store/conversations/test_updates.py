"""What messages do to conversations: greeted once, counted as unread, reopened, and sorted by what came last."""

import asyncio
from typing import Any

from gatepost.store.channel_head import lock_head
from tests.inbound.incoming_messages import ANA, BOB, message_from, read_events, receive
from tests.outbound.stage import Stage


async def conversation_of(stage: Stage, phone: str) -> Any:
    (row,) = await stage.rows("contacts", f"AND phone = '{phone}'")
    (found,) = await stage.rows("conversations", f"AND contact_id = '{row['id']}'")
    return found


async def change(stage: Stage, **fields: Any) -> None:
    async with stage.db.transaction() as conn:
        await lock_head(conn, stage.channel_id)
        names = ", ".join(f"{name} = ${i}" for i, name in enumerate(fields, 2))
        await conn.execute(
            f"UPDATE conversations SET {names} WHERE channel_id = $1", stage.channel_id, *fields.values()
        )


async def test_a_new_contact_is_reported_once_before_anything_else(stage: Stage) -> None:
    await stage.accept(ANA.phone or "")
    await stage.accept(ANA.phone or "")
    await receive(stage, message_from(stage, BOB), message_from(stage, ANA), message_from(stage, BOB))
    events = [(e["type"], e["action"]) for e in await read_events(stage, greetings=True)]
    greeting = [("contact_notifications", "created"), ("chat_notification", "created")]
    message = ("message_notification", "created")
    assert events == [*greeting, message, message, *greeting, ("contact_notifications", "updated"), *[message] * 3]
    met, opened = (await read_events(stage, "c", "created", greetings=True))[:2]
    assert met["data"]["phone"] == ANA.phone
    assert opened["data"]["contact"]["id"] == met["data"]["id"]
    assert opened["data"]["id"] == met["data"]["conversation"]["id"]


async def test_what_people_write_is_unread_and_what_they_do_to_it_is_not(stage: Stage) -> None:
    first = message_from(stage, ANA, id="wamid.first")
    await receive(stage, first, message_from(stage, ANA))
    await receive(stage, first)
    emoji = {"reaction": {"emoji": "👍"}}
    await receive(stage, message_from(stage, ANA, "reaction", emoji, target="wamid.first"))
    await receive(stage, message_from(stage, ANA, "system", {"system": {}}), message_from(stage, ANA, from_me=True))
    assert (await conversation_of(stage, ANA.phone or ""))["unread"] == 2


async def test_the_newest_message_either_way_is_noted(stage: Stage) -> None:
    sent = await stage.accept(ANA.phone or "")
    assert (await conversation_of(stage, ANA.phone or ""))["last_message_id"] == sent
    stage.clock.advance(5)
    await receive(stage, message_from(stage, ANA, id="wamid.1"))
    (incoming,) = await stage.rows("messages", "AND incoming")
    assert (await conversation_of(stage, ANA.phone or ""))["last_message_id"] == incoming["id"]
    await receive(stage, message_from(stage, ANA, age=3600))
    assert (await conversation_of(stage, ANA.phone or ""))["last_message_id"] == incoming["id"]


async def test_many_at_once_count_right(stage: Stage) -> None:
    reports = (receive(stage, message_from(stage, ANA), message_from(stage, BOB)) for _ in range(20))
    sends = (stage.accept(ANA.phone or "", f"{number}") for number in range(20))
    await asyncio.gather(*reports, *sends)
    for person in (ANA, BOB):
        assert (await conversation_of(stage, person.phone or ""))["unread"] == 20
    newest = max(row["id"] for row in await stage.rows("messages", f"AND phone = '{ANA.phone}'"))
    assert (await conversation_of(stage, ANA.phone or ""))["last_message_id"] == newest


async def test_a_message_reopens_a_closed_or_archived_conversation(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA))
    for fields in ({"status": "closed"}, {"archived": True}, {"status": "closed", "archived": True}):
        await change(stage, **fields)
        await receive(stage, message_from(stage, ANA), message_from(stage, ANA))
        found = await conversation_of(stage, ANA.phone or "")
        assert (found["status"], found["archived"]) == ("open", False)
    events = await read_events(stage, "chat_notification", "updated")
    assert [event["data"]["status"] for event in events] == ["open"] * 3
    assert [event["data"]["changed"] for event in events] == [["status"], ["archived"], ["status", "archived"]]
    await receive(stage, message_from(stage, ANA))
    assert len(await read_events(stage, "chat_notification", "updated")) == 3


async def test_what_the_business_writes_reopens_nothing(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA))
    await change(stage, status="closed")
    await stage.accept(ANA.phone or "")
    await receive(stage, message_from(stage, ANA, from_me=True))
    assert (await conversation_of(stage, ANA.phone or ""))["status"] == "closed"
    assert await read_events(stage, "chat_notification") == []
