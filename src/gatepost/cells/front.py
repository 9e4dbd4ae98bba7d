"""Passes each request to the cell of its credential, and requests without one to the first cell.

dashboard, documentation, /readyz, /metrics, unknown credentials ─► main
POST /api/v1/session ─► the cells that have a user with this e-mail address, one after the other: the password decides
everything else      ─► the cell that has the key, the session, the one-time link or the channel
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import structlog

from gatepost.api.asgi import Message, Receive, Scope, Send
from gatepost.api.dispatcher import Dispatcher
from gatepost.api.errors import error_answer
from gatepost.api.hot_routes import Begun, Handler, HotRoute, read_all
from gatepost.api.json_body import HttpAnswer
from gatepost.api.session_cookie import SessionCookie
from gatepost.cells.cell import Cell
from gatepost.cells.credential import SIGN_IN, Credential, Kind, read_credential, read_email
from gatepost.cells.directory import CellDirectory
from gatepost.model.errors import GatepostError, account_moving, database_unavailable

_bind = structlog.contextvars.bind_contextvars
_WITHOUT_BODY = ("GET", "HEAD")
# The statuses by which a cell may say that it does not have the credential. For a second after the account has left it,
# a cell remembers keys and sessions: then it finds no channel, or its database rejects a record of the account.
_REFUSALS: dict[Kind, Collection[int]] = {
    "key": (401, 404, 500),
    "session": (401, 404, 500),
    "link": (404,),
    "channel": (404,),
    "email": (),
}
_WRONG = b'"wrong-keys"'  # the limit that replaces the refusal if there were too many


class CellFront:
    """The ASGI app of a process with several cells, and its hot routes."""

    def __init__(self, cells: Sequence[Cell], cookie: SessionCookie, body_limit: int) -> None:
        self._main: Cell = cells[0]
        self._api: Dispatcher = self._main.gatepost.api
        self._directory = CellDirectory(cells)
        self._cookie = cookie
        self._body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            if scope["path"] == SIGN_IN and scope["method"] == "POST":
                await self._sign_in(scope, receive, send)
                return
            credential = read_credential(scope, self._cookie)
            cell = await self._cell_of(credential) if credential is not None else None
        except GatepostError as error:
            await self._api.answer_error(error, scope, send)
            return
        _bind(cell=(cell or self._main).name)
        if credential is None or cell is None:
            await self._main.gatepost.web(scope, receive, send)
            return
        refused = _Refused(send, credential.kind)
        await cell.gatepost.api(scope, receive, refused)
        if refused.messages:
            await self._refuse(credential, cell, scope, refused, receive)

    async def _refuse(
        self, credential: Credential, cell: Cell, scope: Scope, refused: "_Refused", receive: Receive
    ) -> None:
        """Send the refusal, unless the account was moved: then the other cell answers, or the client tries again."""
        try:
            moved = await self._directory.find_moved(credential, cell)
            if moved is not None and scope["method"] not in _WITHOUT_BODY:
                raise account_moving()
        except GatepostError as error:
            await self._api.answer_error(error, scope, refused.send)
            return
        if moved is not None:
            _bind(cell=moved.name)
            again: Any = {**scope, "state": {}}
            await moved.gatepost.api(again, receive, refused.send)
            return
        for message in refused.messages:
            await refused.send(message)

    def new_request_id(self) -> str:
        """Return the id of a new request."""
        return self._api.new_request_id()

    def direct_route(self, path: str) -> HotRoute | None:
        """Return the hot route for POST to a path, the same in all cells."""
        return self._api.direct_route(path)

    def begin_hot(self, route: HotRoute, scope: Scope, body: bytes) -> tuple[Dispatcher, Begun] | None:
        """Begin to answer a request in its cell, if that is known."""
        credential = read_credential(scope, self._cookie)
        cell = self._directory.peek(credential) if credential is not None else None
        if cell is None or not cell.up:
            return None
        _bind(cell=cell.name)
        return cell.gatepost.api.begin_hot(route, scope, body)

    async def answer_hot(self, handler: Handler, request_id: str, scope: Scope, receive: Receive) -> HttpAnswer:
        """Return the answer of a hot route from the cell of the request."""
        credential = read_credential(scope, self._cookie)
        try:
            cell = await self._cell_of(credential) if credential is not None else None
        except GatepostError as error:
            answer = error_answer(error, request_id, scope["path"])
            self._main.gatepost.count_answer(answer.status)
            return answer
        own = cell or self._main
        _bind(cell=own.name)  # in every request: the next one of a connection may begin in the context of this one
        answer = await own.gatepost.api.answer_hot(handler, request_id, scope, receive)
        if credential is not None and _refuses(credential.kind, answer.status, answer.headers):
            try:
                if await self._directory.find_moved(credential, own) is not None:
                    raise account_moving()
            except GatepostError as error:
                return error_answer(error, request_id, scope["path"])
        return answer

    async def _cell_of(self, credential: Credential) -> Cell | None:
        cell = self._directory.peek(credential) or await self._directory.find(credential)
        if cell is not None and not cell.up:
            raise database_unavailable()
        return cell

    async def _sign_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sign in where the e-mail address is. If it is in several cells, each is tried until one accepts."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        body = await read_all(headers, receive, self._body_limit)
        credential = read_email(body)
        cells = await self._directory.find_all(credential) if credential is not None else []
        *others, last = cells or [self._main]
        for cell in others:
            answer = _Answer()
            await self._try(cell, scope, body, receive, answer)
            if not answer.is_unknown:
                await answer.pass_on(send)
                return
        await self._try(last, scope, body, receive, send)

    async def _try(self, cell: Cell, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        headers = [header for header in scope["headers"] if header[0] != b"accept-encoding"]  # the answer is read
        _bind(cell=cell.name)
        own: Any = {**scope, "headers": headers, "state": dict(scope.get("state", {}))}
        await cell.gatepost.api(own, _replay(body, receive), send)


def _refuses(kind: Kind, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether an answer may mean that the cell does not have the credential."""
    return status in _REFUSALS[kind] or (status == 429 and any(value.startswith(_WRONG) for _, value in headers))


class _Refused:
    """Passes an answer on, and keeps it back if it may mean that the cell does not have the credential."""

    def __init__(self, send: Send, kind: Kind) -> None:
        self.send = send
        self._kind = kind
        self.messages: list[Any] = []

    async def __call__(self, message: Message) -> None:
        started = message["type"] == "http.response.start"
        if self.messages or (started and _refuses(self._kind, message["status"], message["headers"])):
            self.messages.append(message)
        else:
            await self.send(message)


class _Answer:
    """A complete answer, which is small, in place of the client."""

    def __init__(self) -> None:
        self._messages: list[Any] = []

    async def __call__(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def is_unknown(self) -> bool:
        """Whether the password is not that of the user. A missing code, say, is another error: this is the user."""
        start, *rest = self._messages
        return start["status"] == 401 and b'"invalid_credentials"' in b"".join(part.get("body", b"") for part in rest)

    async def pass_on(self, send: Send) -> None:
        for message in self._messages:
            await send(message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read, and then what follows it."""
    left: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Any:
        return left.pop() if left else await receive()

    return replayed
