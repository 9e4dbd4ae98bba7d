"""The policies of assistants' keys, and the switch that stops all assistants of an account."""

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.admin.checks import check_found
from gatepost.admin.keys import get_key
from gatepost.model import ids
from gatepost.model.account import MCP
from gatepost.model.account_log import OPERATOR, Actor, new_entry
from gatepost.model.errors import Conflict, FieldProblem, Invalid
from gatepost.model.mcp_policy import Policy, check_policy
from gatepost.store.accounts import get_account
from gatepost.store.channels import get_config
from gatepost.store.keys import ApiKey
from gatepost.store.labels import list_labels
from gatepost.store.mcp import policies as store
from gatepost.store.mcp.policies import McpStop, StoredPolicy
from gatepost.store.pool import Database

_CHANGES = 10  # attempts, while others change the same policy


class KeyPolicy(msgspec.Struct, frozen=True):
    """A key with its policy, and the names of the channel's labels."""

    key: ApiKey
    stored: StoredPolicy
    labels: Mapping[UUID, str]


async def get_policy(db: Database, channel_id: UUID, key_id: UUID) -> KeyPolicy:
    """Return the policy of a key, or raise NotFound."""
    key = await get_key(db, channel_id, key_id)
    return KeyPolicy(key, await store.get_policy(db, channel_id, key_id), await _label_names(db, channel_id))


def check_scope(key: ApiKey) -> None:
    """Raise Conflict if no assistant can use a key."""
    if MCP not in key.scopes:
        raise Conflict("This key does not have the scope 'mcp', and a policy applies to nothing else.")


async def save_policy(
    db: Database, channel_id: UUID, key_id: UUID, policy: Policy, now: datetime, *, actor: Actor = OPERATOR
) -> KeyPolicy:
    """Save the policy of a key with the scope mcp. It applies to calls that are judged from now on."""
    return await change_policy(db, channel_id, key_id, lambda _: policy, now, actor=actor)


async def change_policy(
    db: Database,
    channel_id: UUID,
    key_id: UUID,
    change: Callable[[Policy], Policy],
    now: datetime,
    *,
    actor: Actor = OPERATOR,
) -> KeyPolicy:
    """Save what `change` makes of the policy of a key. It is called again if the policy changes meanwhile."""
    for _ in range(_CHANGES):
        before = await get_policy(db, channel_id, key_id)
        check_scope(before.key)
        policy = change(before.stored.policy)
        check_policy(policy)
        _check_labels(policy, before)
        changed = [
            name for name in Policy.__struct_fields__ if getattr(policy, name) != getattr(before.stored.policy, name)
        ]
        if not changed and before.stored.updated_at is not None:
            return before
        channel = check_found(await get_config(db, channel_id), "ch", channel_id)
        details = {"name": before.key.name, "channel": ids.format_id("ch", channel_id), "mode": policy.mode}
        entry = new_entry(
            channel.account_id,
            actor,
            "mcp_policy_changed",
            now,
            target=ids.format_id("key", key_id),
            details={**details, "changed": changed},
        )
        saved = StoredPolicy(policy, now, actor.label)
        if await store.save_policy(db, channel_id, key_id, policy, now, actor.label, entry, before=before.stored):
            return msgspec.structs.replace(before, stored=saved)
    raise Conflict("The policy is being changed by others. Try again.")


async def get_stop(db: Database, account_id: UUID) -> McpStop:
    """Return whether the assistants of an account are stopped, or raise NotFound."""
    return check_found(await store.get_stop(db, account_id), "acc", account_id)


async def set_stop(db: Database, account_id: UUID, now: datetime, *, stopped: bool, actor: Actor = OPERATOR) -> McpStop:
    """Stop all assistants of an account, or let them go on. No effect if that is so already."""
    account = check_found(await get_account(db, account_id), "acc", account_id)
    stop = McpStop(now, actor.label) if stopped else McpStop(None, None)
    action = "mcp_stopped" if stopped else "mcp_resumed"
    entry = new_entry(account.id, actor, action, now, target=ids.format_id("acc", account.id))
    return stop if await store.set_stop(db, account_id, stop, entry) else await get_stop(db, account_id)


async def _label_names(db: Database, channel_id: UUID) -> dict[UUID, str]:
    return {label.id: label.name for label in await list_labels(db, channel_id)}


def _check_labels(policy: Policy, before: KeyPolicy) -> None:
    """Reject labels that the channel does not have. One that was deleted may stay: it allows nobody."""
    unknown = [
        FieldProblem(f"recipients.labels[{place}]", "There is no such label on this channel.")
        for place, text in enumerate(policy.recipients.labels)
        if ids.parse_id("lb", text) not in before.labels and text not in before.stored.policy.recipients.labels
    ]
    if unknown:
        raise Invalid(f"{unknown[0].field}: {unknown[0].message}", fields=tuple(unknown))
