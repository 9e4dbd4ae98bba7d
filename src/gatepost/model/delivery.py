"""Deliveries: their states, their ids, and which of their headers may be shown."""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from uuid import UUID


class DeliveryState(IntEnum):
    PENDING = 0
    DELIVERED = 1
    EXHAUSTED = 2
    DROPPED = 3
    CANCELED = 4  # shown, and never stored


STATUSES = tuple(state.name.lower() for state in DeliveryState)
PENDING, DELIVERED, EXHAUSTED, DROPPED, CANCELED = DeliveryState
MISSING = -1  # an event without a delivery: the endpoint was disabled, or did not exist yet
NOT_ARRIVED = (PENDING, EXHAUSTED, DROPPED, MISSING)
HIDDEN = "***"
_OURS = frozenset({"content-type", "user-agent"})
CONNECTION_HEADERS = frozenset(  # set by the HTTP client alone
    ("host", "content-length", "transfer-encoding", "te", "trailer", "expect", "connection", "keep-alive")
) | {"proxy-authorization", "proxy-connection", "upgrade"}
_PREFIX = "dl_"
_DIGITS = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CREDENTIAL = re.compile(
    r"authori[sz]ation|authentication|cookie|token|secret|passw|passphrase|credential|session|bearer"
    r"|(^|[-_])(x?api|access|private)[-_]?key|(^|[-_])(auth|jwt|pwd|key|sid)($|[-_])"
)


def state_now(state: int, *, deleted: bool) -> int:
    """Return the public state of a delivery: one that was pending when its endpoint was deleted is canceled.

    `canceled` is not stored, so that no delivery stays pending if it is recorded while the endpoint is being deleted.
    """
    return CANCELED if deleted and state == PENDING else state


def show_delivery_id(endpoint_id: UUID, event_id: UUID) -> str:
    """Return the id of a delivery: that of its endpoint and of its event."""
    return f"{_PREFIX}{endpoint_id.hex}{event_id.hex}"


def read_delivery_id(text: str) -> tuple[UUID, UUID] | None:
    """Return the endpoint and the event of a delivery id; None if it is not one."""
    digits = text.removeprefix(_PREFIX)
    if not text.startswith(_PREFIX) or not _DIGITS.fullmatch(digits):
        return None
    return UUID(hex=digits[:32]), UUID(hex=digits[32:])


def explain_attempt(status: int | None, error: str | None) -> str | None:
    """Return why an attempt failed, in a sentence; None if it succeeded."""
    if error is not None or status is None or 200 <= status < 300:
        return error
    if 300 <= status < 400:
        return f"The endpoint answered {status}, a redirect. Redirects are not followed: set the URL it leads to."
    if status == 410:
        return "The endpoint answered 410 Gone and was disabled."
    return f"The endpoint answered {status}. Only statuses from 200 to 299 count as received."


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request for the log: of the customer's own headers only the names.

    The values of ours are kept: a signature is useless without the key.
    """
    return {name: value if _is_ours(name.lower()) else HIDDEN for name, value in headers.items()}


def is_reserved_header(name: str) -> bool:
    """Return whether a header is set by the gateway or its HTTP client, so that customers cannot set it."""
    return _is_ours(name.lower()) or name.lower() in CONNECTION_HEADERS


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith("webhook-")


def masked_pairs(headers: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Return the headers of a response, which may repeat, with credentials masked."""
    return [(name, _masked(name, value)) for name, value in headers]


def _masked(name: str, value: str) -> str:
    if not _CREDENTIAL.search(name.lower()):
        return value
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {HIDDEN}" if space and scheme.isalpha() else HIDDEN
