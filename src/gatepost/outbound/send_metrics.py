"""The metrics of sending."""

from typing import Protocol


class SendMetrics(Protocol):
    """Receives the measurements; must be quick and never raise."""

    def sent(self, result: str) -> None:
        """One attempt ended: `sent`, `failed`, `retry` or `expired`."""

    def send_lag(self, seconds: float) -> None:
        """The network accepted a message this long after it was due."""

    def network_call(self, seconds: float) -> None:
        """The network answered a send after this time."""

    def committed(self, stage: str, items: int, seconds: float) -> None:
        """A commit of so many items took this long."""


class NoSendMetrics:
    """Drops every measurement."""

    def sent(self, result: str) -> None: ...

    def send_lag(self, seconds: float) -> None: ...

    def network_call(self, seconds: float) -> None: ...

    def committed(self, stage: str, items: int, seconds: float) -> None: ...


NO_METRICS = NoSendMetrics()
