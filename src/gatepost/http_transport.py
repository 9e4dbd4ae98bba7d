"""The transport of a connection: when it reads on, how it closes, and a response that no application wrote."""

import asyncio
from collections.abc import Sized
from typing import Protocol

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gatepost.api.json_body import HttpAnswer


class PipelineFlow(FlowControl):
    """Resumes reading only when no request waits for its turn; otherwise, each response would let in many more."""

    def __init__(self, transport: asyncio.Transport, pipeline: Sized) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        if self.read_paused and not self._pipeline:
            super().resume_reading()


class _Connection(Protocol):
    transport: asyncio.Transport

    @property
    def is_read(self) -> bool:
        """Whether the request has been read completely."""

    def end_gently(self) -> None:
        """Close the connection after a delay."""


class AnsweringTransport:
    """The transport for responses. If the request is not read completely, `close` leaves time to read the response."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing

    def close(self) -> None:
        if self._connection.is_read:
            self._connection.transport.close()
        else:
            self._connection.end_gently()


def response_bytes(answer: HttpAnswer, request_id: str, *, bodiless: bool) -> bytes:
    """Return a response that closes the connection."""
    headers = (
        (b"content-type", answer.kind),
        (b"content-length", b"%d" % len(answer.body)),
        (b"connection", b"close"),
        (b"x-request-id", request_id.encode()),
        *answer.headers,
    )
    head = b"".join(b"%s: %s\r\n" % header for header in headers)
    return STATUS_LINE[answer.status] + head + b"\r\n" + (b"" if bodiless else answer.body)
