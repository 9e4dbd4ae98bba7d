"""Limits the memory of callback bodies while they arrive, in total and per channel."""

from collections.abc import Hashable

from gatepost.model.errors import Unavailable

_SHARE = 4  # a channel may use at most a quarter of the total


class BodyMemory:
    """Counts the bytes of the bodies that are in memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._of: dict[Hashable, int] = {}

    def open(self, owner: Hashable) -> "HeldBody":
        """Return a context manager that counts one body."""
        return HeldBody(self, owner)

    def take(self, owner: Hashable, size: int) -> None:
        """Count bytes that have arrived, or reject them if there is no memory left."""
        of_owner = self._of.get(owner, 0)
        if self._held + size > self._most or of_owner + size > self._most // _SHARE:
            raise Unavailable("Too many large requests are arriving at once. Try again shortly.", retry_after=2)
        self._held += size
        self._of[owner] = of_owner + size

    def give_back(self, owner: Hashable, size: int) -> None:
        """Subtract bytes that are no longer in memory."""
        self._held -= size
        left = self._of.pop(owner, 0) - size
        if left:
            self._of[owner] = left

    @property
    def held(self) -> int:
        """The total bytes in memory."""
        return self._held


class HeldBody:
    """Counts the bytes of one body until `release`, or the end of a `with` block."""

    def __init__(self, memory: BodyMemory, owner: Hashable) -> None:
        self._memory = memory
        self._owner = owner
        self._size = 0

    def __enter__(self) -> "HeldBody":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self, *_: object) -> None:
        """Stop counting the body."""
        if self._size:
            self._memory.give_back(self._owner, self._size)

    def take(self, size: int) -> None:
        """Count a chunk."""
        if size:
            self._memory.take(self._owner, size)
            self._size += size
