"""The customer-service window of official channels: 24 hours from a person's last message, anything may be sent."""

from datetime import datetime, timedelta

from gatepost.model import times
from gatepost.model.errors import Invalid

WINDOW = timedelta(hours=24)


def window_ends(last_incoming: datetime | None) -> datetime | None:
    """When the window closes; None where it never opened."""
    return None if last_incoming is None else last_incoming + WINDOW


def check_window(last_incoming: datetime | None, leaves: datetime) -> None:
    """Refuses a free-form message that would leave outside of the window."""
    ends = window_ends(last_incoming)
    if ends is None:
        raise _closed("This person has not written yet, so only a template may be sent.")
    if leaves >= ends:
        raise _closed(f"The 24 hours after this person's last message end at {times.show(ends)}.")


def _closed(why: str) -> Invalid:
    return Invalid(f"{why} Send a template (type template), or wait until they write.", "window_closed")
