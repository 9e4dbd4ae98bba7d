"""Calls of assistants: whether the policy of a key allows one that reads, and the record of it."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec

from gatepost.background import attempt
from gatepost.model.account import Caller
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.mcp_policy import Policy
from gatepost.model.mcp_verdict import check_verdict, judge_call, judge_file
from gatepost.store.batch import Batch
from gatepost.store.mcp.calls import CallRecord, insert_calls, notify_calls
from gatepost.store.mcp.facts import list_sent
from gatepost.store.mcp.policies import read_policies
from gatepost.store.pool import Database

_QUEUE = 10_000
_NOTIFY = 1.0  # seconds between two notifications of open pages


class PolicyInForce(msgspec.Struct, frozen=True):
    """The policy of a key, and whether all assistants of its account are stopped."""

    policy: Policy
    stopped: bool


async def read_policy_in_force(db: Database, key: tuple[UUID, UUID]) -> PolicyInForce:
    """Return the policy of a key, which is named by its channel and its id."""
    channel_id, key_id = key
    found = await read_policies(db, channel_id, [key_id])
    return PolicyInForce(found.policies[key_id], found.stopped)


def check_reading(found: PolicyInForce, now: datetime, *, files: bool = False) -> Policy:
    """Return a policy, or raise if it does not allow to read; with `files`, to read their content."""
    judge = judge_file if files else judge_call
    check_verdict(judge(found.policy, stopped=found.stopped, now=now), now)
    return found.policy


async def count_sends_left(db: Database, caller: Caller, policy: Policy, now: datetime) -> int:
    """Return how many messages and drafts the policy still allows a key in this hour."""
    if policy.mode == "read":
        return 0
    sent = await list_sent(db, caller.principal.id, now, policy.sends_per_hour)
    return policy.sends_per_hour - len(sent)


class McpRecorder:
    """Records calls that read, and those that failed, in groups: one commit per channel at a time.

    Their answers leave after the commit. Calls that change something are recorded in the commit of the change.
    """

    def __init__(self, db: Database, queue: int = _QUEUE) -> None:
        self._db = db
        self._batch: Batch[UUID, CallRecord, None] = Batch(self._write, limit=queue)
        self._changed: set[UUID] = set()  # channels whose pages are not notified yet
        self._notifying: asyncio.Task[None] | None = None

    async def read(self, caller: Caller, call: McpCall, result: CallResult, revealed: Collection[UUID] = ()) -> None:
        """Record a call and the conversations that its answer reveals. Return after the commit.

        If this raises, the answer must not leave: what it reveals is not known to the policy.
        """
        await self._batch.put(caller.channel_id, CallRecord(call, result, frozenset(revealed)))

    async def drain(self) -> None:
        """Wait until everything is recorded, and notify open pages of it."""
        await self._batch.drain()
        if self._notifying is not None:
            self._notifying.cancel()
        await self._notify_once()

    async def _write(self, channel_id: UUID, records: Sequence[CallRecord]) -> list[None]:
        async with self._db.connection() as conn:
            await insert_calls(conn, channel_id, records, notify=False)
        self._changed.add(channel_id)
        if self._notifying is None or self._notifying.done():
            self._notifying = asyncio.create_task(self._notify(), name="notify pages of calls")
        return [None] * len(records)

    async def _notify(self) -> None:
        """Notify open pages at once, and then once in a while as long as there are calls."""
        while self._changed:
            await self._notify_once()
            await asyncio.sleep(_NOTIFY)

    async def _notify_once(self) -> None:
        changed, self._changed = sorted(self._changed), set()
        if changed:
            await attempt("notify pages of calls", partial(notify_calls, self._db, changed))
