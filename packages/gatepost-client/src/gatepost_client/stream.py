"""A parser of server-sent events: bytes in, events out, and where to resume after a disconnect."""

import msgspec

from gatepost_client.errors import GatepostError
from gatepost_client.events import Event
from gatepost_client.retry import COME_BACK, wait_out
from gatepost_client.wire import Call

_decode = msgspec.json.Decoder(Event).decode


class EventReader:
    """Reads one stream across reconnects."""

    def __init__(self) -> None:
        self.last: str | None = None  # the id to go on behind
        self.retry = COME_BACK  # seconds to wait before coming back, as the gateway asks
        self._rest = b""

    def resume(self, call: Call[None]) -> Call[None]:
        """Return the call that resumes the stream after its last event."""
        self._rest = b""
        if self.last is None:
            return call
        request = msgspec.structs.replace(call.request, query=call.request.query | {"after": self.last})
        return msgspec.structs.replace(call, request=request)

    def wait_after(self, error: GatepostError) -> float:
        """Return the seconds to wait before coming back; raise the error if there was no stream, or never will be."""
        if self.last is None:
            raise error
        return wait_out(error, self.retry)

    def read(self, piece: bytes) -> list[Event]:
        """Return the events that this chunk completes."""
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        return [event for block in blocks if (event := self._block(block)) is not None]

    def _block(self, block: bytes) -> Event | None:
        fields = dict(_field(line) for line in block.split(b"\n"))
        if b"retry" in fields:
            self.retry = int(fields[b"retry"]) / 1000
        event = _decode(fields[b"data"]) if b"data" in fields else None
        if b"id" in fields:
            self.last = fields[b"id"].decode()
        return event


def _field(line: bytes) -> tuple[bytes, bytes]:
    """Return name and value of a line; a comment has no name."""
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")
