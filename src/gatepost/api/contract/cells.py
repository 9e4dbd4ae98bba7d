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


class AddedCell(ApiObject, frozen=True):
    """A cell, and whether it was added now."""

    name: str
    address: str
    added: bool
