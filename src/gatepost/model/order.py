"""The statuses of an order. It only moves forward, may skip statuses, and can be canceled until it is delivered.

new ─► confirmed ─► shipped ─► delivered
  ╰───────┴────────────┴─────► canceled
"""

from gatepost.model.errors import Conflict

WAY = ("new", "confirmed", "shipped", "delivered")
CANCELED = "canceled"
STATUSES = (*WAY, CANCELED)
LINES_MAX = 1_000  # items of one order; a message with more is stored, but no order is created


def may_move(before: str, after: str) -> bool:
    """Return whether an order may change from one status to another."""
    if before not in WAY or before == WAY[-1]:
        return False
    return after == CANCELED or (after in WAY and WAY.index(after) > WAY.index(before))


def check_move(before: str, after: str) -> None:
    """Reject a move backward, and any move from a final status."""
    if not may_move(before, after):
        raise Conflict(f"An order that is {before} cannot become {after}; orders only move forward: {', '.join(WAY)}.")
