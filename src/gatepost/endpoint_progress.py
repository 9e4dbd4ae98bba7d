"""Saves the progress of endpoints, of many owned channels at once."""

from collections.abc import Sequence

from gatepost.background import attempt, log_failure
from gatepost.model.errors import Unavailable
from gatepost.owned_channel import OwnedChannel
from gatepost.store.deliveries.queue import save_cursors
from gatepost.store.pool import Database

_TOGETHER = 200  # channels of one statement


async def save_progress(db: Database, owned: Sequence[OwnedChannel]) -> None:
    """Save what has changed, of the channels for which it is time. If that fails, of each channel by itself."""
    due = [one for one in owned if one.save_due]
    for first in range(0, len(due), _TOGETHER):
        some = due[first : first + _TOGETHER]
        try:
            await _save(db, some)
        except Unavailable:
            raise
        except Exception as error:
            log_failure("saving of endpoints' progress", error)
            for one in some:
                await attempt("saving of endpoints' progress", one.save, channel=one.lease.channel_id.hex)


async def _save(db: Database, channels: Sequence[OwnedChannel]) -> None:
    changed = {one: unsaved for one in channels if (unsaved := one.unsaved())}
    done = await save_cursors(db, {one.lease: some for one, some in changed.items()}, wait=False)
    for one in channels:
        one.saved({id_: cursor for id_, cursor in changed.get(one, {}).items() if id_ in done})
