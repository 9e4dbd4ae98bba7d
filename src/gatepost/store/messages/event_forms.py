"""Events as templates of PostgreSQL's `format`, for statements that number the events themselves.

A template is made once for each channel: the values that differ are marks, which become the arguments of `format`.
"""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from gatepost.model import times
from gatepost.model.event import AnyEvent, ChannelRef, NewEvent, render

# Nobody outside of the process knows these values, so that no name or label contains one.
EVENT_ID = uuid4()
SEQUENCE = secrets.randbits(62) | 1 << 62
NOW = datetime.fromtimestamp(secrets.randbelow(10**11), UTC)
_NOW_TEXT = times.format_time(NOW)


def as_form(data: AnyEvent, channel: ChannelRef, marks: Sequence[str]) -> str:
    """Return an event as a template, with its marks in the order of the arguments of `format`. Its time is `NOW`."""
    text = render(NewEvent(EVENT_ID, data), SEQUENCE, channel, NOW).replace("%", "%%")
    for place, mark in enumerate(marks, 1):
        text = text.replace(mark, f"%{place}$s")
    return text


def form_at(now: datetime, form: str) -> str:
    """Return the template of an event of this time."""
    return form.replace(_NOW_TEXT, times.format_time(now))
