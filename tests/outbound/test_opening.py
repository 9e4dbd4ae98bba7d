"""Opening a conversation while somebody else changes it: it is open afterwards, and counts once."""

import asyncio
from datetime import timedelta

import pytest

from gatepost.store.channel_head import lock_head
from gatepost.store.contacts.changes import merge_contacts
from gatepost.store.contacts.rows import merge_contact_rows
from gatepost.store.messages.intents import Intent, IntentResult, mark_sending
from tests.outbound.stage import NOW, Stage
from tests.store.test_deleted_endpoints import until_waiting

STAYS, GOES = "4915199998888", "49015199998888"


async def opened(stage: Stage) -> list[bool]:
    return [row["opened_at"] is not None for row in await stage.rows("conversations")]


@pytest.mark.parametrize(
    ("change", "opens"),
    [
        ("unread = unread + 1", True),
        ("muted = NOT muted", True),
        (f"last_in_at = '{NOW - timedelta(days=3)}'", True),
        (f"last_in_at = '{NOW}'", False),
    ],
)
async def test_a_change_in_the_same_moment_does_not_keep_it_closed(stage: Stage, change: str, opens: bool) -> None:
    await stage.take_over(connected=False)
    message = await stage.accept(STAYS)
    async with stage.db.transaction() as conn:
        await conn.execute(f"UPDATE conversations SET {change} WHERE channel_id = $1", stage.channel_id)
        intending = asyncio.create_task(mark_sending(stage.db, stage.lease, [Intent(message, 1, opens=True)], NOW))
        await until_waiting(stage, 1, intending)
        assert not intending.done()
    assert await intending == [IntentResult(go=True, opened=opens)]
    assert await opened(stage) == [opens]


async def test_a_join_in_the_same_moment_does_not_keep_it_closed(stage: Stage) -> None:
    await stage.take_over(connected=False)
    message, other = await stage.accept(GOES), await stage.accept(STAYS)
    stays, goes = (await stage.message(other)).contact_id, (await stage.message(message)).contact_id
    async with stage.db.transaction() as conn:
        await lock_head(conn, stage.channel_id)
        await merge_contact_rows(conn, stage.channel_id, stays, goes, GOES)
        intending = asyncio.create_task(mark_sending(stage.db, stage.lease, [Intent(message, 1, opens=True)], NOW))
        await until_waiting(stage, 1, intending)
        assert not intending.done()
    assert await intending == [IntentResult(go=True, opened=True)]
    assert await opened(stage) == [True]


@pytest.mark.parametrize("first_opens", [True, False])
async def test_two_intents_of_one_person_open_one_conversation_once(stage: Stage, first_opens: bool) -> None:
    """Each that opened it closes it again when the network refuses, and each counts toward the tier."""
    await stage.take_over(connected=False)
    one, other = await stage.accept(GOES), await stage.accept(STAYS)
    stays, goes = (await stage.message(other)).contact_id, (await stage.message(one)).contact_id
    assert await merge_contacts(stage.db, stage.ref, stage.channel_id, stays, goes, NOW)
    intents = [Intent(one, 1, opens=first_opens), Intent(other, 1, opens=True)]
    done = await mark_sending(stage.db, stage.lease, intents, NOW)
    assert [intended.opened for intended in done] == [first_opens, not first_opens]
    assert await opened(stage) == [True]
