"""Canceling a message that has not left yet."""

from datetime import datetime

from gatepost.model import ids
from gatepost.model.account import Caller
from gatepost.model.errors import Conflict, NotFound
from gatepost.model.event import ChannelRef
from gatepost.model.message import STATUS, State
from gatepost.store import sending
from gatepost.store.messages import StoredMessage
from gatepost.store.pool import Database


async def cancel_message(db: Database, caller: Caller, message: StoredMessage, now: datetime) -> None:
    """Cancels, or says why it is too late."""
    channel = ChannelRef(ids.show("ch", caller.channel_id), caller.kind, caller.phone)
    before, after = await sending.cancel_message(db, channel, caller.channel_id, message.id, now)
    if after is None:
        raise NotFound("There is no such outgoing message on this channel.")
    if before is not State.QUEUED:
        where = "on its way to the network" if before is State.SENDING else STATUS[after]
        raise Conflict(f"Only a message that has not left can be canceled; this one is {where}.")
