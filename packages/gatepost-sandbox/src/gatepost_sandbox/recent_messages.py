"""The recent messages of a number, which can be quoted or reacted to."""

AGE_MAX = 30 * 86_400.0
_KEPT = 100_000


class RecentMessages:
    """Recent message ids, incoming and outgoing; the oldest are dropped in batches."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._reactions: set[str] = set()

    def note(self, wamid: str, at: float, *, reaction: bool = False) -> None:
        """Record a message."""
        self._times[wamid] = at
        if reaction:
            self._reactions.add(wamid)
        if len(self._times) > 2 * _KEPT:
            self._times = dict(list(self._times.items())[-_KEPT:])
            self._reactions &= self._times.keys()

    def knows(self, wamid: str, now: float) -> bool:
        """Return whether there is such a message, not more than 30 days old and not itself a reaction."""
        at = self._times.get(wamid)
        return at is not None and now - at <= AGE_MAX and wamid not in self._reactions
