"""Many sends in one request and one commit, each with its own result."""

import asyncio
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.api.asgi import Request
from gatepost.api.context import Context, CurrentCaller
from gatepost.api.contract.messages import BatchResult
from gatepost.api.errors import error_answer
from gatepost.api.idempotency import REPLAYED
from gatepost.api.json_body import check_json, decode
from gatepost.api.openapi.error_codes import IDEMPOTENT
from gatepost.api.responses import Reply
from gatepost.api.route import post
from gatepost.compute import compute
from gatepost.model import ids
from gatepost.model.content.fields import described
from gatepost.model.errors import GatepostError, invalid_field
from gatepost.model.json_parts import parts_within
from gatepost.model.send_request import SendRequest, example_send
from gatepost.outbound.accept import BATCH_MAX, new_batch_id
from gatepost.store.idempotency import idempotency_key
from gatepost.store.messages.accept import AcceptResult, Outcome

ROUTE = "POST /api/v1/messages/batch"
_MANY = 50_000  # commas of a body, from which on its messages are counted before it is decoded
_PARTS = 2 * BATCH_MAX + 2  # each message with its comma, and what is around them
_TURN = 50  # messages that are read between turns of other requests
_send = msgspec.json.Decoder(SendRequest)


_Messages = Annotated[list[SendRequest], Meta(min_length=1, max_length=BATCH_MAX)]


class BatchRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The messages to send, each as in `POST /message/send`."""

    messages: Annotated[list[msgspec.Raw], described(_Messages)]


_batch = msgspec.json.Decoder(BatchRequest)


@post(
    "/api/v1/messages/batch",
    scope="send",
    summary="Send many messages",
    message="1 of 1 messages accepted",
    errors=(*IDEMPOTENT, "plan_quota_exceeded"),
    body=BatchRequest,
    headers=("Idempotency-Key",),
    example={"messages": [example_send("text"), example_send("text") | {"body": "And another"}]},
    keeps={"batch_id": "data.batch_id"},
)
async def send_batch(request: Request, gateway: Context, caller: CurrentCaller) -> Reply[BatchResult]:
    """Accepts up to 1,000 messages in one commit. One that is rejected does not affect the others."""
    check_json(request.headers.get("content-type"))
    body = await request.body()
    if body.count(b",") > _MANY and not await compute(parts_within, body, _PARTS, deep=2):
        raise invalid_field("messages", f"must hold 1 to {BATCH_MAX:,} messages, but holds more")
    batch = decode(body, _batch)
    if not 1 <= len(batch.messages) <= BATCH_MAX:
        raise invalid_field("messages", f"must hold 1 to {BATCH_MAX:,} messages, but holds {len(batch.messages):,}")
    key = idempotency_key(request.headers.get("idempotency-key"), body, ROUTE)
    batch_id = new_batch_id(caller.channel_id, key, gateway.clock.now())
    outcomes = await gateway.acceptor.accept_many(caller, await _read_all(batch.messages), key, batch_id)
    return _reply(batch_id, outcomes, request.scope["state"].get("request_id", ""))


async def _read_all(messages: list[msgspec.Raw]) -> list[SendRequest | GatepostError]:
    """Every message, or what is wrong with it; finding that out takes longer, so others get a turn now and then."""
    read = []
    for place, raw in enumerate(messages, 1):
        read.append(_read(raw))
        if place % _TURN == 0:
            await asyncio.sleep(0)
    return read


def _read(raw: msgspec.Raw) -> SendRequest | GatepostError:
    try:
        return decode(bytes(raw), _send)
    except GatepostError as error:
        return error


def _reply(batch_id: UUID, outcomes: list[Outcome], request_id: str) -> Reply[BatchResult]:
    accepted = [outcome for outcome in outcomes if isinstance(outcome, AcceptResult)]
    results: list[Any] = [msgspec.Raw(_result(outcome, request_id)) for outcome in outcomes]
    shown_id = ids.format_id("bat", batch_id) if accepted else None
    result = BatchResult(shown_id, len(accepted), len(outcomes) - len(accepted), results)
    replayed = accepted and all(one.replayed for one in accepted)
    message = f"{len(accepted):,} of {len(outcomes):,} messages accepted"
    return Reply(result, message, headers=REPLAYED if replayed else {})


def _result(outcome: Outcome, request_id: str) -> bytes:
    """Return the answer that the same send alone would have got."""
    return outcome.answer if isinstance(outcome, AcceptResult) else error_answer(outcome, request_id, ROUTE).body
