"""An inbox with 10,000 conversations, and a thread of 10,000 messages."""

import re
from typing import Any

from playwright.async_api import Locator

from gatepost.model import ids
from tests.console.test_failed_loads import fail
from tests.console.test_inbox_page import message_of, say
from tests.console.visitor import visiting
from tests.gateway.checks import until
from tests.running_gateway import Gateway
from tests.thorough import choose

COUNT = 10_000
AROUND = re.compile(r"/api/v1/messages\?.*around=")
DRAWN = 100  # rows that may be in the page at once
ROWS, MESSAGES = choose((800, 400), (250, 150))  # that are scrolled through
_ID = "(lpad(to_hex({at} + {n}), 12, '0') || '7000a000000000000000')::uuid"
_MESSAGE = """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, phone, type, content, created_at,
                                    event_ids, reply_to)"""


async def fill(gateway: Gateway, first: str) -> None:
    """Add conversations of an hour ago, and messages to that of the first message, which the last one quotes."""
    channel, now = ids.parse_id("ch", gateway.channel), ids.milliseconds(gateway.clock.now())
    at = _ID.format(at="$2::bigint", n="i")
    async with gateway.db.connection() as conn:
        await conn.execute(
            f"""WITH people AS (
                    INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
                    SELECT $1, gen_random_uuid(), (4900000000 + i)::text, 'Number ' || i, now(), now()
                    FROM generate_series(1, $3::int) i RETURNING channel_id, id, phone),
                talks AS (
                    INSERT INTO conversations (channel_id, contact_id, created_at, last_message_id)
                    SELECT channel_id, id, now(), {_ID.format(at="$2::bigint", n="phone::bigint - 4900000000")}
                    FROM people RETURNING channel_id, contact_id, last_message_id)
                {_MESSAGE} SELECT channel_id, last_message_id, contact_id, true, false, 10, '49', 'text',
                                  '{{"body":"Hello"}}', now() - interval '1 hour', '{{}}', NULL FROM talks""",
            channel,
            now - 3_600_000,
            COUNT,
        )
        contact = await conn.fetchval("SELECT contact_id FROM messages WHERE id = $1", first)
        await conn.execute(
            f"""{_MESSAGE} SELECT $1, {at}, $4, true, false, 10, '55', 'text', '{{"body":"Message ' || i || '."}}',
                                  now(), '{{}}',
                                  CASE WHEN i = $3 THEN $5::uuid END FROM generate_series(1, $3::int) i""",
            channel,
            now,
            COUNT,
            contact,
            first,
        )
        await conn.execute(
            f"""UPDATE conversations SET last_message_id = {_ID.format(at="$3::bigint", n="$4::int")}
                WHERE channel_id = $1 AND contact_id = $2""",
            channel,
            contact,
            now,
            COUNT,
        )


async def messages_of(gateway: Gateway) -> Any:
    """Return the messages of the channel."""
    return (await gateway.call("GET", "/api/v1/messages")).json()["data"]


async def scroll_until(area: Locator, wanted: Locator, *, up: bool = False) -> None:
    """Scroll a part of the page until something is visible."""
    await area.hover()
    page = area.page

    async def visible() -> bool:
        await page.mouse.wheel(0, -600 if up else 600)
        return await wanted.count() > 0

    await until(visible)
    await wanted.wait_for()


async def test_long_lists(gateway: Gateway) -> None:
    await say(gateway, "The very first.")
    first = await until(lambda: messages_of(gateway))
    await fill(gateway, first[0]["key"]["id"])
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        conversations = page.get_by_role("region", name="Conversations")
        rows = conversations.get_by_role("listitem")
        await scroll_until(conversations, rows.filter(has_text=f"Number {COUNT - ROWS}"))
        assert await rows.count() < DRAWN
        await scroll_until(conversations, rows.filter(has_text="Ana Souza"), up=True)

        await rows.filter(has_text="Ana Souza").click()
        messages = page.get_by_role("region", name="Messages")
        newest = message_of(messages, f"Message {COUNT}.")
        await newest.wait_for()
        await scroll_until(messages, message_of(messages, f"Message {COUNT - MESSAGES}."), up=True)
        assert await messages.get_by_role("article").count() < DRAWN
        await page.get_by_role("button", name="Go to the newest message").click()
        await newest.wait_for()

        await page.route(AROUND, fail)
        await newest.get_by_role("button", name="Quoted message").click()
        await visitor.see("The quoted message cannot be shown: Something went wrong here.")
        await page.unroute(AROUND)
        await newest.get_by_role(
            "button", name="Quoted message"
        ).click()  # its neighbours are loaded, not all before it
        await message_of(messages, "The very first.").wait_for()
        await scroll_until(messages, message_of(messages, "Message 120."))
        await page.get_by_role("button", name="Go to the newest message").click()
        await newest.wait_for()
        await say(gateway, "One more.")
        await message_of(messages, "One more.").wait_for()
