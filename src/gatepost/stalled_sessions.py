"""Ends sessions that wait for the rest of a statement: their process was stopped, and they hold locks."""

import asyncio

import structlog

from gatepost.store.leases import end_stalled_sessions
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.owner")
STALLED = 5.0  # seconds that a session may wait for the rest of a statement; the same limit as for a transaction


async def look_for_stalls(db: Database) -> None:
    """Wait, then end stalled sessions. A loop of its own: the others may wait for locks that such a session holds."""
    await asyncio.sleep(STALLED / 2)
    if ended := await end_stalled_sessions(db, STALLED):
        log.warning("stalled sessions ended", sessions=ended)
