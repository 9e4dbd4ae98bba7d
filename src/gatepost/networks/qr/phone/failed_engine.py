"""Stands in where the library could not be loaded: every link that is opened hears why."""

import asyncio

from gatepost.networks.qr.phone import request_errors
from gatepost.networks.qr.phone.wire import Fields, RequestRefused, Requests


class FailedEngine(Requests):
    """Says the same to everybody."""

    def __init__(self, reason: str, writer: asyncio.StreamWriter) -> None:
        super().__init__(writer)
        self._reason = reason

    async def do(self, op: str, frame: Fields) -> Fields | list[Fields]:
        if op in ("ping", "close"):
            return {"ok": True}
        if op != "open":
            raise RequestRefused(request_errors.not_up(self._reason))
        told = {"state": "disconnected", "reason": "could_not_load", "details": self._reason}
        self.write({"event": "connection", "session": frame["session"], **told})
        return {"ok": True, "own_ids": False}
