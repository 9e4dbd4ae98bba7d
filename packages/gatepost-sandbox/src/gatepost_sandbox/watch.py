"""Changes of the network are reported here while a feed is open."""

from typing import Any, Literal, Protocol

What = Literal["people", "numbers", "phones", "sessions", "faults", "templates", "clock", "settings", "all"]


class Observer(Protocol):
    """Receives changes."""

    def message_changed(self, message: Any) -> None:
        """Report a new or changed message."""

    def chat_changed(self, chat: Any) -> None:
        """Report a chat whose state changed."""

    def presence_changed(self, number: str) -> None:
        """Report a number that went online or offline."""

    def changed(self, what: What) -> None:
        """Report that something other than a chat changed."""

    def ledger_row(self, kind: str, seq: int, values: tuple[Any, ...]) -> None:
        """Report a new row of the ledger."""


class Watch:
    """The observer of one network; None while no feed is open, so that nothing is computed."""

    observer: Observer | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return nothing: feeds end with the process."""
        return {}

    def presence_changed(self, number: str) -> None:
        """Report a number that went online or offline, if a feed is open."""
        if self.observer is not None:
            self.observer.presence_changed(number)

    def changed(self, what: What) -> None:
        """Report a change, if a feed is open."""
        if self.observer is not None:
            self.observer.changed(what)
