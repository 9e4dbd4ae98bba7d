"""Replaces an engine that could not be loaded, and reports the reason to every link that is opened."""

import asyncio

from gatepost.networks.qr.phone import request_errors
from gatepost.networks.qr.phone.wire import Fields, RequestRefused, Requests


class FailedEngine(Requests):
    """Answers every request with the same reason."""

    def __init__(self, reason: str, writer: asyncio.StreamWriter) -> None:
        super().__init__(writer)
        self._reason = reason

    async def do(self, op: str, frame: Fields) -> Fields | list[Fields]:
        if op in ("ping", "close"):
            return {"ok": True}
        if op != "open":
            raise RequestRefused(request_errors.not_up(self._reason))
        state = {"state": "disconnected", "reason": "could_not_load", "details": self._reason}
        self.write({"event": "connection", "session": frame["session"], **state})
        return {"ok": True, "own_ids": False}
