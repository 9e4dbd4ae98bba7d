"""How many of the newest blocks a search reads before it asks the index of words.

Reading a block finds messages only if the words are frequent. The index names all blocks of the channel that contain
the words, which takes longer the more there are: milliseconds for tens of thousands. So reading goes on as long as the
page is expected to be full before the index would have answered.
"""

from math import ceil

import msgspec

FIRST = 8  # newest blocks that are always read
AT_ONCE = 40  # blocks of one statement
MOST = 256  # blocks, after which the index is asked
SAMPLE = 256  # newest blocks, by whose time the number of all is estimated; the index of fewer is always fast
MOST_HOLDING = 72  # blocks with all words, after which the search ends; if most blocks have them, blocks of any kind
_FEW = 48  # blocks in total that are read without comparing
_NAMED = 25  # blocks that the index names in the time of reading one
_SPARE = 8  # blocks read in addition: fewer would often need another statement
_HALF = 0.5  # added to what was counted in a few blocks


class Walked(msgspec.Struct, frozen=True):
    """What the newest blocks contained."""

    blocks: int
    holding: int  # those with all words, be it in different messages
    found: int  # messages
    missing: int  # messages that make up the page

    @property
    def in_most_blocks(self) -> bool:
        return 2 * self.holding >= self.blocks

    @property
    def enough(self) -> bool:
        """Whether the search ends here."""
        return not self.missing or self._left <= 0

    @property
    def needed(self) -> int:
        """How many more blocks are expected to make up the page, or to end the search."""
        return min(self._to_page, self._to_end)

    @property
    def next(self) -> int:
        """How many blocks the next statement reads."""
        return min(self._to_page + _SPARE, self._to_end, AT_ONCE, MOST - self.blocks)

    @property
    def without_index(self) -> bool:
        """Whether reading is faster, however long the history is."""
        return self.in_most_blocks or self.blocks + self.needed <= _FEW

    def faster_than_index(self, history: float) -> bool:
        """Whether reading is faster than an index of so many blocks."""
        named = history * (self.holding + _HALF) / self.blocks
        return self.blocks < MOST and self.needed * _NAMED <= named

    @property
    def _left(self) -> int:
        return MOST_HOLDING - (self.blocks if self.in_most_blocks else self.holding)

    @property
    def _to_page(self) -> int:
        return self._blocks_of(self.missing, self.found)

    @property
    def _to_end(self) -> int:
        return self._left if self.in_most_blocks else self._blocks_of(self._left, self.holding)

    def _blocks_of(self, wanted: int, counted: int) -> int:
        """Return how many blocks contain so many, if `counted` were in those that were read."""
        return ceil(wanted * self.blocks / (counted + _HALF))
