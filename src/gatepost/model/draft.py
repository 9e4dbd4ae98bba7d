"""Drafts: messages that a person has to approve.

waiting ─► sent      a person approved it
   │  └──► refused   a person refused it, or the contact was deleted
   └─────► expired   nobody decided in time
"""

from datetime import datetime, timedelta
from typing import Literal, get_args
from uuid import UUID

import msgspec

from gatepost.model.errors import Conflict

DraftState = Literal["waiting", "sent", "refused", "expired"]
DRAFT_STATES: tuple[DraftState, ...] = get_args(DraftState)
DRAFT_LIFE = timedelta(hours=24)
WAITING_MAX = 1_000  # per channel
COMMENT_MAX = 1_000  # characters


class DraftApproval(msgspec.Struct, frozen=True):
    """The draft that a message comes from. It is sent only if this revision still waits."""

    draft_id: UUID
    revision: int
    anyway: bool = False  # whether to send it although the person has written since


def state_at(state: DraftState, expires_at: datetime, now: datetime) -> DraftState:
    """Return the state of a draft: it expires by the clock, before housekeeping has written it."""
    return "expired" if state == "waiting" and expires_at <= now else state


def check_waiting(state: DraftState) -> None:
    """Reject a change of a draft that is decided."""
    if state != "waiting":
        why = "has expired" if state == "expired" else f"is {state} already"
        raise Conflict(f"This draft {why}, so that it can neither be changed nor approved nor refused.")


def check_revision(revision: int, expected: int | None) -> None:
    """Reject a change of a draft that was edited after it was read; None is any revision."""
    if expected is not None and revision != expected:
        raise Conflict("This draft was edited meanwhile. Read it again.")


def conversation_changed() -> Conflict:
    return Conflict(
        "The person has written since the draft was made or edited. Read the conversation; then edit the draft, or "
        'approve it with "anyway": true.',
        "conversation_changed",
    )


def number_changed(phone: str) -> Conflict:
    return Conflict(
        f"The contact of this draft does not have the number {phone} any more, and another person may have it now. "
        "Refuse the draft, and write to the contact's new number."
    )


def too_many_drafts() -> Conflict:
    return Conflict(f"{WAITING_MAX:,} drafts of this channel wait for a decision, and that is the most. Decide some.")
