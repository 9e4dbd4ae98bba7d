"""What a type checker knows of both clients. `make check` reads it; test_typed_example.py runs it."""

from typing import assert_type

from gatepost_client import AsyncGatepost, Event, Gatepost
from gatepost_client.types import Channel, Contact, Conversation, Media, Message, Sent, Template, Usage, Webhook


def blocking(gp: Gatepost, phone: str) -> Message:
    """Use the blocking client."""
    sent = gp.send_text(phone, "Hello", ttl=60, priority="bulk")
    assert_type(sent, Sent)
    assert_type(gp.webhooks(), list[Webhook])
    assert_type(gp.channel(), Channel)
    assert_type(gp.usage(), Usage)
    assert_type(next(gp.events()), Event)
    assert_type(list(gp.templates()) if gp.channel().kind == "other" else [], list[Template])
    gp.send_text(phone, "Hello", colour="red")  # type: ignore[call-arg]
    return gp.message(sent.id)


async def awaiting(gp: AsyncGatepost, phone: str) -> Message:
    """Use the awaiting client."""
    sent = await gp.send_buttons(phone, "All right?", {"yes": "Yes"})
    assert_type(sent, Sent)
    async for contact in gp.contacts(phone=phone):
        assert_type(contact, Contact)
    async for conversation in gp.conversations(status="open"):
        assert_type(conversation, Conversation)
    async for piece in gp.export_messages(format="csv"):
        assert_type(piece, bytes)
    return await gp.message(sent.id)


async def file(gp: AsyncGatepost, media_id: str) -> Media:
    """Look at a file."""
    return await gp.media(media_id)
