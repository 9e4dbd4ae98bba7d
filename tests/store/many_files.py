"""Thousands of files, and all changes of a few of them, for tests of query plans."""

from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from gatepost.model.ids import new_id
from gatepost.store.channel_head import Lease
from gatepost.store.media.files import (
    forget_media,
    get_media,
    known_media,
    mark_failed,
    mark_ready,
    mark_retry,
    next_waiting,
    save_network_id,
    waiting_media,
)
from tests.outbound.stage import Stage


async def fill_files(url: str, channel_id: UUID, *, count: int, now: datetime) -> None:
    """Add files to a channel: nine of ten are ready, the others are due in an hour."""
    conn = await asyncpg.connect(url)
    await conn.execute(
        """INSERT INTO media (channel_id, id, state, mime_type, size, next_at, created_at)
           SELECT $1, (begin || substr(md5(i::text), 1, 18))::uuid,
                  CASE WHEN i % 10 = 0 THEN 'waiting' ELSE 'ready' END, 'image/png', 7,
                  CASE WHEN i % 10 = 0 THEN $2::timestamptz + interval '1 hour' END, $2
           FROM generate_series(1, $3::int) i, left(replace($4::text, '-', ''), 14) begin""",
        channel_id,
        now,
        count,
        str(new_id(now)),
    )
    await conn.close()


async def expect_files(stage: Stage, message_id: UUID, ids: list[UUID]) -> None:
    """Add files of a message that are due now."""
    async with stage.db.connection() as conn:
        for id_ in ids:
            await conn.execute(
                """INSERT INTO media (channel_id, id, state, mime_type, message_id, next_at, created_at)
                   VALUES ($1, $2, 'waiting', 'image/png', $3, $4, $4)""",
                stage.channel_id,
                id_,
                message_id,
                stage.clock.now(),
            )


async def live_files(stage: Stage, lease: Lease, message_id: UUID, ids: list[UUID]) -> None:
    """Fetch one file, fail another, upload one to the network, and delete old ones."""
    db, channel_id, now = stage.db, stage.channel_id, stage.clock.now()
    await expect_files(stage, message_id, ids)
    first, second, third = await waiting_media(db, channel_id, now, 3)
    assert {first.id, second.id, third.id} == set(ids)
    await mark_retry(db, lease, first, "busy", now + timedelta(minutes=1))
    assert await next_waiting(db, [channel_id]) == {channel_id: now}
    assert await mark_ready(db, lease, stage.ref, second, 7, "sum", now)
    assert await mark_failed(db, lease, stage.ref, third, "gone", now)
    await save_network_id(db, channel_id, second.id, "name", now)
    found = await get_media(db, channel_id, second.id)
    assert found is not None
    assert found.network_id == "name"
    assert await known_media(db, [(channel_id, id_) for id_ in ids]) == {(channel_id, id_) for id_ in ids}
    assert await forget_media(db, channel_id, now - timedelta(days=9000)) == []
    async with db.connection() as conn:
        await conn.execute("DELETE FROM media WHERE channel_id = $1 AND id = $2", channel_id, first.id)
