"""Idempotent creation: a request is executed once per Idempotency-Key, and repetitions get the same response."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from gatepost.admin.vault import Vault
from gatepost.api.asgi import Request
from gatepost.api.context import ApiContext
from gatepost.api.responses import SECRET, Created, Encoded, envelope
from gatepost.model.account import Caller
from gatepost.model.session import SignedInUser
from gatepost.store.idempotency import PLAIN, AnswerSeal, IdempotencyKey, IdempotentRequest, Replay, idempotency_key

T = TypeVar("T")
A = TypeVar("A")
REPLAYED = {"Idempotent-Replayed": "true"}


class CreateOnce:
    """A request that creates a resource, executed once per Idempotency-Key. Handlers get it as `once`."""

    def __init__(self, request: Request, body: bytes, message: str) -> None:
        self._request = request
        self._body = body
        self._message = message
        self._headers: dict[str, str] = {}

    async def create(
        self,
        make: Callable[[IdempotentRequest[T]], Awaitable[T]],
        show: Callable[[T], A],
        *,
        secret: bool = False,
    ) -> Created[A]:
        """Create the resource, or return the earlier response. A `secret` response is stored encrypted."""
        state = self._request.scope["state"]
        gateway: ApiContext = state["gateway"]
        key, owner = read_key(self._request, self._body), _owner(state)
        seal = _seal(gateway.vault, owner, key) if secret and key else PLAIN
        once = IdempotentRequest[T](owner, key, self.encoder(show), seal)
        self._headers = SECRET if secret else {}
        await once.look(gateway.db, gateway.clock.now())
        return Created(show(await make(once)), headers=self._headers)

    def encoder(self, show: Callable[[T], Any]) -> Callable[[T], bytes]:
        """Return the function that encodes the response for the created resource."""
        return lambda made: envelope(show(made), self._message)

    def again(self, before: Replay) -> Encoded[Any]:
        """Return the response of the first request."""
        return Encoded(before.answer, self._headers | REPLAYED)


def read_key(request: Request, body: bytes) -> IdempotencyKey | None:
    """Return the request's idempotency key. It applies to one method and path; others may use the same key."""
    route = f"{request.method} {request.scope['path']}"
    return idempotency_key(request.headers.get("idempotency-key"), body, route)


def _owner(state: dict[str, Any]) -> UUID:
    """Return whose keys they are: those of the channel, or of the account on routes that act on no channel."""
    if state["access"].scope is None:
        user: SignedInUser = state["user"]
        return user.account_id
    caller: Caller = state["caller"]
    return caller.channel_id


def _seal(vault: Vault, owner: UUID, key: IdempotencyKey) -> AnswerSeal:
    context = f"answer:{owner.hex}:{key.route}:{key.key}".encode()
    return AnswerSeal(lambda answer: vault.seal(answer, context), lambda kept: vault.open(kept, context))


class BodyHash:
    """Iterates over the chunks of a body, and computes their hash."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._hash = hashlib.sha256()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            self._hash.update(chunk)
            yield chunk

    def known_by(self, key: IdempotencyKey | None) -> IdempotencyKey | None:
        """Return the key with the hash of these chunks."""
        return key and msgspec.structs.replace(key, body_hash=self._hash.digest())
