"""Recipients that are contacts already, as far as this process has seen."""

from collections.abc import Collection
from uuid import UUID

_LIMIT = 50_000  # recipients after which older ones are forgotten

_Recipients = dict[UUID, set[str]]  # by channel


class RecentRecipients:
    """Guesses whether a recipient is a contact already, so that a shorter statement is enough (`accept_plain.py`).

    A wrong guess costs another statement.

    It is one if this process has accepted a message to it, or if the last other recipient of the channel was one: a
    campaign to contacts is told apart from one to new people by its first message.
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self._limit = limit
        self._young: _Recipients = {}
        self._old: _Recipients = {}
        self._count = 0  # of the young ones
        self._settled: set[UUID] = set()  # channels whose last other recipient was a contact

    def add(self, channel_id: UUID, phone: str, *, new: bool = True) -> None:
        """Remember a recipient, and whether it has become a contact only now."""
        if self._is_recent(channel_id, phone):
            return
        self._remember(channel_id, phone)
        if new:
            self._settled.discard(channel_id)
        elif len(self._settled) < self._limit:
            self._settled.add(channel_id)

    def include(self, channel_id: UUID, phones: Collection[str]) -> bool:
        """Return the guess for several recipients: whether each of them is a contact."""
        if channel_id in self._settled:
            return True
        young = self._young.get(channel_id)
        if young is not None and young.issuperset(phones):
            return True
        return all(self._is_recent(channel_id, phone) for phone in phones)

    def _is_recent(self, channel_id: UUID, phone: str) -> bool:
        if phone in self._young.get(channel_id, ()):
            return True
        if phone in self._old.get(channel_id, ()):
            self._remember(channel_id, phone)
            return True
        return False

    def _remember(self, channel_id: UUID, phone: str) -> None:
        self._young.setdefault(channel_id, set()).add(phone)
        self._count += 1
        if self._count >= self._limit:
            self._young, self._old, self._count = {}, self._young, 0
