"""Putting words into blocks, which the channel's owner does behind its messages; see `store/word_blocks.py`."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import structlog

from gatepost.model.errors import GatepostError
from gatepost.store.heads import Lease, StaleOwner
from gatepost.store.pool import Database
from gatepost.store.word_blocks import index_more

log = structlog.get_logger("gatepost.search")
_PAUSE = 0.5  # seconds between looks: a burst of messages then makes whole blocks
_AFTER_TROUBLE = 5.0


class SearchIndex:
    """Keeps a channel's blocks close behind its messages."""

    next_work: datetime | None = None

    def __init__(self, db: Database, lease: Lease, alive: Callable[[], bool], pause: float = _PAUSE) -> None:
        self._db = db
        self._lease = lease
        self._alive = alive
        self._pause = pause
        self._bell = asyncio.Event()
        self._bell.set()
        self._stopping = False
        self._busy = True

    @property
    def idle(self) -> bool:
        return not self._busy and not self._bell.is_set()

    def ring(self) -> None:
        """There may be new messages."""
        self._bell.set()

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        while not self._stopping and self._alive():
            self._bell.clear()
            self._busy = True
            wait = await self._catch_up()
            self._busy = False
            if not self._stopping:
                await self._bell.wait()
                await asyncio.sleep(wait)

    async def stop(self) -> None:
        self._stopping = True
        self._bell.set()

    async def _catch_up(self) -> float:
        """Writes all that there is to write; returns how long to wait before the next look.

        Whatever goes wrong here, the channel goes on sending: a search then reads on message by message.
        """
        try:
            more = True
            while more and not self._stopping and self._alive():
                more = await index_more(self._db, self._lease)
        except StaleOwner:
            self._stopping = True
        except GatepostError as error:
            log.warning("words not written", channel=self._lease.channel_id.hex, reason=error.message)
            return _AFTER_TROUBLE
        except Exception:
            log.exception("words cannot be written", channel=self._lease.channel_id.hex)
            return _AFTER_TROUBLE
        return self._pause
