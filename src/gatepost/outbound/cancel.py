"""Canceling messages that have not left yet: one by its id, or all that a selection names."""

from datetime import datetime

import msgspec

from gatepost.clock import Clock
from gatepost.model.account import Caller
from gatepost.model.errors import Conflict, NotFound
from gatepost.model.message import STATUS, State, may_follow
from gatepost.store.messages import cancel as message_cancel
from gatepost.store.messages.cancel import PAGE_ROWS, CancelCursor, CancelSelection, find_waiting
from gatepost.store.messages.history import StoredMessage
from gatepost.store.pool import Database

LONGEST = 5.0  # seconds after which a request starts no further page


async def cancel_message(db: Database, caller: Caller, message: StoredMessage, now: datetime) -> None:
    """Cancel a message, or raise why it is too late."""
    before, after = await message_cancel.cancel_message(db, caller.ref, caller.channel_id, message.id, now)
    if after is None:
        raise NotFound("There is no such outgoing message on this channel.")
    if before is not State.QUEUED:
        where = "on its way to the network" if before is State.SENDING else STATUS[after]
        raise Conflict(f"Only a message that has not left can be canceled; this one is {where}.")


class CancelResult(msgspec.Struct, frozen=True):
    """What one request canceled, how many were too late, and where the next continues; None: that was all."""

    canceled: int
    too_late: int
    place: CancelCursor | None


async def cancel_selection(
    db: Database,
    clock: Clock,
    caller: Caller,
    chosen: CancelSelection,
    after: CancelCursor | None,
    *,
    longest: float = LONGEST,
    piece: int = PAGE_ROWS,
) -> CancelResult:
    """Cancel a selection page by page, each in its own commit, for as long as one request may take."""
    until, place = clock.monotonic() + longest, after
    canceled = too_late = 0
    while True:
        found = await find_waiting(db, caller.channel_id, chosen, place, page_rows=piece)
        too_late, place = too_late + found.too_late, found.place
        if found.waiting:
            channel_id = caller.channel_id
            states = await message_cancel.cancel_messages(db, caller.ref, channel_id, found.waiting, clock.now())
            ended = sum(may_follow(state, State.CANCELED) for state in states.values())
            canceled, too_late = canceled + ended, too_late + len(states) - ended
        if place is None or clock.monotonic() >= until:
            return CancelResult(canceled, too_late, place)
