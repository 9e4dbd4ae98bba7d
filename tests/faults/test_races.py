"""Two requests for the same message at the same moment: one of them wins, and the other gets an error."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import asyncpg

from gatepost.model import ids
from gatepost.store.leases import claim_channel
from gatepost.store.messages.intents import Intent, mark_sending
from tests.conftest import Receiver
from tests.faults.stage import Stage, running_stage
from tests.patience import PATIENCE


async def until_waiting(stage: Stage, wanted: int) -> None:
    """So many statements wait for a lock."""
    async with asyncio.timeout(PATIENCE):
        while True:
            [row] = await stage.rows(
                """SELECT count(*) AS n FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'"""
            )
            if row["n"] >= wanted:
                return
            await asyncio.sleep(0.01)


async def test_a_message_is_sent_or_canceled_but_never_both(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        await stage.start(role="api")
        message_id = await stage.send(phone="5511933330000", body="Hello")
        [row] = await stage.rows("SELECT id, contact_id FROM messages")
        lease = await claim_channel(stage.db, stage.channel_id, uuid4(), 60)
        assert lease is not None
        intent = Intent(row["id"], 1, True)
        conn: Any = await asyncpg.connect(database_url)
        try:
            async with conn.transaction():
                await conn.execute("SELECT 1 FROM messages WHERE id = $1 FOR UPDATE", row["id"])
                intending = asyncio.create_task(mark_sending(stage.db, lease, [intent], datetime.now(UTC)))
                await until_waiting(stage, 1)
                canceling = asyncio.create_task(stage.call("POST", f"/api/v1/messages/{message_id}/cancel"))
                await until_waiting(stage, 2)
        finally:
            await conn.close()
        [intended], canceled = await intending, await canceling
        assert intended.go
        assert (canceled.status, canceled.json()["error"]["code"]) == (409, "wrong_state")
        [state] = await stage.rows("SELECT state FROM messages")
        assert state["state"] == 1
        assert ids.message_id(row["id"]) == message_id
