"""Moves an account to another cell while it is in use. `store/moves` has the states and the rows.

copy ─► changes follow ─► files ─► channels taken from their owners ─► fence ─► last changes ─► the account arrives
        (as long as it takes)                                          └ requests get 503 for a moment ┘
     ─► deleted in the old cell ─► the rows that are left are deleted

The account is in the cell whose commit says so: until the commit of the arrival in the old one, from then on in the new
one. A move that was interrupted goes on when the command is run again, or is undone before the arrival.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID, uuid4

import msgspec
import structlog

from gatepost.admin.row_pipe import pipe_rows
from gatepost.model.errors import Conflict, NotFound
from gatepost.store.backup.table_data import connect_for_copy
from gatepost.store.channel_notifier import notify_now, notify_release, request_release
from gatepost.store.leases import claim_channels, release_all, renew_leases
from gatepost.store.media.files import object_key
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.moves import arrival, departure
from gatepost.store.moves.change_stream import Snapshot, gather
from gatepost.store.moves.departure import OutgoingMove
from gatepost.store.moves.device_rows import forget_devices_of, make_device_tables, read_devices, write_devices
from gatepost.store.moves.tables import DECISIVE, STREAMED, RawConnection, columns_of, delete_rows
from gatepost.store.partitions import cover_spans, read_spans
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.cells")
Progress = Callable[[str, int, int], None]
_FEW = 500  # changes that are applied within the pause
_LEASE = 10.0  # seconds; they expire by themselves if this process ends
_TAKE_WITHIN = 40.0  # seconds for owners to finish work in flight
_ASK_AGAIN = 1.0
_POLL = 0.05
_LONGEST_REQUEST = 30.0
_STRAGGLERS = 2.0  # seconds in which a request that began before the fence may still write: a key is cached for one


class MovePlace(msgspec.Struct, frozen=True):
    """A cell of a move."""

    name: str
    dsn: str
    db: Database
    objects: ObjectStorage


class MovedAccount(msgspec.Struct):
    """What was moved, how long requests got 503, and how long nothing was sent."""

    rows: int = 0
    changes: int = 0
    files: int = 0
    paused_seconds: float = 0.0
    sending_paused_seconds: float = 0.0


class AccountMove:
    """One run of a move."""

    def __init__(
        self,
        account_id: UUID,
        source: MovePlace,
        target: MovePlace,
        *,
        partition_days: int,
        shared_devices: bool,
        progress: Progress,
    ) -> None:
        self._account_id = account_id
        self._source, self._target = source, target
        self._partition_days = partition_days
        self._shared_devices = shared_devices  # the device store is none of the cells
        self._progress = progress
        self._owner = uuid4()
        self._copied: set[str] = set()
        self._result = MovedAccount()
        self._began_pause = self._began_stop = 0.0
        self._old: RawConnection = None
        self._new: RawConnection = None

    async def run(self) -> MovedAccount:
        """Move the account, or go on with a move that was interrupted."""
        steps = {"copying": self._copy, "streaming": self._stream, "fenced": self._arrive, "moved": self._clean}
        async with self._connected():
            move: OutgoingMove | None = await departure.find_move(self._old, self._account_id) or await self._begin()
            if move is not None and move.cell != self._target.name:
                raise Conflict(f"The account is being moved to {move.cell}. Finish that move, or undo it with --undo.")
            while move is not None:
                await steps[move.state](move)
                move = await departure.find_move(self._old, self._account_id)
        return self._result

    async def undo(self) -> None:
        """Stop a move: the account stays where it is."""
        async with self._connected():
            move = await departure.find_move(self._old, self._account_id)
            if move is None:
                raise NotFound("The account is not being moved.")
            found = await arrival.find_incoming(self._new, self._account_id)
            if move.state == "moved" or (found is not None and found.state == "arrived"):
                raise Conflict(
                    f"The account is in {move.cell} already. Run the command without --undo to finish the move."
                )
            await arrival.check_absent(self._new, move)
            if move.state == "fenced":
                await self._give_back(move)
            await departure.end_stream(self._old, move)
            await delete_rows(self._new, self._account_id, move.channels)
            await departure.forget_move(self._new, self._account_id)
            await departure.forget_move(self._old, self._account_id)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        self._old = await departure.open_source(self._source.dsn, self._account_id)
        try:
            self._new = await arrival.open_target(self._target.dsn)
            try:
                yield
            finally:
                self._new.terminate()
        finally:
            self._old.terminate()

    async def _begin(self) -> OutgoingMove:
        """Check what can be checked before anything is changed, and begin."""
        await departure.check_source(self._old)
        emails = await departure.emails_of(self._old, self._account_id)
        if taken := await arrival.emails_taken(self._new, emails):
            raise Conflict(
                f"The cell {self._target.name} has another user {taken[0]}. Change one of them, and try again."
            )
        if await arrival.has_owner(self._old) and not await arrival.has_owner(self._new):
            raise Conflict(
                f"No gateway works on the cell {self._target.name}. Restart every node with this cell in its settings."
            )
        return await departure.begin(self._old, self._account_id, self._target.name)

    # -- copy ---------------------------------------------------------------------------------------------------------

    async def _copy(self, move: OutgoingMove) -> None:
        """Copy the rows as they are at one moment. Rows of an interrupted copy are deleted first."""
        move = await departure.begin(self._old, self._account_id, move.cell)
        await arrival.begin_incoming(self._new, move, self._source.name)
        await delete_rows(self._new, self._account_id, move.channels)
        await departure.begin_stream(self._old, move)
        await cover_spans(self._new, await read_spans(self._old), self._partition_days)
        total = await departure.estimate(self._old, move)
        reader = await connect_for_copy(self._source.dsn)
        try:
            snapshot = await departure.begin_snapshot(reader)
            for table in STREAMED:
                columns = await columns_of(self._new, table)
                self._result.rows += await pipe_rows(
                    table,
                    partial(departure.copy_streamed, reader, move, table),
                    partial(arrival.write_rows, self._new, table, columns),
                )
                self._progress("Rows", self._result.rows, max(total, self._result.rows))
        finally:
            reader.terminate()
        self._progress("Rows", self._result.rows, self._result.rows)
        await arrival.note_copied(self._new, self._account_id, snapshot)
        await departure.set_state(self._old, move, "streaming")

    # -- changes and files --------------------------------------------------------------------------------------------

    async def _follow(self, move: OutgoingMove, enough: int = 0) -> None:
        """Apply changes until there are no more than `enough` left."""
        while await self._apply_some(move) > enough:
            pass

    async def _apply_some(self, move: OutgoingMove) -> int:
        """Apply the next changes, each transaction once. Return how many there were."""
        end = await departure.log_end(self._old)
        found = await departure.read_changes(self._old, move)
        if not found:
            await departure.pass_changes(self._old, move, end)  # what others wrote need not be read again
            return 0
        state = await arrival.find_incoming(self._new, self._account_id)
        assert state is not None
        assert state.snapshot is not None
        copied = Snapshot.parse(state.snapshot)
        new = [one for one in found if one.end > state.position and not copied.has(one.xid)]
        await arrival.apply_changes(self._new, self._account_id, gather(new).values(), found[-1].end)
        await departure.pass_changes(self._old, move, found[-1].end)
        changes = sum(len(one.changes) for one in found)
        self._result.changes += changes
        return changes

    async def _copy_files(self, move: OutgoingMove) -> int:
        """Copy the files that this run has not copied. Return how many."""
        wanted = [object_key(*one) for one in await departure.files_of(self._old, move)]
        missing = [key for key in wanted if key not in self._copied]
        for number, key in enumerate(missing, 1):
            try:
                pieces = await self._source.objects.read(key)
                await self._target.objects.put(key, pieces)
                self._result.files += 1
            except NotFound:  # deleted meanwhile, or gone before
                pass
            self._copied.add(key)
            self._progress("Files", number, len(missing))
        return len(missing)

    async def _follow_with_files(self, move: OutgoingMove) -> None:
        """Apply all changes there are, and copy the files of new rows."""
        await self._follow(move)
        await self._copy_files(move)

    async def _stream(self, move: OutgoingMove) -> None:
        """Follow the changes until few are left; then take the channels, and fence them."""
        if not await departure.has_stream(self._old, move):
            log.warning("the server has dropped the changes that were kept for this move: the rows are copied again")
            await departure.set_state(self._old, move, "copying")
            return
        await self._follow(move, _FEW)
        while await self._copy_files(move) > 1:
            await self._follow(move, _FEW)
        self._began_stop = time.monotonic()
        try:
            await self._take_channels(move)
            await self._follow(move, _FEW)
            self._began_pause = time.monotonic()
            if not await departure.fence(self._old, move, self._owner):
                log.warning("a channel was added to the account: its rows are copied again")
                await departure.set_state(self._old, move, "copying")
                await self._release()
                return
        except BaseException:
            await self._release()
            raise

    async def _take_channels(self, move: OutgoingMove) -> None:
        """Own the channels, so that nothing is sent or delivered. Their owners finish what is in flight first."""
        db, channels = self._source.db, list(move.channels)
        give_up, ask_at, renew_at = time.monotonic() + _TAKE_WITHIN, 0.0, time.monotonic() + _LEASE / 3
        while missing := await departure.not_owned(self._old, move, self._owner):
            now = time.monotonic()
            if now > give_up:
                raise Conflict("A process did not hand over a channel of this account in time. Try again.")
            if now > ask_at:
                await request_release(db, missing)
                ask_at = now + _ASK_AGAIN
            if now > renew_at:
                await renew_leases(db, self._owner, channels, _LEASE)
                renew_at = now + _LEASE / 3
            if not await claim_channels(db, missing, self._owner, _LEASE):
                await asyncio.sleep(_POLL)
        await renew_leases(db, self._owner, channels, _LEASE)

    async def _release(self) -> None:
        await release_all(self._source.db, self._owner)
        await notify_release(self._source.db)

    # -- the switch ---------------------------------------------------------------------------------------------------

    async def _arrive(self, move: OutgoingMove) -> None:
        """Let the account arrive in the new cell, and delete it from the old one. If that fails, it stays."""
        try:
            state = await arrival.find_incoming(self._new, self._account_id)
            arrived = state is not None and state.state == "arrived"
            if not arrived:
                await self._follow_with_files(move)
            async with self._old.transaction():
                await departure.lock_decisive(self._old, move)
                devices = [] if self._shared_devices else await departure.devices_of(self._old, move)
                if not arrived:
                    await self._follow_with_files(move)  # uploads need the lock: these are the last ones
                    await self._write_arrival(move, devices)
                await forget_devices_of(self._old, devices)
                await departure.remove_account(self._old, move)
        except (Exception, asyncio.CancelledError):
            await self._stay(move)
            raise
        self._note_pause()
        await notify_now(self._target.db, move.channels)
        await notify_release(self._target.db)

    async def _write_arrival(self, move: OutgoingMove, devices: list[str]) -> None:
        tables, rows = await read_devices(self._old, devices)
        await make_device_tables(self._new, tables)
        async with arrival.arriving(self._new, self._target.name):
            for table in DECISIVE:
                columns = await columns_of(self._new, table)
                await pipe_rows(
                    table,
                    partial(departure.copy_decisive, self._old, move, table),
                    partial(arrival.write_rows, self._new, table, columns),
                )
            await write_devices(self._new, devices, rows)
            await arrival.write_heads(self._new, self._account_id, move.heads or "[]")

    async def _stay(self, move: OutgoingMove) -> None:
        """Undo the fence after an error, if it is certain that the account has not arrived."""
        try:
            async with asyncio.timeout(10):
                self._old.terminate()
                self._new.terminate()
                self._old = await connect_for_copy(self._source.dsn)
                self._new = await arrival.open_target(self._target.dsn)
                state = await arrival.find_incoming(self._new, self._account_id)
                if state is None or state.state != "arrived":
                    await self._give_back(move)
        except Exception as error:
            log.error("the account is paused: run the command again, or with --undo", reason=str(error))

    async def _give_back(self, move: OutgoingMove) -> None:
        await departure.undo_fence(self._old, move)
        await notify_release(self._source.db)

    def _note_pause(self) -> None:
        now = time.monotonic()
        if self._began_pause:
            self._result.paused_seconds = now - self._began_pause
            self._result.sending_paused_seconds = now - self._began_stop

    # -- afterwards ---------------------------------------------------------------------------------------------------

    async def _clean(self, move: OutgoingMove) -> None:
        """Apply what requests that began before the fence may have written; then delete the rows that are left."""
        before, until = await departure.running_before(self._old), time.monotonic() + _STRAGGLERS
        if await departure.has_stream(self._old, move):
            while time.monotonic() < until or not await self._all_ended(before, until):
                await self._follow(move)
                await asyncio.sleep(_POLL)
            await self._follow_with_files(move)
        await departure.end_stream(self._old, move)
        await delete_rows(self._old, self._account_id, move.channels)
        await departure.forget_move(self._new, self._account_id)
        await departure.forget_move(self._old, self._account_id)

    async def _all_ended(self, before: int, until: float) -> bool:
        """Return whether the transactions of before the move have ended. One that takes very long is no request's."""
        return time.monotonic() > until + _LONGEST_REQUEST or await departure.all_ended(self._old, before)
