"""Putting words into blocks, which the channel's owner does behind its messages; see `store/word_blocks.py`."""

from collections.abc import Callable

from gatepost.desk.chore import Chore
from gatepost.store.heads import Lease
from gatepost.store.pool import Database
from gatepost.store.word_blocks import index_more

_PAUSE = 0.5  # seconds between looks: a burst of messages then makes whole blocks


class SearchIndex(Chore):
    """Keeps a channel's blocks close behind its messages. Where it lags, a search reads message by message."""

    name = "search index"

    def __init__(self, db: Database, lease: Lease, alive: Callable[[], bool], pause: float = _PAUSE) -> None:
        super().__init__(lease, alive, pause)
        self._db = db

    async def work(self) -> None:
        """Writes all that there is to write."""
        more = True
        while more and self.going:
            more = await index_more(self._db, self._lease)
