"""One POST: build the body, sign it, send it through the guard, and decide what follows for each event in it."""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from structlog.typing import FilteringBoundLogger

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.delivery import DeliveryState, masked
from gatepost.model.signing import Key
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.store.deliveries.record import AttemptRecord
from gatepost.store.endpoints import Endpoint
from gatepost.webhooks.event_batch import build_body
from gatepost.webhooks.guard import ForbiddenUrl
from gatepost.webhooks.http_post import Poster, PostResult, header_lines
from gatepost.webhooks.retry import DELIVERED, AttemptOutcome, RetryDecision, decide_retry, is_delivered
from gatepost.webhooks.signature import SIGNATURE_NAMES, Signer, fixed_headers, signature_values

KEPT_OF_SUCCESS = 1024  # bytes of a successful response that the log keeps
_STATES = {
    "delivered": DeliveryState.DELIVERED,
    "retry": DeliveryState.PENDING,
    "exhausted": DeliveryState.EXHAUSTED,
    "gone": DeliveryState.DROPPED,
}
_OUTCOMES = {
    "delivered": "delivery made",
    "retry": "delivery is tried again",
    "exhausted": "delivery given up",
    "gone": "delivery given up: the endpoint is gone",
}
_DELIVERED = (DELIVERED,)
_SIGNATURE_LINES = "".join(f"{name}: %s\r\n" for name in SIGNATURE_NAMES)
_SIGNATURE_LOGGED = ",".join(f'"{name}":"%s"' for name in SIGNATURE_NAMES)
_encode = msgspec.json.Encoder().encode


class SigningKey(msgspec.Struct, frozen=True):
    """A key that signs, and until when: after a rotation the old key signs together with the new one for a while."""

    key: Key
    until: datetime | None


class DeliveryCredentials(msgspec.Struct, frozen=True):
    """What a delivery needs besides its body: the keys that sign it, and the customer's own headers."""

    secrets: Sequence[SigningKey]
    headers: Mapping[str, str]


class DeliveryUnit(msgspec.Struct, frozen=True):
    """The events of one POST in their order: a single one, unless the endpoint takes batches."""

    items: tuple[DueDelivery, ...]
    probe: bool = False

    @property
    def keys(self) -> list[UUID]:
        """The conversations of its events."""
        return list(dict.fromkeys(item.key for item in self.items))


class InFlightDelivery(msgspec.Struct, eq=False):
    """A unit in flight: first its POST, then the record of it."""

    unit: DeliveryUnit
    posting: bool = True


class DeliveryResult(msgspec.Struct, frozen=True):
    """The result of a POST, and what follows for each of its events."""

    target: Endpoint
    unit: DeliveryUnit
    at: datetime
    headers: str  # of the request, as the log shows them: JSON
    response: PostResult
    ok: bool
    decisions: tuple[RetryDecision, ...]
    outdated: bool = False  # the URL was changed meanwhile: the result says nothing about the new one

    @property
    def gone(self) -> bool:
        return self.decisions[0].fate == "gone"

    @property
    def retried_keys(self) -> list[UUID]:
        """The conversations of which an event has to be retried."""
        pairs = zip(self.unit.items, self.decisions, strict=True)
        return list(dict.fromkeys(item.key for item, decision in pairs if decision.fate == "retry"))

    @property
    def exhausted(self) -> list[UUID]:
        """Events that were given up, except system notifications."""
        pairs = zip(self.unit.items, self.decisions, strict=True)
        return [item.event_id for item, decision in pairs if decision.fate == "exhausted" and not item.system]


def request_fields(target: Endpoint) -> tuple[object, ...]:
    """Return what the requests to an endpoint depend on."""
    return target.url, target.secret, target.headers, target.options


class EndpointRequests:
    """Makes the POSTs to one endpoint. The headers that are the same in each of them are prepared once."""

    def __init__(
        self, poster: Poster, clock: Clock, channel_id: UUID, target: Endpoint, credentials: DeliveryCredentials
    ) -> None:
        self._poster = poster
        self._clock = clock
        self._channel_id = channel_id
        self._target = target
        self._signers = [(Signer(secret.key), secret.until) for secret in credentials.secrets]
        self._always = [signer for signer, _ in self._signers]
        self._expires = any(until is not None for _, until in self._signers)
        self._fixed = fixed_headers(credentials.headers)
        self._lines = _prepared(self._fixed)
        self._logged = _encode(masked(self._fixed)).decode()[:-1]  # without the closing brace: the signature follows

    async def send(self, unit: DeliveryUnit) -> DeliveryResult:
        """Post a unit, and decide what follows."""
        target, at = self._target, self._clock.now()
        body = build_body(target.options, unit.items)
        signature = signature_values(self._live(at), body.id, int(at.timestamp()), body.body)
        # Both without escapes: an id, a time and base64 contain nothing to escape.
        logged = f"{self._logged},{_SIGNATURE_LOGGED % signature}}}"
        if self._lines is None:  # a header that cannot be sent
            response = await self._poster.post(target.url, self._fixed, body.body, self._channel_id)
        else:
            lines = self._lines + (_SIGNATURE_LINES % signature).encode()
            response = await self._poster.send(target.url, lines, body.body, self._channel_id)
        ok = is_delivered(response.status, response.error_kind)
        if ok:
            response = _without_rest(response)
            decisions = _DELIVERED if len(unit.items) == 1 else (DELIVERED,) * len(unit.items)
        else:
            decisions = self._decide(unit, response)
        return DeliveryResult(target, unit, at, logged, response, ok, decisions)

    def _live(self, at: datetime) -> list[Signer]:
        """Return the keys that sign at this time."""
        if not self._expires:
            return self._always
        return [signer for signer, until in self._signers if until is None or at < until]

    def _decide(self, unit: DeliveryUnit, response: PostResult) -> tuple[RetryDecision, ...]:
        """Decide on a failed unit. Its events share one random number, so that their retries stay together."""
        outcome = AttemptOutcome(response.status, response.error_kind, _retry_after(response))
        now, jitter = self._clock.now(), random.random()
        return tuple(decide_retry(item.tries + 1, outcome, now, jitter) for item in unit.items)


def _prepared(headers: Mapping[str, str]) -> bytes | None:
    """Return the lines of headers; None if one of them cannot be sent."""
    try:
        return header_lines(headers)
    except ForbiddenUrl:
        return None


def attempt_records(sent: DeliveryResult) -> list[AttemptRecord]:
    """Return the record of each event. In an ordered batch only the first event of a conversation gets a retry time."""
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
    target, response, unit = sent.target, sent.response, sent.unit
    first, several = item is unit.items[0], target.options.batch > 1
    headers = _encode(response.headers).decode() if response.headers and first else None
    return AttemptRecord(
        endpoint_id=target.id,
        event_id=item.event_id,
        number=item.attempts + 1,
        at=sent.at,
        latency_ms=response.latency_ms,
        status=response.status,
        error=response.error,
        url=target.url,
        request_headers=sent.headers,
        answer_headers=headers,
        answer_body=(response.body or None) if first else None,
        state=_STATES[decision.fate],
        next_at=None if behind else decision.at,
        retried=item.retried,
        order_key=item.key if target.options.ordered else None,
        batch_first=unit.items[0].event_id if several else None,
        batch=[one.event_id for one in unit.items] if several and first else None,
    )


def _without_rest(response: PostResult) -> PostResult:
    """Return a success without what the log does not keep: many of them may wait for a slow database."""
    if len(response.body) <= KEPT_OF_SUCCESS:
        return response
    return msgspec.structs.replace(response, body=response.body[:KEPT_OF_SUCCESS])


def outdated(sent: DeliveryResult, now: datetime) -> DeliveryResult:
    """Return a POST that failed at a former URL: its events are retried now, at the new one."""
    retries = tuple(RetryDecision("retry", now) for _ in sent.decisions)
    return msgspec.structs.replace(sent, decisions=retries, outdated=True)


def note_lags(sent: DeliveryResult, note: Callable[[float], None]) -> None:
    """Note, for each event whose first attempt this was, the seconds since it happened."""
    at = sent.at.timestamp()
    for item in sent.unit.items:
        if not item.attempts:
            note(at - ids.milliseconds_of(item.event_id) / 1000)


def log_outcome(log: FilteringBoundLogger, sent: DeliveryResult) -> None:
    """Log how a POST ended, without the URL and the words of the receiver: both may contain secrets."""
    fate = sent.decisions[0].fate
    note = log.warning if fate in ("exhausted", "gone") else log.debug
    note(_OUTCOMES[fate], events=len(sent.unit.items), status=sent.response.status)


def _retry_after(response: PostResult) -> str | None:
    for name, value in response.headers:
        if name.lower() == "retry-after":
            return value
    return None
