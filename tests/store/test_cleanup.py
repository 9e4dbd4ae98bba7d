"""Small clean-ups: what is past its time goes, and nothing that is still of use."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit
from uuid import UUID

import msgspec
import pytest

from faults.proxy import running_proxy
from gatepost.background import run_loop
from gatepost.model import ids
from gatepost.model.errors import Unavailable
from gatepost.store import channel_notifier
from gatepost.store.channel_notifier import ChannelNotifier
from gatepost.store.checks import ping
from gatepost.store.idempotency import forget_idempotency_keys
from gatepost.store.messages.status import forget_parked_statuses
from gatepost.store.notifications import AccountChange, LimitCounts, Presence, TextPiece
from gatepost.store.pool import Database
from tests.patience import PATIENCE

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
CHANNEL = UUID(int=5)
SOCKET = ".s.PGSQL.5432"


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """Give a fresh database."""
    database = await Database.connect(database_url, connections=4)
    yield database
    await database.close()


async def test_keys_are_kept_for_their_days_and_not_longer(db: Database) -> None:
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO idempotency_keys SELECT $1, 'r', 'old' || i, '', '', $2::timestamptz - interval '1 second'
               FROM generate_series(1, 12000) i""",
            CHANNEL,
            NOW - timedelta(days=7),
        )
        await conn.execute(
            "INSERT INTO idempotency_keys VALUES ($1, 'r', 'young', '', '', $2)", CHANNEL, NOW - timedelta(days=7)
        )
    assert await forget_idempotency_keys(db, NOW, 7) == 12_000
    assert await forget_idempotency_keys(db, NOW, 7) == 0
    async with db.connection() as conn:
        assert await conn.fetchval("SELECT key FROM idempotency_keys") == "young"


async def test_statuses_that_found_no_message_are_forgotten_after_a_day(db: Database) -> None:
    async with db.connection() as conn:
        for hours in (23, 25):
            id_ = ids.new_id(NOW - timedelta(hours=hours))
            await conn.execute("INSERT INTO parked_statuses VALUES ($1, 'wamid', $2, '{}')", CHANNEL, id_)
    await forget_parked_statuses(db, NOW)
    async with db.connection() as conn:
        rows = await conn.fetch("SELECT id FROM parked_statuses")
    assert [NOW - ids.time_of(row["id"]) for row in rows] == [timedelta(hours=23)]


async def test_a_ping_is_answered_while_the_database_is_there(db: Database) -> None:
    await ping(db)
    await db.close()
    with pytest.raises(Unavailable) as gone:
        await ping(db)
    assert gone.value.code == "database_unavailable"


class Heard(msgspec.Struct):
    """What a node heard."""

    channels: list[UUID]
    listening: bool = False

    def on_listening(self) -> None:
        self.listening = True

    def on_channel(self, channel_id: UUID) -> None:
        self.channels.append(channel_id)

    def on_release(self) -> None:
        raise AssertionError

    def on_release_request(self, channels: Sequence[UUID]) -> None:
        raise AssertionError(channels)

    def on_presence(self, presence: Presence) -> None:
        raise AssertionError(presence)

    def on_account_change(self, change: AccountChange) -> None:
        raise AssertionError(change)

    def on_limit_counts(self, counts: LimitCounts) -> None:
        raise AssertionError(counts)

    def on_link_piece(self, name: str, piece: TextPiece) -> None:
        raise AssertionError(name, piece)


async def test_a_notification_reaches_every_node_once_for_many(db: Database, database_url: str) -> None:
    received: list[list[UUID]] = [[], []]
    notifiers = [ChannelNotifier(db, database_url, Heard(channels)) for channels in received]
    listening = [asyncio.create_task(run_loop("bell", notifier.listen)) for notifier in notifiers]
    wanted = {UUID(int=number) for number in range(1, 301)}
    try:
        async with asyncio.timeout(PATIENCE):
            while not (received[0] and received[1]):  # until both listen
                notifiers[0].notify(UUID(int=999))
                await asyncio.sleep(0.03)
            await asyncio.sleep(0.1)
            for known in received:
                known.clear()
            for channel_id in [*wanted, *wanted]:
                notifiers[0].notify(channel_id)
            while not all(wanted <= set(known) for known in received):
                await asyncio.sleep(0.01)
    finally:
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    assert [len(known) for known in received] == [300, 300]


async def test_a_connection_that_was_lost_silently_is_noticed(
    db: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A firewall that drops an idle connection tells neither side; then no notification would come any more."""
    monkeypatch.setattr(channel_notifier, "CHECK_EVERY", 0.05)
    monkeypatch.setattr(channel_notifier, "CHECK_WITHIN", 0.5)
    folder = parse_qs(urlsplit(database_url).query)["host"][0]
    async with running_proxy(Path(folder) / SOCKET, at=tmp_path / SOCKET) as proxy, asyncio.timeout(PATIENCE):
        heard = Heard([])
        through = database_url.replace(quote(folder), quote(str(tmp_path)))
        listening = asyncio.create_task(ChannelNotifier(db, through, heard).listen())
        while not heard.listening:
            await asyncio.sleep(0.01)
        proxy.go_silent()
        with pytest.raises(Unavailable):
            await listening
