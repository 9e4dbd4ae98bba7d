"""Cells as the command line shows them."""

from gatepost.api.contract.fields import ApiObject, Text


class Cell(ApiObject, frozen=True):
    """A database of the gateway, and what it has. Without an answer, only its address is known."""

    name: str
    address: str
    up: bool
    reason: Text
    accounts: int | None = None
    channels: int | None = None
    oldest_work_seconds: float | None = None
    migration: int | None = None


class AccountMoved(ApiObject, frozen=True):
    """An account that was moved to another cell, or stays in its cell after a move was undone.

    `paused_seconds`: how long requests got 503; `sending_paused_seconds`: how long nothing was sent.
    """

    account: str
    cell: str
    rows: int = 0
    changes: int = 0
    files: int = 0
    paused_seconds: float = 0.0
    sending_paused_seconds: float = 0.0


class AddedCell(ApiObject, frozen=True):
    """A cell, and whether it was added now."""

    name: str
    address: str
    added: bool
