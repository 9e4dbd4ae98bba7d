"""Records the calls of assistants that read, and those that failed. Their answers leave after the commit.

Calls that change something are recorded in the commit of the change.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from gatepost.model.account import Caller
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.store.batch import Batch
from gatepost.store.mcp.calls import CallRecord, insert_calls
from gatepost.store.pool import Database

_QUEUE = 10_000


class McpRecorder:
    """Records calls in groups, one commit per channel at a time."""

    def __init__(self, db: Database, queue: int = _QUEUE) -> None:
        self._db = db
        self._batch: Batch[UUID, CallRecord, None] = Batch(self._write, limit=queue)

    async def read(self, caller: Caller, call: McpCall, result: CallResult, revealed: Collection[UUID] = ()) -> None:
        """Record a call and the conversations that its answer reveals. Return after the commit.

        If this raises, the answer must not leave: what it reveals is not known to the policy.
        """
        await self._batch.put(caller.channel_id, CallRecord(call, result, frozenset(revealed)))

    async def drain(self) -> None:
        """Wait until everything is recorded."""
        await self._batch.drain()

    async def _write(self, channel_id: UUID, records: Sequence[CallRecord]) -> list[None]:
        async with self._db.connection() as conn:
            await insert_calls(conn, channel_id, records)
        return [None] * len(records)
