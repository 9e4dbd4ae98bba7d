"""Which cell has a credential. The cells themselves are the directory: each is asked, and answers are remembered.

known, and not too old ─► its cell
otherwise ──────────────► all cells that are up are asked ─┬ one has it: that one, without waiting for the others
                                                           ├ none has it, all answered: None
                                                           └ none has it, a cell is down or did not answer: 503
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gatepost.cells.cell import Cell
from gatepost.cells.credential import Credential, Kind
from gatepost.grouped_lookup import GroupedLookup
from gatepost.model.errors import GatepostError, database_unavailable
from gatepost.store import cells as store
from gatepost.store.pool import DRIVER_ERRORS, Database

LOOKUP_SECONDS = 3.0  # within which a cell must answer
_KNOWN_SECONDS = 60.0
_KNOWN_MAX = 50_000
_FINDERS: dict[Kind, Callable[[Database, Sequence[Any]], Awaitable[Mapping[Any, bool]]]] = {
    "key": store.known_keys,
    "session": store.known_sessions,
    "link": store.known_links,
    "channel": store.known_channels,
    "email": store.known_emails,
}


class CellDirectory:
    """Finds the cells of credentials."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self._known: dict[Credential, tuple[float, Cell]] = {}
        self._lookups: dict[tuple[str, Kind], GroupedLookup[Any, bool]] = {
            (cell.name, kind): GroupedLookup(partial(find, cell.db.reserved("accept")))
            for cell in cells
            for kind, find in _FINDERS.items()
        }

    def peek(self, credential: Credential) -> Cell | None:
        """Return the cell of a credential if it is known."""
        found = self._known.get(credential)
        return found[1] if found is not None and found[0] > time.monotonic() else None

    async def find(self, credential: Credential) -> Cell | None:
        """Return the cell that has a credential; None if no cell has it. Raise if that cannot be known now."""
        known = self.peek(credential)
        if known is not None:
            return known
        found = await self._ask(credential, first=True)
        if not found:
            return None
        self._known.pop(credential, None)  # the oldest come first
        while len(self._known) >= _KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[credential] = time.monotonic() + _KNOWN_SECONDS, found[0]
        return found[0]

    async def find_moved(self, credential: Credential, cell: Cell) -> Cell | None:
        """Return the other cell in which a credential is that this cell does not accept: its account was moved."""
        if await self._has(cell, credential):
            return None
        if self.peek(credential) is cell:
            self._known.pop(credential)
        found = await self.find(credential)
        return None if found is cell else found

    async def find_all(self, credential: Credential) -> list[Cell]:
        """Return all cells that have a credential, in their order: an e-mail address may be in several."""
        return await self._ask(credential, first=False)

    async def _ask(self, credential: Credential, *, first: bool) -> list[Cell]:
        tasks = {asyncio.create_task(self._has(cell, credential)): cell for cell in self._cells if cell.up}
        found: list[Cell] = []
        pending, silent = set(tasks), len(tasks) < len(self._cells)
        give_up = time.monotonic() + LOOKUP_SECONDS
        while pending and not (found and first):
            wait = max(0.0, give_up - time.monotonic())
            done, pending = await asyncio.wait(pending, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                silent = True
                break
            for task in done:
                answer = task.result()
                silent = silent or answer is None
                if answer:
                    found.append(tasks[task])
        if silent and not found:
            raise database_unavailable()
        return sorted(found, key=self._cells.index)

    async def _has(self, cell: Cell, credential: Credential) -> bool | None:
        """Return whether a cell has a credential; None if it does not answer, or the account is moving."""
        try:
            found = await self._lookups[cell.name, credential.kind].find(credential.value)
            return None if found is False else bool(found)
        except (GatepostError, OSError, *DRIVER_ERRORS):
            return None
