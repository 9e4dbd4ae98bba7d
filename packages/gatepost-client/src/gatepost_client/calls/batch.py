"""Many sends in one request, each with its own result."""

from collections.abc import Iterable

import msgspec

from gatepost_client.calls.builders import encode, new_key
from gatepost_client.calls.messages import uploaded
from gatepost_client.compose import Outgoing
from gatepost_client.errors import GatepostApiError, error_of, read_data
from gatepost_client.types import Sent
from gatepost_client.wire import Answer, Call, Plan, Request, identity, path_of

# The HTTP status that the same send alone would have been refused with, where it is not 422.
STATUS = {"not_found": 404, "media_too_large": 413, "unsupported_media_type": 415, "plan_quota_exceeded": 429}


class Batch(msgspec.Struct, frozen=True):
    """The results of a batch, in order: what `send` would have returned or raised for each message."""

    results: list[Sent | GatepostApiError]
    id: str | None = None  # by which its messages can be canceled; None: none was accepted

    @property
    def accepted(self) -> list[Sent]:
        """The sends that were accepted."""
        return [result for result in self.results if isinstance(result, Sent)]

    @property
    def refused(self) -> list[GatepostApiError]:
        """The errors of the sends that were refused."""
        return [result for result in self.results if isinstance(result, GatepostApiError)]


class _One(msgspec.Struct, frozen=True):
    success: bool
    data: Sent | None = None
    error: msgspec.Raw = msgspec.Raw(b"null")
    message: str = ""


class _Results(msgspec.Struct, frozen=True):
    results: list[_One]
    batch_id: str | None = None


class _Body(msgspec.Struct, frozen=True):
    data: _Results


class _Code(msgspec.Struct, frozen=True):
    code: str


def batch(messages: Iterable[Outgoing], *, idempotency_key: str | None = None) -> Plan[Batch]:
    """Send up to 1,000 messages, made with `compose`, in one request. A refused message does not affect the others."""
    outgoing = list(messages)
    if any(message.idempotency_key is not None for message in outgoing):
        raise ValueError("a batch has one idempotency_key for all its messages")
    return _send(outgoing, idempotency_key or new_key())


def _send(messages: list[Outgoing], key: str) -> Plan[Batch]:
    bodies = []
    for i, message in enumerate(messages):
        ready = yield from uploaded(message, identity(key, str(i)))
        bodies.append(ready.fields)
    body = encode({"messages": bodies})
    made: Batch = yield Call(Request("POST", path_of("messages", "batch"), body=body, key=key, repeatable=True), _read)
    return made


def _read(answer: Answer) -> Batch:
    body: _Body = read_data(answer, _Body)
    results = [one.data if one.data is not None else _refusal(one) for one in body.data.results]
    return Batch(results, body.data.batch_id)


def _refusal(one: _One) -> GatepostApiError:
    text = msgspec.json.encode({"message": one.message, "error": one.error})
    code: _Code = read_data(Answer(200, {}, bytes(one.error)), _Code)
    return error_of(Answer(STATUS.get(code.code, 422), {}, text))
