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
