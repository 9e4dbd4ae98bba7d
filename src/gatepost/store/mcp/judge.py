"""Judges the messages of assistants in the commit that accepts them.

head locked ─► made before? ─► policy ─► checks of every send ─► message | draft | refusal ─► call recorded ─► commit

Of calls at the same time, on one node or on several, each is judged after the one before it is written.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.draft import WAITING_MAX, too_many_drafts
from gatepost.model.errors import GatepostError
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.mcp_policy import Policy
from gatepost.model.mcp_verdict import Decision, PolicyRefused, PolicyVerdict, ProposedSend, judge
from gatepost.model.message import CheckedMessage
from gatepost.model.number_forms import forms_of
from gatepost.store.drafts import NewDraft, count_waiting, insert_drafts
from gatepost.store.mcp.calls import CallRecord, find_answers_again, insert_calls
from gatepost.store.mcp.facts import KeyAndPerson, SendCounts, read_counts
from gatepost.store.mcp.policies import read_policies
from gatepost.store.messages.accept import AcceptResult, ChannelGroup, Outcome
from gatepost.store.pool import Connection
from gatepost.store.statement import json_text


class AssistantPart(msgspec.Struct, frozen=True):
    """What makes a message one of an assistant."""

    call: McpCall
    body: str  # the send request, JSON
    draft: bool  # whether the assistant asked for a draft
    draft_life: timedelta
    links_checked: bool  # whether the links of its files were looked up, which tells their hosts about the message


class AssistantSend(msgspec.Struct, frozen=True):
    """The answer to a message of an assistant."""

    outcome: Literal["sent", "draft", "dry_run"]
    message: str | None = None
    draft: str | None = None
    rule: str | None = None
    reason: str | None = None
    status: str | None = None
    repeated: bool = False
    would: Decision | None = None  # of a dry run: send or draft


class RecordedError(Exception):
    """An error that the log of calls has already."""

    def __init__(self, error: GatepostError) -> None:
        super().__init__(str(error))
        self.error = error


class LinksUnchecked(Exception):
    """The policy allows the message, but the links of its files were not checked yet. Nothing is recorded."""


class AssistantSends:
    """The messages of assistants in one batch of a channel, in the order of the batch."""

    def __init__(self, parts: Sequence[AssistantPart]) -> None:
        self._parts = parts
        self._results: dict[int, CallResult] = {}
        self._same: dict[int, int] = {}  # equal calls of the batch: the first of them
        self._drafts: list[NewDraft] = []

    async def decide(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        self._results, self._same, self._drafts = {}, {}, []
        calls, channel_id = [part.call for part in self._parts], group.channel_id
        answers = await find_answers_again(conn, calls, now)
        found = await read_policies(conn, channel_id, sorted({call.key_id for call in calls}))
        pairs = _pairs(calls, group)
        unique = list(dict.fromkeys(pairs))
        counts = await read_counts(conn, channel_id, unique, found, now)
        room = WAITING_MAX - await count_waiting(conn, channel_id, now)
        first: dict[tuple[UUID, bytes], int] = {}
        for i, (part, pair) in enumerate(zip(self._parts, pairs, strict=True)):
            fingerprint = part.call.fingerprint or b""
            same = (found.lineages[part.call.key_id], fingerprint)
            if (part.call.key_id, fingerprint) in answers:
                self._repeat(group, i, answers[part.call.key_id, fingerprint])
            elif same in first:
                self._same[i] = first[same]
                group.outcomes[i] = LinksUnchecked()  # until `record`
            else:
                policy = found.policies[part.call.key_id]
                new = self._judge(group, i, pair, policy, counts, now, room - len(self._drafts))
                if new and part.call.fingerprint is not None:
                    first[same] = i
        group.fresh = [i for i, outcome in enumerate(group.outcomes) if outcome is None]

    def _judge(
        self,
        group: ChannelGroup,
        i: int,
        pair: KeyAndPerson,
        policy: Policy,
        counts: SendCounts,
        now: datetime,
        room: int,
    ) -> bool:
        """Decide about one message. Return whether it is sent or becomes a draft."""
        part, submission, failure = self._parts[i], group.submissions[i], group.outcomes[i]
        verdict = judge(policy, ProposedSend.of(submission.message, draft=part.draft), counts.of(pair))
        if verdict.outcome == "refuse":
            self._fail(group, i, PolicyRefused(verdict, now), pair)
        elif isinstance(failure, GatepostError):
            self._fail(group, i, failure, pair)
        elif policy.dry_run:
            group.outcomes[i] = _answer(
                AssistantSend("dry_run", rule=verdict.rule, reason=verdict.reason, would=verdict.outcome)
            )
            self._results[i] = CallResult("dry_run", verdict.rule, contact_id=pair.contact_id)
        elif verdict.outcome == "send" and submission.message.links and not part.links_checked:
            group.outcomes[i] = LinksUnchecked()
        elif verdict.outcome == "draft" and room <= 0:
            self._fail(group, i, too_many_drafts(), pair)
        else:
            counts.add(pair, now)
            if verdict.outcome == "draft":
                self._draft(group, i, pair, verdict, now)
            return True
        return False

    def _fail(self, group: ChannelGroup, i: int, error: GatepostError, pair: KeyAndPerson) -> None:
        group.outcomes[i] = RecordedError(error)
        self._results[i] = _failure(error, pair.contact_id)

    def _repeat(self, group: ChannelGroup, i: int, answer: str) -> None:
        first = msgspec.json.decode(answer, type=AssistantSend)
        made = tuple(id_ for id_ in (first.message, first.draft) if id_)
        group.outcomes[i] = _answer(msgspec.structs.replace(first, repeated=True))
        contact = group.opened.people.get(group.submissions[i].message.phone)
        self._results[i] = CallResult("repeated", contact_id=contact.id if contact else None, ids=made)

    def _draft(self, group: ChannelGroup, i: int, pair: KeyAndPerson, verdict: PolicyVerdict, now: datetime) -> None:
        part, submission = self._parts[i], group.submissions[i]
        draft = NewDraft(
            id=ids.new_id(now),
            contact_id=pair.contact_id,
            phone=submission.message.phone,
            body=part.body,
            created_by=submission.sender.sent_by or "",
            key_id=part.call.key_id,
            rule=verdict.rule,
            reason=verdict.reason,
            created_at=now,
            expires_at=now + part.draft_life,
            seen_event_id=group.opened.head.last_event_id,
        )
        self._drafts.append(draft)
        name = ids.format_id("drf", draft.id)
        group.outcomes[i] = _answer(AssistantSend("draft", draft=name, rule=verdict.rule, reason=verdict.reason))
        self._results[i] = CallResult("draft", verdict.rule, contact_id=pair.contact_id, ids=(name,))

    async def record(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        for i, first in self._same.items():  # after their first one, whose result is known by now
            outcome = group.outcomes[first]
            if isinstance(outcome, AcceptResult):
                self._repeat(group, i, outcome.answer.decode())
            else:
                group.outcomes[i] = outcome
        for i, outcome in enumerate(group.outcomes):
            contact = group.opened.people.get(group.submissions[i].message.phone)
            contact_id = contact.id if contact else None
            if i not in self._results and isinstance(outcome, AcceptResult):
                sent = msgspec.json.decode(outcome.answer, type=AssistantSend)
                self._results[i] = CallResult("sent", contact_id=contact_id, ids=(sent.message or "",))
            elif i not in self._results and isinstance(outcome, RecordedError | GatepostError):
                error = outcome.error if isinstance(outcome, RecordedError) else outcome
                self._results[i] = _failure(error, contact_id)
                group.outcomes[i] = RecordedError(error)
        records = [
            CallRecord(self._parts[i].call, result, answer=_kept(result, group.outcomes[i]), at=now)
            for i, result in sorted(self._results.items())
        ]
        if self._drafts:
            await insert_drafts(conn, group.channel_id, self._drafts)
        if records:
            await insert_calls(conn, group.channel_id, records)


def sent_answer(_message: CheckedMessage, id_: UUID, _now: datetime) -> bytes:
    """Return the answer to a message that was accepted."""
    return json_text(AssistantSend("sent", message=ids.message_id(id_), status="PENDING")).encode()


def _answer(send: AssistantSend) -> AcceptResult:
    return AcceptResult(json_text(send).encode(), replayed=True)


def _failure(error: GatepostError, contact_id: UUID | None) -> CallResult:
    if isinstance(error, PolicyRefused):
        return CallResult("refused", error.rule, error.code, contact_id)
    return CallResult("failed", None, error.code, contact_id)


def _kept(result: CallResult, outcome: Outcome | None) -> str | None:
    """Return the answer that an equal call gets."""
    return (
        outcome.answer.decode() if result.outcome in ("sent", "draft") and isinstance(outcome, AcceptResult) else None
    )


def _pairs(calls: Sequence[McpCall], group: ChannelGroup) -> list[KeyAndPerson]:
    """Return the key and the recipient of each message. All numbers of a contact, and both forms of one, are equal."""
    known: dict[tuple[UUID, UUID | str], KeyAndPerson] = {}
    pairs = []
    for call, submission in zip(calls, group.submissions, strict=True):
        contact = group.opened.people.get(submission.message.phone)
        forms = forms_of(submission.message.phone)
        pair = KeyAndPerson(call.key_id, contact.id if contact else None, min(forms), max(forms))
        pairs.append(known.setdefault((pair.key_id, pair.contact_id or pair.phone), pair))
    return pairs
