"""Records the calls of assistants, and checks whether their policies allow any."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from gatepost.model.account import Caller
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.mcp_policy import Policy
from gatepost.model.mcp_verdict import check_verdict, judge_call, judge_file
from gatepost.store.mcp.calls import CallRecord, insert_calls
from gatepost.store.mcp.policies import read_policies
from gatepost.store.pool import Database


class CallRecorder:
    """Records calls that only read, and those that failed before they changed anything."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def read(self, caller: Caller, call: McpCall, result: CallResult, revealed: Collection[UUID] = ()) -> None:
        """Record a call and the conversations that its answer reveals, before the answer is sent."""
        async with self._db.transaction() as conn:
            await insert_calls(conn, caller.channel_id, [CallRecord(call, result, frozenset(revealed))])

    async def check_reading(self, caller: Caller, now: datetime, *, files: bool = False) -> Policy:
        """Return the policy of a key, or raise if it does not allow to read."""
        key_id = caller.principal.id
        found = await read_policies(self._db, caller.channel_id, [key_id])
        policy = found.policies[key_id]
        check_verdict((judge_file if files else judge_call)(policy, stopped=found.stopped, now=now), now)
        return policy
