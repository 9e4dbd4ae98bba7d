"""The limits of a number on its network."""

from collections.abc import Mapping

from gatepost.model.errors import invalid_field

Limits = Mapping[str, float]

# Name: minimum, maximum, whether it must be a whole number.
_KNOWN = {
    "throughput": (0.01, 1_000.0, False),  # messages per second
    "tier": (0.0, 10_000_000.0, True),  # conversations opened in any 24 hours; 0 is no limit
    "pair_seconds": (0.0, 3_600.0, False),  # seconds between messages to one recipient...
    "pair_burst": (1.0, 10_000.0, True),  # ...after a burst of this many
    "window": (0.0, 1.0, True),  # 1: free text only within 24 hours of the person's last message; 0: at any time
}
NAMES = tuple(_KNOWN)


def check_limits(limits: Limits) -> dict[str, float]:
    """Check each limit against its range."""
    for name, value in limits.items():
        if name not in _KNOWN:
            raise invalid_field(name, f"is not a limit; there are: {', '.join(NAMES)}")
        minimum, maximum, whole = _KNOWN[name]
        if not minimum <= value <= maximum:
            raise invalid_field(name, f"must be between {minimum:g} and {maximum:,.0f}")
        if whole and value != int(value):
            raise invalid_field(name, "must be a whole number")
    return {name: int(value) if value == int(value) else value for name, value in limits.items()}
