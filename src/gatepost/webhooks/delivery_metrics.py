"""The metrics of webhook delivery."""

from typing import Protocol

from gatepost.webhooks.retry import Fate


class DeliveryMetrics(Protocol):
    """Receives the measurements; must be quick and never raise."""

    def attempt(self, outcome: Fate, seconds: float) -> None:
        """One POST ended: `delivered`, to be retried (`retry`), given up (`exhausted`) or `gone`."""

    def lag(self, seconds: float) -> None:
        """One event had its first attempt this long after it happened."""

    def breaker(self, before: str | None, after: str | None) -> None:
        """The state of an endpoint changed; None: this process started or stopped delivering to it."""

    def committed(self, stage: str, items: int, seconds: float) -> None:
        """A commit of so many items took this long."""


class NoDeliveryMetrics:
    """Drops every measurement."""

    def attempt(self, outcome: Fate, seconds: float) -> None: ...

    def lag(self, seconds: float) -> None: ...

    def breaker(self, before: str | None, after: str | None) -> None: ...

    def committed(self, stage: str, items: int, seconds: float) -> None: ...


NO_METRICS = NoDeliveryMetrics()
