"""To whom a number has opened conversations lately: what its tier counts, and what makes it rise."""

DAY = 24 * 3600.0
WEEK = 7 * DAY


class OpenedConversations:
    """The people a number wrote to first, each at the last time it did, within a day and within a week."""

    def __init__(self) -> None:
        self._day: dict[str, float] = {}
        self._week: dict[str, float] = {}

    def may_open(self, person: str, now: float, tier: int) -> bool:
        """Whether the tier leaves room for this person; 0 is a tier without limit."""
        return tier == 0 or self.in_day(now) < tier or person in self._day

    def note(self, person: str, now: float) -> None:
        """The number wrote to a person outside of any window."""
        for kept in (self._day, self._week):
            kept.pop(person, None)  # to the end: the dictionaries are in the order of time
            kept[person] = now

    def in_day(self, now: float) -> int:
        """How many people in the last 24 hours."""
        return _count_after(self._day, now - DAY)

    def in_week(self, now: float) -> int:
        """How many people in the last 7 days."""
        return _count_after(self._week, now - WEEK)


def _count_after(kept: dict[str, float], cutoff: float) -> int:
    while kept:
        oldest = next(iter(kept))
        if kept[oldest] > cutoff:
            break
        del kept[oldest]
    return len(kept)


def next_tier(tier: int, ladder: tuple[int, ...]) -> int | None:
    """The step above a tier; None when there is none. The step without limit, 0, is above all others."""
    higher = sorted(step for step in ladder if step > tier) if tier else []
    steps = [*higher, 0] if tier and 0 in ladder else higher
    return steps[0] if steps else None


def tier_name(tier: int | None) -> str:
    """A tier as the network writes it; none at all where tiers are switched off."""
    if tier is None:
        return "TIER_NOT_SET"
    if tier == 0:
        return "TIER_UNLIMITED"
    return f"TIER_{tier // 1000}K" if tier % 1000 == 0 else f"TIER_{tier}"
