"""The front of the door: gives every request an id, and leads it to a hot route or to the framework."""

import itertools
import os
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from gatepost.api.body import Answer
from gatepost.api.errors import error_answer
from gatepost.api.gateway import Gateway
from gatepost.api.hot import Handler, hot_route


class Front:
    """The ASGI app of a process."""

    def __init__(self, app: ASGIApp, gateway: Gateway, *, hot: bool) -> None:
        self._app = app
        self._gateway = gateway
        self._hot = hot
        self._process = "req_" + os.urandom(8).hex()
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request_id = f"{self._process}{next(self._numbers):08x}"
        handler = hot_route(scope["method"], scope["path"]) if self._hot else None
        if handler is None:
            await self._lead_to_framework(request_id, scope, receive, send)
        else:
            await self._answer(handler, request_id, scope, receive, send)

    async def _answer(self, handler: Handler, request_id: str, scope: HTTPScope, receive: Receive, send: Send) -> None:
        try:
            answer = await handler(self._gateway, scope, receive)
        except Exception as error:
            answer = error_answer(error, request_id, scope["path"])
        await send_answer(send, answer, request_id)

    async def _lead_to_framework(self, request_id: str, scope: HTTPScope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["request_id"] = request_id
        header = (b"x-request-id", request_id.encode())

        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], header]
            await send(message)

        await self._app(scope, receive, tagged)


async def send_answer(send: Send, answer: Answer, request_id: str) -> None:
    headers = [
        (b"content-type", answer.kind),
        (b"content-length", b"%d" % len(answer.body)),
        (b"x-request-id", request_id.encode()),
        *answer.headers,
    ]
    start: Any = {"type": "http.response.start", "status": answer.status, "headers": headers}
    body: Any = {"type": "http.response.body", "body": answer.body}
    await send(start)
    await send(body)
