"""Events: the feed, which may wait for more, and the live stream."""

from collections.abc import Iterable

import msgspec

from gatepost_client.calls.builders import pages
from gatepost_client.calls.builders import stream as piecewise
from gatepost_client.events import Event
from gatepost_client.wire import Call, Listing

_WAIT = 15  # seconds: well below the time that a client waits for an answer


def events(*, after: str | None = None, types: Iterable[str] | None = None, follow: bool = False) -> Listing[Event]:
    """List the channel's events after a known one, oldest first. With `follow`, wait for more."""
    query = {"after": after, "types": types, "wait": _WAIT if follow else None}
    return msgspec.structs.replace(pages(Event, "events", cursor="after", query=query), endless=follow)


def stream(*, after: str | None = None, types: Iterable[str] | None = None) -> Call[None]:
    """Follow events as they happen, from now or after a known one. A broken stream is resumed."""
    call = piecewise("events", "stream", query={"after": after, "types": types})
    return msgspec.structs.replace(call, request=msgspec.structs.replace(call.request, live=True))
