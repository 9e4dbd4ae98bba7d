"""The way of an order: forward in any stride, and out of it until it has arrived.

new ─► confirmed ─► shipped ─► delivered
  ╰───────┴────────────┴─────► canceled
"""

from gatepost.model.errors import Conflict

WAY = ("new", "confirmed", "shipped", "delivered")
CANCELED = "canceled"
STATUSES = (*WAY, CANCELED)
LINES_MAX = 1_000  # of one order; a message with more is kept, but makes no order


def may_move(before: str, after: str) -> bool:
    """Whether an order may go from one status to another."""
    if before not in WAY or before == WAY[-1]:
        return False
    return after == CANCELED or (after in WAY and WAY.index(after) > WAY.index(before))


def check_move(before: str, after: str) -> None:
    """Refuses a step back, and any step out of an end."""
    if not may_move(before, after):
        raise Conflict(f"An order that is {before} cannot become {after}; orders only move forward: {', '.join(WAY)}.")
