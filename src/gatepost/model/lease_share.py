"""How the channels are divided among the processes that work: each should own an equal number of the owned ones."""

from collections.abc import Collection

_SLACK = 0.1  # fraction of a share that a process may have more than it, so that no channel moves to and fro
MOST_MOVES = 50  # channels that a process gives up at once: each has a new owner within a moment


def room_for(mine: int, others: Collection[int], unowned: int) -> int:
    """Return how many unowned channels a process should take at once; the others take the rest.

    `mine` and `others` are the numbers of channels that this process and each of the others own.
    """
    return max(0, _share(mine + sum(others) + unowned, 1 + len(others)) - mine)


def excess_of(mine: int, others: Collection[int]) -> int:
    """Return how many channels a process should give up."""
    share = _share(mine + sum(others), 1 + len(others))
    over = mine - share
    return min(over, MOST_MOVES) if over > share * _SLACK else 0


def _share(total: int, processes: int) -> int:
    return -(-total // processes)
