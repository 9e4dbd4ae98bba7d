"""What assistants change besides messages: labels, status, notes, hand-overs, read marks.

head locked ─► policy ─► change ─► call recorded ─► commit

A call that is refused or fails changes nothing and is recorded in a commit of its own. In a dry run only the call is
recorded.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model.account import Caller
from gatepost.model.account_log import Actor
from gatepost.model.errors import GatepostError, Unavailable, invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.mcp_policy import Policy
from gatepost.model.mcp_verdict import PolicyRefused, PolicyVerdict, check_verdict, judge_change, judge_note
from gatepost.services.conversations import ConversationChange, check_change, show_read_mark
from gatepost.services.lookup import existing, missing, read_id
from gatepost.services.notes import NOTES_MAX
from gatepost.services.read_receipts import MEMORY, Speak
from gatepost.store.channel_head import ChannelTransaction, channel_transaction
from gatepost.store.channels import get_config
from gatepost.store.conversations import changes as store
from gatepost.store.conversations.notes import NoteRow, insert_note
from gatepost.store.labels import ChannelLabels
from gatepost.store.mcp.calls import CallRecord, insert_calls
from gatepost.store.mcp.conversations import has_read_others, insert_handover
from gatepost.store.mcp.policies import read_label_rules, read_policies
from gatepost.store.messages.history import has_conversation
from gatepost.store.pool import Database

REASON_MAX = 1_000
LABELS_PER_CALL = 50


class AssistantChange(msgspec.Struct, frozen=True):
    """The result of a change. After a dry run nothing has changed."""

    outcome: Literal["done", "dry_run"]
    read_shown: bool = False  # whether the person was shown that a person has read their messages


class _Change(msgspec.Struct):
    """A change that the policy allows."""

    transaction: ChannelTransaction
    contact_id: UUID
    policy: Policy

    @property
    def conn(self) -> Any:
        return self.transaction.conn

    @property
    def result(self) -> AssistantChange:
        return AssistantChange("dry_run" if self.policy.dry_run else "done")


async def set_labels(
    db: Database, caller: Caller, call: McpCall, conversation: str, add: Sequence[str], remove: Sequence[str]
) -> AssistantChange:
    """Assign labels to a conversation and remove others, all or none.

    A label by which a policy chooses recipients cannot be assigned: the assistant would choose its recipients itself.
    """
    async with _change(db, caller, call, conversation) as change:
        _check_labels(add, remove)
        labels = ChannelLabels(change.transaction)
        person = existing("cv", await labels.find_person(change.contact_id))
        added = [existing("lb", await labels.find(read_id("lb", text))) for text in dict.fromkeys(add)]
        removed = [existing("lb", await labels.find(read_id("lb", text))) for text in dict.fromkeys(remove)]
        ruled = await read_label_rules(change.conn, caller.channel_id)
        if any(label.id in ruled for label in added):
            check_verdict(_LABEL_RULED, call.at)
        if not change.policy.dry_run:
            for label in added:
                await labels.assign(label, person)
            for label in removed:
                await labels.unassign(label, person)
    return change.result


_LABEL_RULED = PolicyVerdict(
    "refuse",
    "recipients",
    "This label decides to whom an assistant may write, so that an assistant cannot assign it.",
    "Ask a person to assign it.",
)


def _check_labels(add: Sequence[str], remove: Sequence[str]) -> None:
    if len(add) > LABELS_PER_CALL or len(remove) > LABELS_PER_CALL:
        raise invalid_field("add", f"and remove may have at most {LABELS_PER_CALL} labels each")
    if set(add) & set(remove):
        raise invalid_field("remove", "has a label that is in add, too")


async def update_conversation(
    db: Database,
    caller: Caller,
    call: McpCall,
    conversation: str,
    status: str | msgspec.UnsetType = msgspec.UNSET,
    note: str | msgspec.UnsetType | None = msgspec.UNSET,
) -> AssistantChange:
    """Set the status or the note of a conversation. A note that is None is removed.

    A note may not have what was read in another conversation: the assistant would find it here when that is forgotten.
    """
    async with _change(db, caller, call, conversation) as change:
        given = check_change(ConversationChange(status=status, note=note))
        if isinstance(note, str) and note:
            others = await has_read_others(change.conn, caller.channel_id, call.key_id, change.contact_id, call.at)
            check_verdict(judge_note(change.policy, read_others=others), call.at)
        if not change.policy.dry_run:
            await store.change_conversation(change.transaction, change.contact_id, given)
    return change.result


async def hand_over(db: Database, caller: Caller, call: McpCall, conversation: str, reason: str) -> AssistantChange:
    """Give a conversation to a person: it is opened with a note, and the key writes nothing there.

    A second hand-over changes nothing.
    """
    async with _change(db, caller, call, conversation) as change:
        _check_reason(reason)
        if not change.policy.dry_run and await insert_handover(
            change.conn, caller.channel_id, change.contact_id, call.key_id, reason, call.at
        ):
            opened = {"status": store.OPEN, "archived": False}
            await store.change_conversation(change.transaction, change.contact_id, opened)
            note = NoteRow(call.id, Actor("key", call.key_id, caller.principal.label), reason, call.at)
            await insert_note(change.conn, caller.channel_id, change.contact_id, note, NOTES_MAX)
    return change.result


def _check_reason(reason: str) -> None:
    check_storable("reason", reason)
    if not reason.strip() or len(reason) > REASON_MAX:
        raise invalid_field("reason", f"must have 1 to {REASON_MAX:,} characters, but has {len(reason.strip()):,}")


async def mark_read(db: Database, speak: Speak, caller: Caller, call: McpCall, conversation: str) -> AssistantChange:
    """Mark a conversation as read, here and, after the commit, on the network."""
    channel = existing("", await get_config(db, caller.channel_id))
    incoming = None
    async with _change(db, caller, call, conversation) as change:
        if not change.policy.dry_run:
            incoming = await store.mark_read(change.transaction, change.contact_id, call.at - MEMORY)
    shown = incoming is not None and await show_read_mark(speak, channel, incoming)
    return msgspec.structs.replace(change.result, read_shown=shown)


# -- the transaction ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _change(db: Database, caller: Caller, call: McpCall, conversation: str) -> AsyncIterator[_Change]:
    """Run the body in a transaction of the channel that also records the call. An error is recorded after it."""
    try:
        async with channel_transaction(db, caller.ref, caller.channel_id, call.at, sending=False) as transaction:
            found = await read_policies(transaction.conn, caller.channel_id, [call.key_id])
            policy = found.policies[call.key_id]
            check_verdict(judge_change(policy, stopped=found.stopped, now=call.at), call.at)
            contact_id = read_id("cv", conversation)
            if not await has_conversation(transaction.conn, caller.channel_id, contact_id):
                raise missing("cv")
            change = _Change(transaction, contact_id, policy)
            yield change
            result = CallResult(change.result.outcome, contact_id=contact_id)
            await insert_calls(transaction.conn, caller.channel_id, [CallRecord(call, result)])
    except Unavailable:
        raise
    except GatepostError as error:
        refused = isinstance(error, PolicyRefused)
        result = CallResult("refused" if refused else "failed", getattr(error, "rule", None), error.code)
        async with db.connection() as conn:
            await insert_calls(conn, caller.channel_id, [CallRecord(call, result)])
        raise
