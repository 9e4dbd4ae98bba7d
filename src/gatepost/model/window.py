"""The customer-service window: free text may be sent for 24 hours after a person's last message."""

from datetime import datetime, timedelta

from gatepost.model import times
from gatepost.model.errors import Invalid

WINDOW = timedelta(hours=24)


def window_ends(last_incoming: datetime | None) -> datetime | None:
    """Return when the window closes; None if it never opened."""
    return None if last_incoming is None else last_incoming + WINDOW


def check_window(last_incoming: datetime | None, leaves: datetime) -> None:
    """Reject a free-form message that would be sent outside of the window."""
    ends = window_ends(last_incoming)
    if ends is None:
        raise _closed("This person has not written to you yet, so only a template can be sent.")
    if leaves >= ends:
        raise _closed(f"The 24 hours after this person's last message end at {times.format_time(ends)}.")


def _closed(why: str) -> Invalid:
    return Invalid(f"{why} Send a template (type template), or wait until they write.", "window_closed")
