"""Whether the policy of a key allows a call that reads."""

from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.account import Caller
from gatepost.model.mcp_policy import Policy
from gatepost.model.mcp_verdict import check_verdict, judge_call, judge_file
from gatepost.store.mcp.facts import list_sent
from gatepost.store.mcp.policies import read_policies
from gatepost.store.pool import Database


class KeyUse(msgspec.Struct, frozen=True):
    """The policy of a key, and what it has used of its hour."""

    policy: Policy
    stopped: bool
    sent_last_hour: int


async def check_reading(db: Database, caller: Caller, now: datetime, *, files: bool = False) -> Policy:
    """Return the policy of a key, or raise if it does not allow to read; with `files`, to read their content."""
    key_id: UUID = caller.principal.id
    found = await read_policies(db, caller.channel_id, [key_id])
    judge = judge_file if files else judge_call
    check_verdict(judge(found.policies[key_id], stopped=found.stopped, now=now), now)
    return found.policies[key_id]


async def read_use(db: Database, caller: Caller, now: datetime) -> KeyUse:
    """Return the policy of a key with its use, also if it is stopped."""
    key_id = caller.principal.id
    found = await read_policies(db, caller.channel_id, [key_id])
    policy = found.policies[key_id]
    sent = await list_sent(db, key_id, now, policy.sends_per_hour)
    return KeyUse(policy, found.stopped, len(sent))
