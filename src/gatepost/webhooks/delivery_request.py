"""One POST: pack, sign, send through the guard, and what follows for each event in it."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.delivery import masked
from gatepost.store.deliveries.queue import DeliveryState, DueDelivery, EndpointTarget
from gatepost.store.deliveries.record import AttemptRecord
from gatepost.webhooks.event_batch import build_body
from gatepost.webhooks.http_post import Poster, PostResult
from gatepost.webhooks.retry import AttemptOutcome, RetryDecision, decide_retry
from gatepost.webhooks.signature import Key, delivery_headers

KEPT_OF_SUCCESS = 1024  # bytes of an answer that are kept in the log when it was a success
_STATES = {
    "delivered": DeliveryState.DELIVERED,
    "retry": DeliveryState.PENDING,
    "exhausted": DeliveryState.EXHAUSTED,
    "gone": DeliveryState.DROPPED,
}
_encode = msgspec.json.Encoder().encode


class SigningKey(msgspec.Struct, frozen=True):
    """A key that signs, and until when: after a rotation the old one goes on beside the new one for a while."""

    key: Key
    until: datetime | None


class DeliveryCredentials(msgspec.Struct, frozen=True):
    """What a delivery carries besides its body: the keys that sign it, and the headers that the customer chose."""

    secrets: Sequence[SigningKey]
    headers: Mapping[str, str]


def live_keys(secrets: Sequence[SigningKey], at: datetime) -> list[Key]:
    """The keys that sign at this moment."""
    return [secret.key for secret in secrets if secret.until is None or at < secret.until]


class DeliveryUnit(msgspec.Struct, frozen=True):
    """The events of one POST, in their order; one event, unless the endpoint takes batches."""

    items: tuple[DueDelivery, ...]
    probe: bool = False

    @property
    def keys(self) -> list[UUID]:
        """Its conversations."""
        return list(dict.fromkeys(item.key for item in self.items))


class InFlightDelivery(msgspec.Struct):
    """A unit on its way: first its POST, then the record of it."""

    unit: DeliveryUnit
    posting: bool = True
    over: bool = False  # all is done, and its conversations went on: nobody is to wait for it any more


class DeliveryResult(msgspec.Struct, frozen=True):
    """How a POST ended, and what follows for each of its events."""

    target: EndpointTarget
    unit: DeliveryUnit
    at: datetime
    headers: dict[str, str]  # as the log shows them
    answer: PostResult
    decisions: tuple[RetryDecision, ...]

    @property
    def ok(self) -> bool:
        return self.decisions[0].fate == "delivered"

    @property
    def gone(self) -> bool:
        return self.decisions[0].fate == "gone"

    @property
    def held_up(self) -> list[UUID]:
        """The conversations of which an event has to come again."""
        pairs = zip(self.unit.items, self.decisions, strict=True)
        return list(dict.fromkeys(item.key for item, decision in pairs if decision.fate == "retry"))

    @property
    def exhausted(self) -> list[UUID]:
        """Events that were given up, but for those that tell of endpoints themselves."""
        pairs = zip(self.unit.items, self.decisions, strict=True)
        return [item.event_id for item, decision in pairs if decision.fate == "exhausted" and not item.operational]


async def send(
    poster: Poster,
    clock: Clock,
    channel_id: UUID,
    target: EndpointTarget,
    credentials: DeliveryCredentials,
    unit: DeliveryUnit,
) -> DeliveryResult:
    """Post a unit, and say what follows. All of its events draw the same dice, so that they stay together."""
    at, body = clock.now(), build_body(target.options, unit.items)
    keys = live_keys(credentials.secrets, at)
    headers = delivery_headers(credentials.headers, keys, body.id, int(at.timestamp()), body.body)
    answer = await poster.post(target.url, headers, body.body, channel_id)
    outcome, now, dice = (
        AttemptOutcome(answer.status, answer.error_kind, _retry_after(answer)),
        clock.now(),
        random.random(),
    )
    decisions = tuple(decide_retry(item.tries + 1, outcome, now, dice) for item in unit.items)
    return DeliveryResult(target, unit, at, masked(headers), answer, decisions)


def attempt_records(sent: DeliveryResult) -> list[AttemptRecord]:
    """What the log says of each event. In an ordered batch only the first of a conversation gets a time again."""
    if len(sent.unit.items) == 1:
        return [_attempt(sent, sent.unit.items[0], sent.decisions[0], behind=False)]
    ordered, waiting = sent.target.options.ordered, set[UUID]()
    attempts = []
    for item, decision in zip(sent.unit.items, sent.decisions, strict=True):
        behind = ordered and item.key in waiting
        attempts.append(_attempt(sent, item, decision, behind=behind))
        if decision.fate == "retry":
            waiting.add(item.key)
    return attempts


def _attempt(sent: DeliveryResult, item: DueDelivery, decision: RetryDecision, *, behind: bool) -> AttemptRecord:
    target, answer, unit = sent.target, sent.answer, sent.unit
    first, several = item is unit.items[0], target.options.batch > 1
    headers = _encode(answer.headers).decode() if answer.headers and first else None
    return AttemptRecord(
        endpoint_id=target.id,
        event_id=item.event_id,
        number=item.attempts + 1,
        at=sent.at,
        latency_ms=answer.latency_ms,
        status=answer.status,
        error=answer.error,
        url=target.url,
        request_headers=_encode(sent.headers).decode(),
        answer_headers=headers,
        answer_body=_kept_body(answer.body, decision) if first else None,
        state=_STATES[decision.fate],
        next_at=None if behind else decision.at,
        retried=item.retried,
        line=item.key if target.options.ordered else None,
        batch_first=unit.items[0].event_id if several else None,
        batch=[one.event_id for one in unit.items] if several and first else None,
    )


def _kept_body(body: bytes, decision: RetryDecision) -> bytes | None:
    """What the log keeps of an answer: all that was read where it failed, the beginning where it did not."""
    return (body[:KEPT_OF_SUCCESS] if decision.fate == "delivered" else body) or None


def first_attempt_lags(sent: DeliveryResult) -> list[float]:
    """How long after it happened each event had its first attempt, for those that had it now."""
    at = sent.at.timestamp() * 1000
    return [(at - ids.milliseconds_of(item.event_id)) / 1000 for item in sent.unit.items if not item.attempts]


def _retry_after(answer: PostResult) -> str | None:
    for name, value in answer.headers:
        if name.lower() == "retry-after":
            return value
    return None
