"""A business number at work: its random streams, its pace, its open windows and its outbox."""

from typing import Any

from gatepost.sandbox.clock import Clock
from gatepost.sandbox.ids import stream
from gatepost.sandbox.ledger import Ledger
from gatepost.sandbox.limits import Pace
from gatepost.sandbox.outbox import Outbox, Post
from gatepost.sandbox.settings import NumberSpec, SandboxSettings, merge

WINDOW_SECONDS = 24 * 3600


class Number:
    """A registered number at work."""

    def __init__(self, spec: NumberSpec, settings: SandboxSettings, clock: Clock, ledger: Ledger, post: Post) -> None:
        self.id = spec.phone_number_id
        self.pace = Pace()
        self.ids = stream(settings.seed, self.id, "ids")
        self.jitter = stream(settings.seed, self.id, "jitter")
        self._heard: dict[str, float] = {}
        self.outbox = Outbox(clock, ledger, post)
        self.tune(spec, settings)

    def tune(self, spec: NumberSpec, settings: SandboxSettings) -> None:
        """Take on a changed registration or changed global settings."""
        delays = merge(settings.delays, spec.delays)
        limits = merge(settings.limits, spec.limits)
        callbacks = merge(settings.callbacks, spec.callbacks)
        self.spec, self.delays, self.limits, self.callbacks = spec, delays, limits, callbacks
        self.outbox.aim(spec, callbacks)

    def hear(self, person: str, now: float) -> None:
        """A person wrote: the customer-service window opens anew."""
        self._heard[person] = now

    def window_open(self, person: str, now: float) -> bool:
        """Whether free-form text may reach this person."""
        heard = self._heard.get(person)
        return heard is not None and now - heard < WINDOW_SECONDS

    def node(self) -> dict[str, Any]:
        """The number as the network's own API shows it."""
        return {
            "verified_name": self.spec.name,
            "code_verification_status": "VERIFIED",
            "display_phone_number": f"+{self.spec.phone}",
            "quality_rating": self.spec.quality_rating,
            "platform_type": "CLOUD_API",
            "throughput": {"level": "HIGH" if (self.limits.throughput or 1000) >= 1000 else "STANDARD"},
            "status": self.spec.status,
            "id": self.id,
        }
