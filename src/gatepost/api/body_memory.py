"""The memory that bodies of callbacks may take while they arrive: so much in all, and of it a share per channel."""

from collections.abc import Hashable

from gatepost.model.errors import Unavailable

_SHARE = 4  # one channel has at most the fourth part


class BodyMemory:
    """Bytes of bodies that are held at the moment."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._of: dict[Hashable, int] = {}

    def open(self, owner: Hashable) -> "HeldBody":
        """A body that is about to arrive."""
        return HeldBody(self, owner)

    def take(self, owner: Hashable, size: int) -> None:
        """Count bytes that have arrived, or reject them if there is no memory left."""
        of_owner = self._of.get(owner, 0)
        if self._held + size > self._most or of_owner + size > self._most // _SHARE:
            raise Unavailable("Too many large requests are arriving at once. Try again shortly.", retry_after=2)
        self._held += size
        self._of[owner] = of_owner + size

    def give_back(self, owner: Hashable, size: int) -> None:
        """Counts bytes that are no longer held."""
        self._held -= size
        left = self._of.pop(owner, 0) - size
        if left:
            self._of[owner] = left

    @property
    def held(self) -> int:
        """Bytes that are held in all."""
        return self._held


class HeldBody:
    """The bytes of one body, for the length of a block."""

    def __init__(self, memory: BodyMemory, owner: Hashable) -> None:
        self._memory = memory
        self._owner = owner
        self._size = 0

    def __enter__(self) -> "HeldBody":
        return self

    def __exit__(self, *_: object) -> None:
        if self._size:
            self._memory.give_back(self._owner, self._size)

    def take(self, size: int) -> None:
        """Count a chunk."""
        if size:
            self._memory.take(self._owner, size)
            self._size += size
