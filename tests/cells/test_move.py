"""Moving an account to another cell while it is in use: nothing is lost, doubled or out of order."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.access.refusal_recorder import Refusal, RefusalRecorder
from gatepost.admin import account_move, endpoints
from gatepost.admin.account_move import AccountMove, MovePlace
from gatepost.cells import directory
from gatepost.model import ids
from gatepost.model.account import key_hash
from gatepost.model.errors import Conflict
from gatepost.model.times import format_time
from gatepost.services.media import MediaService, NewFile, forget_old_media
from gatepost.store.drafts import DraftDecision, NewDraft, decide_drafts, expire_drafts, insert_drafts
from gatepost.store.media.objects import ObjectStorage, media_place
from gatepost.store.moves import arrival, departure, tables
from gatepost.store.moves.change_stream import (
    UNCHANGED,
    Change,
    Relation,
    RowState,
    Snapshot,
    Transaction,
    gather,
)
from gatepost.store.partitions import drop_old_partitions
from gatepost.store.pool import Database
from gatepost.store.usage import count_messages
from tests.cells.conftest import Cells, channel_id, running_cells
from tests.conftest import PostgresServer, Receiver
from tests.faults.ledger import RunRecords, compare
from tests.gateway.people import new_person
from tests.movable_clock import MovableClock
from tests.patience import patience
from tests.running_gateway import Gateway
from tests.thorough import rotated

PEOPLE = ("5511999990001", "5511999990002", "5511999990003")
OWN = "SELECT count(*) FROM {table} WHERE {column} = ANY ($1::uuid[])"


class Killed(BaseException):
    """The end of the process that moves an account."""


def place(cells: Cells, name: str) -> MovePlace:
    one = cells.of[name]
    objects = ObjectStorage.open(*media_place("", one.settings.data_folder, name))
    return MovePlace(name, cells.urls[name], one.db, objects)


def mover(cells: Cells, source: str, target: str, account_id: UUID | None = None) -> AccountMove:
    wanted = account_id or cells.of[source].account_id
    ends = place(cells, source), place(cells, target)
    return AccountMove(wanted, *ends, partition_days=7, shared_devices=False, progress=lambda *_: None)


def moved(cells: Cells, source: str, target: str) -> Gateway:
    """Give the account of a cell as it is seen after its move."""
    one = cells.of[source]
    there = cells.of[target]
    gateway = Gateway(one.url, one.sandbox_url, there.db, one.vault, one.settings, one._client, one.clock)
    gateway.account_id, gateway.channel, gateway.key = one.account_id, one.channel, one.key
    return gateway


class Clients:
    """Clients who send without a pause, and repeat what was answered with 503."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sending = True
        self.accepted: dict[str, str] = {}
        self.statuses: list[int] = []
        self._tasks = [asyncio.create_task(self._send(person)) for person in PEOPLE]

    async def _send(self, person: str) -> None:
        number = 0
        while self._sending:
            ref = f"{person[-1]}{number:06}"
            body = {"phone": person, "body": ref, "client_ref": ref}
            answer = await self._gateway.call("POST", "/api/v1/message/send", body)
            self.statuses.append(answer.status)
            if answer.status == 200:
                self.accepted[ref] = answer.json()["data"]["key"]["id"]
                number += 1
                await asyncio.sleep(0.05)
            else:
                assert answer.status == 503, answer.body
                assert answer.headers["retry-after"]
                await asyncio.sleep(0.02)

    async def until(self, count: int) -> None:
        """Wait until so many messages were accepted in all."""
        async with patience(lambda: f"{len(self.accepted)} accepted"):
            while len(self.accepted) < count:
                self._check()
                await asyncio.sleep(0.02)

    def _check(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    async def stop(self) -> None:
        self._sending = False
        await asyncio.gather(*self._tasks)


async def read_ledger(gateway: Gateway, kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = await gateway.sandbox("GET", f"/control/ledger?kind={kind}&limit=1000&after={after}")
        entries += page["entries"]
        after = page["next"]
    return entries


async def read_records(gateway: Gateway, receiver: Receiver) -> RunRecords:
    channel, events, after = channel_id(gateway), [], ""
    while page := (await gateway.call("GET", f"/api/v1/events?limit=100{after}")).json():
        if not page["data"]:
            break
        events += page["data"]
        after = f"&after={page['paging']['next']}"
    async with gateway.db.connection() as conn:
        rows = await conn.fetch(
            """SELECT id, state, phone, client_ref, attempt, sending_at FROM messages
               WHERE channel_id = $1 AND NOT incoming ORDER BY id""",
            channel,
        )
        used = await conn.fetchval(
            """SELECT (SELECT coalesce(sum(used), 0) FROM account_usage WHERE account_id = $1)
                      - (SELECT slice_left FROM channel_heads WHERE channel_id = $2)""",
            gateway.account_id,
            channel,
        )
        unsettled = await conn.fetchval("SELECT count(*) FROM deliveries WHERE channel_id = $1 AND state <> 1", channel)
    return RunRecords(
        messages=[dict(row.items()) for row in rows],
        usage=int(used),
        events=events,
        unsettled=unsettled,
        received=receiver.requests,
        accepted=await read_ledger(gateway, "accepted"),
        callbacks=await read_ledger(gateway, "callback"),
    )


async def until_clean(gateway: Gateway, receiver: Receiver, accepted: dict[str, str]) -> None:
    """Wait until the records of the account agree."""
    problems: Any = None
    async with patience(lambda: str(problems)[:2000]):
        while problems := compare(await read_records(gateway, receiver), accepted, ()).problems():
            await asyncio.sleep(0.1)


async def rows_of(db: Database, account_id: UUID, channel: UUID) -> dict[str, int]:
    """Count the rows of an account in a database."""
    found = {}
    for table, column in (tables.STREAMED | tables.DERIVED).items():
        owners = [account_id] if column == "account_id" else [channel, account_id]
        found[table] = await db.fetchval(OWN.format(table=table, column=column), owners)
    found["accounts"] = await db.fetchval("SELECT count(*) FROM accounts WHERE id = $1", account_id)
    found["heads"] = await db.fetchval("SELECT count(*) FROM channel_heads WHERE channel_id = $1", channel)
    found["moves"] = await db.fetchval("SELECT count(*) FROM account_moves")
    return {name: count for name, count in found.items() if count}


async def slots(cells: Cells) -> int:
    """Count the replication slots that are left."""
    sql = "SELECT count(*) FROM pg_replication_slots WHERE slot_name LIKE 'gatepost_move_%'"
    count: int = await cells.of["main"].db.fetchval(sql)
    return count


async def test_an_account_moves_while_clients_send(cells: Cells, receiver: Receiver) -> None:
    west = cells.of["west"]
    await endpoints.create_endpoint(west.db, west.vault, channel_id(west), receiver.url, now=west.clock.now())
    person = await new_person(west)
    invitation = "POST", "/api/v1/account/users", {"email": "new@example.com", "role": "agent"}
    invited = await person.call(*invitation, headers={"idempotency-key": "once"})
    clients = Clients(west)
    await clients.until(30)
    result = await mover(cells, "west", "east").run()
    assert result.rows > 0
    assert 0 < result.paused_seconds <= result.sending_paused_seconds
    before = len(clients.accepted)
    await clients.until(before + 30)
    await clients.stop()
    there = moved(cells, "west", "east")
    await until_clean(there, receiver, clients.accepted)
    assert await rows_of(west.db, west.account_id, channel_id(west)) == {}
    assert await slots(cells) == 0
    found = await rows_of(there.db, there.account_id, channel_id(there))
    assert found["messages"] == len(clients.accepted)
    assert "moves" not in found
    shown = (await person.call("GET", "/api/v1/account")).json()["data"]  # the session goes on
    assert shown["id"].endswith(west.account_id.hex)
    repeated = await person.call(*invitation, headers={"idempotency-key": "once"})
    assert (repeated.status, repeated.body) == (201, invited.body)
    assert (await person.sign_in()).status == 201


class Point(msgspec.Struct, frozen=True):
    """A place in which the process ends: before or after a call of a function, the nth one."""

    module: Any
    name: str
    after: bool
    nth: int = 1

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} {self.name} {self.nth}"


POINTS = [
    Point(departure, "begin", after=True),
    Point(departure, "begin_stream", after=False),
    Point(departure, "begin_stream", after=True),
    Point(account_move, "pipe_rows", after=True, nth=5),
    Point(arrival, "note_copied", after=False),
    Point(arrival, "note_copied", after=True),
    Point(departure, "set_state", after=True),
    Point(arrival, "apply_changes", after=True),
    Point(account_move, "claim_channels", after=True),
    Point(departure, "fence", after=False),
    Point(departure, "fence", after=True),
    Point(arrival, "write_heads", after=True),
    Point(departure, "remove_account", after=False),
    Point(departure, "remove_account", after=True),
    Point(account_move, "notify_now", after=False),
    Point(departure, "end_stream", after=False, nth=2),
    Point(departure, "end_stream", after=True, nth=2),
    Point(account_move, "delete_rows", after=True, nth=2),
    Point(departure, "forget_move", after=True),
]
ARRIVED = [str(point) for point in POINTS[POINTS.index(Point(departure, "remove_account", after=False)) :]]


@contextlib.contextmanager
def killed_at(point: Point) -> Iterator[None]:
    """End the process that moves an account at a point."""
    real: Callable[..., Any] = getattr(point.module, point.name)
    calls = 0

    async def call(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == point.nth and not point.after:
            raise Killed
        result = await real(*arguments, **options)
        if calls == point.nth:
            raise Killed
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(point.module, point.name, call)
        yield


async def _until_killed(point: Point, move: AccountMove) -> bool:
    """Move an account until the process ends. Return whether it did."""
    with killed_at(point):
        try:
            await move.run()
        except Killed:
            return True
    return False


async def run_again(run: Callable[[], Awaitable[Any]]) -> Any:
    """Run a command once the database has noticed the end of the last one."""
    async with patience(lambda: "another command moves the account"):
        while True:
            try:
                return await run()
            except Conflict as error:
                if "Another command" not in error.message:
                    raise
            await asyncio.sleep(0.02)


async def where(cells: Cells, names: Sequence[str], account_id: UUID, channel: UUID) -> list[str]:
    """Return the cells in which an account can be written to."""
    found = [await rows_of(cells.of[name].db, account_id, channel) for name in names]
    return [name for name, rows in zip(names, found, strict=True) if "accounts" in rows and "heads" in rows]


@pytest.fixture
async def quick_cells(
    urls: dict[str, str], postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Cells]:
    """Yield a gateway that looks at keys every time, so that a move need not wait for one that is remembered.

    Its clients' address has sent too many wrong keys: that does not concern those of an account that has moved.
    """
    monkeypatch.setattr(account_move, "_STRAGGLERS", 0.1)
    async with running_cells(urls, postgres_server, security__key_cache_seconds=0, api__wrong_keys=1) as one:
        yield one


@pytest.mark.timeout(900)  # all points take 210 s on two idle cores
async def test_a_move_that_ends_at_any_point_goes_on_or_is_undone(quick_cells: Cells, receiver: Receiver) -> None:
    cells = quick_cells
    west = cells.of["west"]
    channel = channel_id(west)
    await endpoints.create_endpoint(west.db, west.vault, channel, receiver.url, now=west.clock.now())
    clients = Clients(west)
    source, target = "west", "east"
    for point in rotated(POINTS, 10):
        for ending in ("undo", "run"):
            if ending == "undo" and str(point) in ARRIVED:
                continue
            await clients.until(len(clients.accepted) + 3)
            ended = await _until_killed(point, mover(cells, source, target, west.account_id))
            assert ended, f"not reached: {point}"
            live = await where(cells, (source, target), west.account_id, channel)
            assert len(live) <= 1, (str(point), live)
            await run_again(getattr(mover(cells, source, target, west.account_id), ending))
            if ending == "run":
                source, target = target, source
            assert await where(cells, ("west", "east"), west.account_id, channel) == [source], (str(point), ending)
            assert await rows_of(cells.of[target].db, west.account_id, channel) == {}, (str(point), ending)
            assert await slots(cells) == 0
    await clients.until(len(clients.accepted) + 3)
    await clients.stop()
    await until_clean(moved(cells, "west", source), receiver, clients.accepted)


async def test_requests_at_the_moment_of_the_switch(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a moment after the move, the old cell remembers a key whose account it no longer has."""
    west, write_heads = cells.of["west"], arrival.write_heads
    linked = await west.new_key((await west.new_qr_channel(west.account_id)).id)
    person = await new_person(west)

    async def read() -> int:
        return (await west.call("GET", "/api/v1/webhooks")).status

    async def connect() -> int:
        return (await west.call("POST", "/api/v1/channel/connect", key=linked)).status

    async def write_after_requests(*arguments: Any) -> None:
        assert await read() == 200
        assert await connect() == 503  # the request is not copied any more
        await write_heads(*arguments)

    monkeypatch.setattr(arrival, "write_heads", write_after_requests)
    assert [await read(), await connect(), (await person.call("GET", "/api/v1/account")).status] == [200, 200, 200]
    assert await _until_killed(Point(account_move, "notify_now", after=False), mover(cells, "west", "east"))
    for answer in (
        await west.call("POST", "/api/v1/media", raw=b"Hello", headers={"content-type": "text/plain"}),
        await person.call("POST", f"/api/v1/account/channels/{west.channel}/keys", {"name": "new"}),
    ):
        assert (answer.status, answer.headers["retry-after"]) == (503, "1"), answer.body
    assert await read() == (await person.call("GET", "/api/v1/account")).status == 200
    assert (await west.call("GET", "/api/v1/labels/lb_1")).status == 404
    await run_again(mover(cells, "west", "east").run)


async def test_an_assistant_at_the_moment_of_the_switch(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old cell may remember its key, but has no policies any more: the call is to be repeated."""
    west, write_heads = cells.of["west"], arrival.write_heads
    key = await west.new_key(channel_id(west), scopes=("mcp", "read"))

    async def call(tool: str) -> dict[str, Any]:
        """Return the error of a call, or its answer."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
        accept = {"accept": "application/json, text/event-stream"}
        answer = await west.call("POST", "/mcp", body, key=key, headers=accept)
        found = answer.json()["error"]["data"] if answer.status == 503 else answer.json()["result"]["structuredContent"]
        shown: dict[str, Any] = found.get("error", found)
        return shown

    async def write_after_request(*arguments: Any) -> None:
        assert (await west.call("GET", "/api/v1/labels", key=key)).status == 200
        await write_heads(*arguments)

    monkeypatch.setattr(arrival, "write_heads", write_after_request)
    assert "conversations" in await call("find_conversations")
    await west.db.execute("UPDATE accounts SET mcp_stopped_at = now() WHERE id = $1", west.account_id)
    assert await _until_killed(Point(account_move, "notify_now", after=False), mover(cells, "west", "east"))
    for tool in ("find_conversations", "get_channel"):
        error = await call(tool)
        assert (error.get("code"), error.get("retryable")) == ("database_unavailable", True), (tool, error)
    await run_again(mover(cells, "west", "east").run)
    async with patience(lambda: "the old cell remembers the key"):
        while (error := await call("find_conversations")).get("retryable"):
            await asyncio.sleep(0.1)
    assert error["rule"] == "stopped"


async def test_a_key_that_is_revoked_after_an_interruption_stays_revoked(quick_cells: Cells) -> None:
    """After the arrival, nobody changes the account in the old cell, which still has it."""
    cells, west = quick_cells, quick_cells.of["west"]
    person = await new_person(west)
    keys = f"/api/v1/account/channels/{west.channel}/keys"
    made = (await person.call("POST", keys, {"name": "leaked"})).json()["data"]
    assert await _until_killed(Point(departure, "remove_account", after=False), mover(cells, "west", "east"))
    assert (await person.call("DELETE", f"{keys}/{made['id']}")).status == 503
    assert (await person.call("DELETE", f"{keys}/{made['id']}")).status == 200
    await run_again(mover(cells, "west", "east").run)
    listed = (await person.call("GET", keys)).json()["data"]
    assert [key["name"] for key in listed if key["revoked_at"]] == ["leaked"]


async def test_changes_of_others_are_read_before_the_pause(quick_cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account with few changes, on a server that writes much meanwhile."""
    west, begin_stream, fence = quick_cells.of["west"], departure.begin_stream, departure.fence
    write = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 100000)) FROM generate_series(1, 30)"
    left = "SELECT max(pg_current_wal_lsn() - confirmed_flush_lsn) FROM pg_replication_slots"
    unread: list[int] = []

    async def begin_and_write(*arguments: Any) -> None:
        await begin_stream(*arguments)
        await west.db.execute(write)

    async def note_and_fence(*arguments: Any) -> bool:
        unread.append(await west.db.fetchval(left))
        return await fence(*arguments)

    monkeypatch.setattr(departure, "begin_stream", begin_and_write)
    monkeypatch.setattr(departure, "fence", note_and_fence)
    await mover(quick_cells, "west", "east").run()
    assert unread[0] < 1_000_000


async def test_both_cells_may_have_refused_the_same_request(quick_cells: Cells) -> None:
    """The old cell saves a few seconds later what it refused, when the new one may have refused the same."""
    cells, west = quick_cells, quick_cells.of["west"]
    point, clock = Point(departure, "remove_account", after=False), MovableClock(west.clock.now())
    assert await _until_killed(point, mover(cells, "west", "east"))
    for name in ("west", "east"):
        recorder = RefusalRecorder(cells.of[name].db, clock)
        refusal = Refusal("POST", "/api/v1/message/send", 503, "overloaded", "", f"of {name}", "req_1")
        recorder.record(key_hash(west.key), refusal, admitted=True)
        await recorder.save()
    await run_again(mover(cells, "west", "east").run)
    rows = await cells.of["east"].db.fetch("SELECT message FROM refused_requests")
    assert [row["message"] for row in rows] == ["of east"]


async def test_the_old_cell_does_not_replace_what_the_new_one_has_counted_and_decided(
    quick_cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move is interrupted after the arrival, and the old cell's housekeeping works on until it is finished."""
    monkeypatch.setattr(directory, "_KNOWN_SECONDS", 0.5)  # until then, requests are sent to the old cell: 503
    cells, west, east = quick_cells, quick_cells.of["west"], quick_cells.of["east"]
    channel, now = channel_id(west), west.clock.now()
    draft = NewDraft(ids.new_id(now), None, PEOPLE[0], "{}", "key", None, None, None, now, now, ids.ZERO)
    async with west.db.transaction() as conn:
        await insert_drafts(conn, channel, [draft])
    await west.send(phone=PEOPLE[0], body="1")
    assert await _until_killed(Point(departure, "remove_account", after=False), mover(cells, "west", "east"))
    async with east.db.transaction() as conn:
        await decide_drafts(conn, channel, [DraftDecision(draft.id, "sent", "user")], now)
    location = {"phone": PEOPLE[0], "type": "location", "location": {"latitude": 1.0, "longitude": 2.0}}
    async with patience(lambda: "the new cell does not accept a message"):
        while (await west.call("POST", "/api/v1/message/send", location)).status != 200:
            await asyncio.sleep(0.02)
    await count_messages(east.db, channel)
    await count_messages(west.db, channel)
    await expire_drafts(west.db, now + timedelta(days=1))
    await run_again(mover(cells, "west", "east").run)
    await count_messages(east.db, channel)
    counted = await east.db.fetch("SELECT type, count FROM daily_counts WHERE channel_id = $1 ORDER BY type", channel)
    assert [tuple(row) for row in counted] == [("location", 1), ("text", 1)]
    assert await east.db.fetchval("SELECT state FROM drafts WHERE channel_id = $1", channel) == "sent"


async def test_housekeeping_keeps_the_scheduled_messages_of_an_account_that_moves(quick_cells: Cells) -> None:
    """They may wait for longer than messages are kept, and come before their channels."""
    cells, west, east = quick_cells, quick_cells.of["west"], quick_cells.of["east"]
    now = west.clock.now()
    sent = await west.send(phone=PEOPLE[0], body="1", send_at=format_time(now + timedelta(days=25)))
    assert await _until_killed(Point(departure, "fence", after=False), mover(cells, "west", "east"))
    await drop_old_partitions(east.db, now + timedelta(days=20), messages_days=3, events_days=365)
    await run_again(mover(cells, "west", "east").run)
    answer = await west.call("GET", f"/api/v1/messages/{sent}")
    assert (answer.status, answer.json()["data"]["status"]) == (200, "SCHEDULED")


async def test_a_file_that_is_uploaded_at_the_moment_of_the_switch(
    quick_cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there when the account has arrived: a message with it would fail otherwise."""
    cells, west, lock = quick_cells, quick_cells.of["west"], departure.lock_decisive
    upload = MediaService(west.db, place(cells, "west").objects, west.clock, most=100, timeout=10).upload
    stored: list[Any] = []

    async def content() -> AsyncIterator[bytes]:
        yield b"Hello"

    async def upload_and_lock(*arguments: Any) -> None:
        new = NewFile(channel_id(west), "text/plain", 100, answer=lambda row: ids.format_id("med", row.id).encode())
        stored.append((await upload(new, content())).answer.decode())
        await lock(*arguments)

    monkeypatch.setattr(departure, "lock_decisive", upload_and_lock)
    assert await _until_killed(Point(account_move, "notify_now", after=False), mover(cells, "west", "east"))
    answer = await west.call("GET", f"/api/v1/media/{stored[0]}/content")
    assert (answer.status, answer.body) == (200, b"Hello")
    await run_again(mover(cells, "west", "east").run)


async def test_housekeeping_keeps_the_files_of_an_account_that_moves(quick_cells: Cells) -> None:
    """In the new cell, its channels come last; in the old one, they are deleted first."""
    cells, west = quick_cells, quick_cells.of["west"]
    made = await west.call("POST", "/api/v1/media", raw=b"Hello", headers={"content-type": "text/plain"})
    for point in (Point(departure, "fence", after=False), Point(departure, "end_stream", after=False)):
        assert await run_again(partial(_until_killed, point, mover(cells, "west", "east")))
        for name in ("west", "east"):
            await forget_old_media(cells.of[name].db, place(cells, name).objects, west.clock.now(), days=0)
    await run_again(mover(cells, "west", "east").run)
    answer = await west.call("GET", f"/api/v1/media/{made.json()['data']['id']}/content")
    assert (answer.status, answer.body) == (200, b"Hello")


def test_the_stream_of_changes() -> None:
    snapshot = Snapshot.parse("100:105:101,103")
    assert [xid for xid in range(99, 107) if snapshot.has(xid)] == [99, 100, 102, 104]
    late = Snapshot.parse(f"{(1 << 32) - 2}:{(1 << 32) + 2}:")
    assert late.has((1 << 32) - 5)
    assert late.has(1)
    assert not late.has(2)
    early = Snapshot.parse(f"{1 << 32}:{1 << 32}:")
    assert early.has((1 << 32) - 1)
    relation = Relation("notes", ("id", "body", "note"), (0,))
    first = Change(relation, None, (b"1", b"large", b"a"))
    kept = Change(relation, None, (b"1", UNCHANGED, b"b"))
    renamed = Change(relation, (b"1", None, None), (b"2", UNCHANGED, b"c"))
    gone = Change(relation, (b"2", None, None), None)

    def after(*changes: Change) -> dict[Any, Any]:
        return gather([Transaction(1, 1, changes)])["notes"].rows

    assert after(first, kept, renamed) == {(b"1",): None, (b"2",): RowState((b"2", b"large", b"c"), (b"1",))}
    assert after(kept, renamed) == {(b"1",): None, (b"2",): RowState((b"2", UNCHANGED, b"c"), (b"1",))}
    assert after(first, renamed, gone) == {(b"1",): None, (b"2",): None}


async def test_every_table_is_in_one_list(database_url: str) -> None:
    """A new table must be in one of them, and what is streamed must have the form that this needs."""
    db = await Database.connect(database_url, connections=1)
    async with db.connection() as conn:
        found = {
            row["name"]: row
            for row in await conn.fetch(
                """SELECT c.relname AS name, EXISTS (
                              SELECT FROM pg_constraint o WHERE o.contype = 'f' AND c.oid IN (o.conrelid, o.confrelid)
                          ) AS refers,
                          ARRAY(SELECT a.attname::text FROM pg_index i JOIN pg_attribute a
                                ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                                WHERE i.indrelid = c.oid AND i.indisprimary) AS key,
                          EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated <> '')
                              AS generated
                   FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
                     AND c.relkind IN ('r', 'p') AND NOT c.relispartition"""
            )
        }
    await db.close()
    lists = [*tables.STREAMED, *tables.DECISIVE, *tables.DERIVED, *tables.OWN, "channel_heads"]
    assert sorted(lists) == sorted(found)
    for table, column in tables.STREAMED.items():
        assert column in found[table]["key"], table
        assert not found[table]["refers"], table
    assert [table for table, row in found.items() if row["generated"]] == ["channel_heads"]  # it is not streamed
    assert set(tables.LOCKED) <= set(tables.DECISIVE)


async def test_changes_that_the_server_dropped_are_copied_again(quick_cells: Cells, receiver: Receiver) -> None:
    west = quick_cells.of["west"]
    sent = await west.send(phone=PEOPLE[0], body="1", client_ref="1")
    assert await _until_killed(Point(departure, "fence", after=False), mover(quick_cells, "west", "east"))
    later = await west.send(phone=PEOPLE[0], body="2", client_ref="2")
    await west.db.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE 'gatepost_move_%'"
    )
    await run_again(mover(quick_cells, "west", "east").run)
    there = moved(quick_cells, "west", "east")
    for message in (sent, later):
        await there.until_status(message, "READ")
