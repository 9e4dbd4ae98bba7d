"""The delivery options, states and health of a webhook endpoint."""

from datetime import datetime

import msgspec

from gatepost.model.errors import FieldProblem
from gatepost.model.problem_collector import invalid_fields

ACTIVE, PAUSED, DISABLED = "active", "paused", "disabled"
SWITCHED_OFF = "Switched off by its owner."  # the reason if a person disabled it
BATCH_MAX = 100
BATCH_WAIT_MAX = 1.0
RATE_MAX = 1000
VERSIONS = (1,)  # payload versions


class DeliveryOptions(msgspec.Struct, frozen=True):
    """The delivery options of an endpoint. By default each event is sent in its own POST, immediately, in parallel."""

    ordered: bool = False  # within a conversation, one event after another
    batch: int = 1  # maximum number of events in one POST
    batch_wait: float = 0.0  # seconds that a batch waits to fill
    rate: int | None = None  # maximum number of POSTs in any second
    version: int = VERSIONS[-1]  # payload version


DEFAULT_OPTIONS = DeliveryOptions()


class HealthCounters(msgspec.Struct, frozen=True):
    """The recent health of an endpoint, as the channel's owner records it."""

    failing_since: datetime | None = None  # the first failure since the last success
    failures: int = 0  # since the last success
    notices: int = 0
    succeeded_at: datetime | None = None
    probes: int = 0  # while paused: failed probes so far
    probe_at: datetime | None = None  # while paused: when the next probe is due


def check_options(options: DeliveryOptions) -> DeliveryOptions:
    """Return the options, or raise an error that names every invalid field."""
    problems = [FieldProblem(field, message) for field, valid, message in _rules(options) if not valid]
    if problems:
        raise invalid_fields(problems)
    return options


def _rules(options: DeliveryOptions) -> list[tuple[str, bool, str]]:
    versions, rate = ", ".join(map(str, VERSIONS)), options.rate
    return [
        ("batch.most", 1 <= options.batch <= BATCH_MAX, f"must be between 1 and {BATCH_MAX} events"),
        ("batch.wait", 0 <= options.batch_wait <= BATCH_WAIT_MAX, f"must be between 0 and {BATCH_WAIT_MAX:g} seconds"),
        (
            "rate_limit",
            rate is None or 1 <= rate <= RATE_MAX,
            f"must be between 1 and {RATE_MAX} deliveries per second, or null for no limit",
        ),
        ("version", options.version in VERSIONS, f"must be a payload version, one of: {versions}"),
    ]
