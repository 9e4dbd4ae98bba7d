"""The control API, /control/…: register numbers, act as people, inject faults, move time, read what happened."""

from litestar.types import ControllerRouterHandler

from gatepost_sandbox.control import (
    chat_actions,
    chats,
    clock,
    faults,
    feed,
    files,
    incoming,
    ledger,
    media,
    number_status,
    numbers,
    people,
    person_state,
    phones,
    templates,
)
from gatepost_sandbox.control.problems import EXCEPTION_HANDLERS

__all__ = ["EXCEPTION_HANDLERS", "ROUTES"]

ROUTES: tuple[ControllerRouterHandler, ...] = (
    *numbers.ROUTES,
    *people.ROUTES,
    *incoming.ROUTES,
    *number_status.ROUTES,
    *faults.ROUTES,
    *clock.ROUTES,
    *ledger.ROUTES,
    *phones.ROUTES,
    *templates.ROUTES,
    *media.ROUTES,
    *chats.ROUTES,
    *chat_actions.ROUTES,
    *person_state.ROUTES,
    *files.ROUTES,
    *feed.ROUTES,
)
