"""The figures of webhook delivery: `DeliveryMetrics` receives them; `NO_METRICS` drops them."""

from typing import Protocol

from gatepost.webhooks.retry import Fate


class DeliveryMetrics(Protocol):
    """Takes figures as they come up; must be quick and never raise."""

    def attempt(self, outcome: Fate, seconds: float) -> None:
        """One POST ended: delivered, to be tried again (`retry`), given up (`exhausted`) or `gone`."""

    def lag(self, seconds: float) -> None:
        """One event had its first attempt, so long after it happened."""

    def breaker(self, before: str | None, after: str | None) -> None:
        """An endpoint that this process delivers to changed its state; None: it came to us, or went away."""


class NoDeliveryMetrics:
    """Nobody counts."""

    def attempt(self, outcome: Fate, seconds: float) -> None:
        """Lets it pass."""

    def lag(self, seconds: float) -> None:
        """Lets it pass."""

    def breaker(self, before: str | None, after: str | None) -> None:
        """Lets it pass."""


NO_METRICS = NoDeliveryMetrics()
