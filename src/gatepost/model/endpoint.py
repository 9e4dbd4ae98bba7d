"""How a webhook endpoint wants its deliveries, and how it stands."""

from datetime import datetime

import msgspec

from gatepost.model.errors import FieldProblem
from gatepost.model.problem_collector import invalid_fields

ACTIVE, PAUSED, DISABLED = "active", "paused", "disabled"
BATCH_MAX = 100
BATCH_WAIT_MAX = 1.0
RATE_MAX = 1000
VERSIONS = (1,)  # of the payload


class DeliveryOptions(msgspec.Struct, frozen=True):
    """Its wishes. Without any: each event on its own, at once, as many side by side as it takes."""

    ordered: bool = False  # within a conversation, one event after the other
    batch: int = 1  # most events in one POST
    batch_wait: float = 0.0  # seconds that a batch gathers
    rate: int | None = None  # most POSTs in any second
    version: int = VERSIONS[-1]  # of the payload


DEFAULT_OPTIONS = DeliveryOptions()


class HealthCounters(msgspec.Struct, frozen=True):
    """How its deliveries went of late, as the channel's owner notes it."""

    failing_since: datetime | None = None  # the first failure since the last success
    failures: int = 0  # since the last success
    notices: int = 0
    succeeded_at: datetime | None = None
    probes: int = 0  # while paused: failed ones so far
    probe_at: datetime | None = None  # while paused: when the next one is due


def check_options(options: DeliveryOptions) -> DeliveryOptions:
    """The same wishes, or what is wrong with them."""
    wrong = [FieldProblem(field, why) for field, fits, why in _rules(options) if not fits]
    if wrong:
        raise invalid_fields(wrong)
    return options


def _rules(options: DeliveryOptions) -> list[tuple[str, bool, str]]:
    versions, rate = ", ".join(map(str, VERSIONS)), options.rate
    return [
        ("batch.most", 1 <= options.batch <= BATCH_MAX, f"must be between 1 and {BATCH_MAX} events"),
        ("batch.wait", 0 <= options.batch_wait <= BATCH_WAIT_MAX, f"must be between 0 and {BATCH_WAIT_MAX:g} seconds"),
        (
            "rate_limit",
            rate is None or 1 <= rate <= RATE_MAX,
            f"must be between 1 and {RATE_MAX} deliveries a second, or null for no limit",
        ),
        ("version", options.version in VERSIONS, f"must be a version of the payload; there are: {versions}"),
    ]
