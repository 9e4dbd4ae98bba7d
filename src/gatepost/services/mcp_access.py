"""Whether the policy of a key allows a call that reads."""

from datetime import datetime
from uuid import UUID

from gatepost.model.account import Caller
from gatepost.model.mcp_policy import Policy
from gatepost.model.mcp_verdict import check_verdict, judge_call, judge_file
from gatepost.store.mcp.facts import list_sent
from gatepost.store.mcp.policies import read_policies
from gatepost.store.pool import Database


async def check_reading(db: Database, caller: Caller, now: datetime, *, files: bool = False) -> Policy:
    """Return the policy of a key, or raise if it does not allow to read; with `files`, to read their content."""
    key_id: UUID = caller.principal.id
    found = await read_policies(db, caller.channel_id, [key_id])
    judge = judge_file if files else judge_call
    check_verdict(judge(found.policies[key_id], stopped=found.stopped, now=now), now)
    return found.policies[key_id]


async def count_sends_left(db: Database, caller: Caller, policy: Policy, now: datetime) -> int:
    """Return how many messages and drafts the policy still allows a key in this hour."""
    if policy.mode == "read":
        return 0
    sent = await list_sent(db, caller.principal.id, now, policy.sends_per_hour)
    return policy.sends_per_hour - len(sent)
