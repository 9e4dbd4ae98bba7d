"""Events: the feed, up to now or waiting for more; and the stream of what happens."""

from collections.abc import Iterable

import msgspec

from gatepost_client.calls.making import pages
from gatepost_client.calls.making import stream as piecewise
from gatepost_client.events import Event
from gatepost_client.wire import Call, Listing

_WAIT = 15  # seconds: well below the time that a client waits for an answer


def events(*, after: str | None = None, types: Iterable[str] | None = None, follow: bool = False) -> Listing[Event]:
    """The channel's events after one that you know, the oldest first, up to now; with `follow`, waiting for more."""
    query = {"after": after, "types": types, "wait": _WAIT if follow else None}
    return msgspec.structs.replace(pages(Event, "events", cursor="after", query=query), endless=follow)


def stream(*, after: str | None = None, types: Iterable[str] | None = None) -> Call[None]:
    """Events as they happen, from now on or after one that you know. Comes back by itself after a cut."""
    call = piecewise("events", "stream", query={"after": after, "types": types})
    return msgspec.structs.replace(call, request=msgspec.structs.replace(call.request, live=True))
