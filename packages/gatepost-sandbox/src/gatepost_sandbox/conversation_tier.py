"""The conversations that a number opened: its tier limits them, and their number raises it."""

DAY = 24 * 3600.0
WEEK = 7 * DAY


class OpenedConversations:
    """The people that a number wrote to outside of a window in the last day and week, with the last time."""

    def __init__(self) -> None:
        self._day: dict[str, float] = {}
        self._week: dict[str, float] = {}

    def may_open(self, person: str, now: float, tier: int) -> bool:
        """Return whether the tier allows a conversation with this person; 0 is unlimited."""
        return tier == 0 or self.in_day(now) < tier or person in self._day

    def note(self, person: str, now: float) -> None:
        """Record that the number wrote to a person outside of a window."""
        for kept in (self._day, self._week):
            kept.pop(person, None)  # to the end: the dictionaries are in the order of time
            kept[person] = now

    def in_day(self, now: float) -> int:
        """Return the number of people in the last 24 hours."""
        return _count_after(self._day, now - DAY)

    def in_week(self, now: float) -> int:
        """Return the number of people in the last 7 days."""
        return _count_after(self._week, now - WEEK)


def _count_after(kept: dict[str, float], cutoff: float) -> int:
    while kept:
        oldest = next(iter(kept))
        if kept[oldest] > cutoff:
            break
        del kept[oldest]
    return len(kept)


def next_tier(tier: int, ladder: tuple[int, ...]) -> int | None:
    """Return the next higher tier, or None. The unlimited tier, 0, is the highest."""
    higher = sorted(step for step in ladder if step > tier) if tier else []
    steps = [*higher, 0] if tier and 0 in ladder else higher
    return steps[0] if steps else None


def tier_name(tier: int | None) -> str:
    """Return a tier as the network writes it; TIER_NOT_SET where tiers are disabled."""
    if tier is None:
        return "TIER_NOT_SET"
    if tier == 0:
        return "TIER_UNLIMITED"
    return f"TIER_{tier // 1000}K" if tier % 1000 == 0 else f"TIER_{tier}"
