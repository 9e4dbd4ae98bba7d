"""Looks up a device in the library's own table.

The library itself returns no devices if its store cannot be read, so that all phones would be taken for unlinked. And a
device that is not in the store ends the process.
"""

import asyncpg

from gatepost.networks.qr.phone.engine import EngineError

_WITHIN = 20.0
_GET = "SELECT true FROM whatsmeow_device WHERE jid = $1"


async def is_stored(store: str, device: str) -> bool:
    """Return whether the store holds a device; raise EngineError if it cannot be read."""
    try:
        conn = await asyncpg.connect(store, timeout=_WITHIN, command_timeout=_WITHIN)
        try:
            return bool(await conn.fetchval(_GET, device))
        finally:
            await conn.close(timeout=_WITHIN)
    except asyncpg.UndefinedTableError:  # the library has not created it yet
        return False
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or type(error).__name__
        raise EngineError(f"The store of linked devices cannot be read: {reason}") from error
