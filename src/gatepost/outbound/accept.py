"""Accepts sends: each is checked, counted and committed before the response."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.account import Caller, Plan, plan_of
from gatepost.model.draft import DRAFT_LIFE, DraftApproval
from gatepost.model.errors import GatepostError
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.message import check_send
from gatepost.model.send_request import SendRequest
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.outbound.recent_recipients import RecentRecipients
from gatepost.outbound.send_answer import accepted_id, send_answer
from gatepost.store.batch import Batch, NoteCommit, note_nothing
from gatepost.store.drafts import ApprovedDraft
from gatepost.store.idempotency import IdempotencyKey, check_items, nth
from gatepost.store.mcp.calls import CallRecord, insert_calls
from gatepost.store.mcp.judge import AssistantPart, AssistantSend, AssistantSends, LinksUnchecked, sent_answer
from gatepost.store.messages.accept import AcceptResult, Outcome, accept_messages, accept_together
from gatepost.store.messages.accept_alike import AlikeAcceptor
from gatepost.store.messages.accept_plain import NotPlain, PlainOutcome, accept_plain, is_plain
from gatepost.store.messages.submission import SendContext, Submission
from gatepost.store.pool import Database
from gatepost.tracing import ACCEPT, SERVER, Tracer, parse_traceparent

ROUTE = "POST /api/v1/message/send"
BATCH_MAX = 1000
_TURN = 50  # messages of a batch between which others get a turn
_TURNS = 2  # batches of a channel at once: one is written, and the next waits for the lock
_LONG = 8 * 1024  # characters of a message that count as one message more
_SENDERS = 1000  # callers that are remembered
_CHANNELS = 64  # most channels in one commit
_PATIENCE = 0.01  # seconds that messages wait for the commit of other channels


class Acceptor:
    """Accepts the messages of the API and of the command line."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        plans: Mapping[str, Plan],
        queue: int,
        check_link: Callable[[str], Awaitable[None]],
        count: Callable[[int], None] = lambda _: None,
        draft_life: timedelta = DRAFT_LIFE,
        note_commit: NoteCommit = note_nothing,
        tracer: Tracer | None = None,
        file_days: int = 0,
    ) -> None:
        self._db = db
        self._check_link = check_link
        self._clock = clock
        self._plans = plans
        self._count = count
        self.draft_life = draft_life
        self._note_commit = note_commit
        self._tracer = tracer
        self._file_days = file_days
        shared: Any = {
            "limit": queue,
            "weigh": _weigh,
            "keys": _CHANNELS,
            "again": True,  # channels without a quota slice get one if none of a commit has any
            "patience": _PATIENCE,
            "stage": "accept",
            "note": note_commit,
        }
        self._batch: Batch[UUID, Submission, AcceptResult] = Batch(self._write, together=self._write_together, **shared)
        self._plain: Batch[UUID, Submission, AcceptResult] = Batch(
            self._write_plain, together=self._write_plain_together, **shared
        )
        self._recent = RecentRecipients()
        self._alike = AlikeAcceptor(db, clock)
        self._senders: dict[int, tuple[Caller, SendContext]] = {}  # by the caller's identity
        self._turns: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()  # of channels that send many
        self._assistants: Batch[UUID, tuple[Submission, AssistantPart], AcceptResult] = Batch(
            self._write_for_assistants, limit=queue, stage="accept", note=note_commit
        )

    async def accept(
        self,
        caller: Caller,
        request: SendRequest,
        key: IdempotencyKey | None = None,
        traceparent: str | None = None,
    ) -> AcceptResult:
        """Accept one send. Return after the commit. `traceparent` is the header of the request."""
        began, submission = self._clock.now(), await self._prepare(caller, request, key)
        try:
            accepted = await self.begin(caller, submission)
        except NotPlain:
            accepted = await self.resume(caller, submission)
        self.trace(caller, began, [accepted], traceparent)
        return accepted

    def check(
        self, caller: Caller, request: SendRequest, key: IdempotencyKey | None, now: datetime
    ) -> Submission | None:
        """Return a message that `begin` can accept; None if `accept` has to check its links first."""
        submission = self._check(caller, request, key, now)
        return None if submission.message.links else submission

    def begin(self, caller: Caller, submission: Submission) -> "asyncio.Future[AcceptResult]":
        """Begin to accept a message, without awaiting anything. The future ends after the commit.

        It may end with `NotPlain`; then `resume` accepts the message. `trace` is to be called at the end.
        """
        batch = self._plain if is_plain(submission) else self._batch
        return batch.enqueue(caller.channel_id, submission)

    async def resume(self, caller: Caller, submission: Submission) -> AcceptResult:
        """Accept a message that turned out not to be plain. Return after the commit."""
        return await self._batch.put(caller.channel_id, submission)

    async def approve(self, caller: Caller, request: SendRequest, approval: DraftApproval) -> AcceptResult:
        """Accept the message of a draft, and mark the draft as sent, in one commit."""
        began, submission = self._clock.now(), await self._prepare(caller, request, None)
        now, part = self._clock.now(), ApprovedDraft(approval, caller.principal.sender_text)
        (outcome,) = await accept_messages(self._db, caller.channel_id, [submission], now, part=part)
        if isinstance(outcome, Exception):
            raise outcome
        self._note(caller.channel_id, [outcome])
        self.trace(caller, began, [outcome])
        return outcome

    async def accept_for_assistant(
        self, caller: Caller, request: SendRequest, call: McpCall, *, draft: bool
    ) -> AssistantSend:
        """Accept a message of an assistant as its policy allows (`assistant_send.py`).

        A link is looked up only if the policy sends the message, because the look-up tells its host about it.
        """
        began = self._clock.now()
        submission = self._check(caller, request, None, began)
        sender = msgspec.structs.replace(submission.sender, answer=sent_answer)
        submission = msgspec.structs.replace(submission, sender=sender)
        part = AssistantPart(call, msgspec.json.encode(request).decode(), draft, self.draft_life, links_checked=False)
        try:
            accepted = await self._assistants.put(caller.channel_id, (submission, part))
        except LinksUnchecked:
            await self._check_links(submission)
            part = msgspec.structs.replace(part, links_checked=True)
            accepted = await self._assistants.put(caller.channel_id, (submission, part))
        self.trace(caller, began, [accepted])
        return msgspec.json.decode(accepted.answer, type=AssistantSend)

    async def record_call(self, caller: Caller, call: McpCall, result: CallResult) -> None:
        """Record a call that changed nothing."""
        async with self._db.connection() as conn:
            await insert_calls(conn, caller.channel_id, [CallRecord(call, result)])

    async def accept_many(
        self,
        caller: Caller,
        requests: Sequence[SendRequest | GatepostError],
        key: IdempotencyKey | None = None,
        batch_id: UUID | None = None,
    ) -> list[Outcome]:
        """Accept many sends in one commit, each with its own result. An error in place of a request is returned.

        Few of one channel are written at once: they wait for its lock, each with a connection that others need.
        """
        if key is not None:
            await check_items(self._db, caller.channel_id, key, BATCH_MAX)
        began, prepared = self._clock.now(), []
        for i, request in enumerate(requests):
            prepared.append(await self._try_prepare(caller, request, nth(key, i)))
            if i % _TURN == 0:
                await asyncio.sleep(0)
        good = [submission for submission in prepared if isinstance(submission, Submission)]
        async with self._turns.setdefault(caller.channel_id, asyncio.Semaphore(_TURNS)):
            written = await self._write_measured(caller.channel_id, good, batch_id) if good else []
        self.trace(caller, began, written)
        outcomes = iter(written)
        return [next(outcomes) if isinstance(one, Submission) else one for one in prepared]

    async def _try_prepare(
        self, caller: Caller, request: SendRequest | GatepostError, key: IdempotencyKey | None
    ) -> Submission | GatepostError:
        try:
            return request if isinstance(request, GatepostError) else await self._prepare(caller, request, key)
        except GatepostError as error:
            return error

    async def _prepare(self, caller: Caller, request: SendRequest, key: IdempotencyKey | None) -> Submission:
        """Check everything that can be checked without the database."""
        submission = self._check(caller, request, key, self._clock.now())
        if submission.message.links:
            await self._check_links(submission)
        return submission

    async def _check_links(self, submission: Submission) -> None:
        for link in submission.message.links:
            await self._check_link(link)

    def _check(self, caller: Caller, request: SendRequest, key: IdempotencyKey | None, now: datetime) -> Submission:
        can = NETWORK_KINDS[caller.kind].capabilities
        message = check_send(request, now, can)
        return Submission(message, self._sender_of(caller), key, can.window and caller.window and message.freeform)

    def _sender_of(self, caller: Caller) -> SendContext:
        """Return the same object for the same caller, by which messages that are alike are recognized."""
        known = self._senders.get(id(caller))
        if known is not None and known[0] is caller:
            return known[1]
        can = NETWORK_KINDS[caller.kind].capabilities
        sender = SendContext(
            channel=caller.ref,
            account_id=caller.account_id,
            monthly_limit=plan_of(self._plans, caller.plan).messages_per_month,
            answer=partial(send_answer, caller.kind),
            sent_by=caller.principal.sender_text,
            any_document=can.any_document,
            hidden_people=can.hidden_people,
            file_days=self._file_days,
        )
        if len(self._senders) >= _SENDERS:
            self._senders.clear()
        self._senders[id(caller)] = caller, sender
        return sender

    async def drain(self) -> None:
        await self._plain.drain()  # before those that it leaves out
        await self._batch.drain()
        await self._assistants.drain()

    @property
    def waiting(self) -> int:
        return self._plain.waiting + self._batch.waiting + self._assistants.waiting

    async def _write(
        self, channel_id: UUID, submissions: Sequence[Submission], batch_id: UUID | None = None
    ) -> list[Outcome]:
        outcomes = await accept_messages(self._db, channel_id, submissions, self._clock.now(), batch_id)
        self._note(channel_id, outcomes, submissions)
        return outcomes

    async def _write_measured(
        self, channel_id: UUID, submissions: Sequence[Submission], batch_id: UUID | None
    ) -> list[Outcome]:
        began = time.perf_counter()
        outcomes = await self._write(channel_id, submissions, batch_id)
        self._note_commit("accept", len(submissions), time.perf_counter() - began)
        return outcomes

    async def _write_plain(self, channel_id: UUID, submissions: Sequence[Submission]) -> Sequence[PlainOutcome]:
        """Try the statement for messages that are alike, if its recipients seem to be contacts."""
        if self._recent.include(channel_id, [s.message.phone for s in submissions]):
            accepted = await self._alike.accept(channel_id, submissions)
            if accepted is not None:
                self._count(len(accepted))
                return accepted
        return (await self._accept_plain({channel_id: submissions}, wait=True))[channel_id]

    async def _write_plain_together(
        self, batches: Mapping[UUID, Sequence[Submission]]
    ) -> dict[UUID, list[PlainOutcome]]:
        return await self._accept_plain(batches, wait=False)

    async def _accept_plain(
        self, batches: Mapping[UUID, Sequence[Submission]], *, wait: bool
    ) -> dict[UUID, list[PlainOutcome]]:
        new = not all(self._recent.include(id_, [s.message.phone for s in batch]) for id_, batch in batches.items())
        written = await accept_plain(self._db, batches, self._clock.now(), wait=wait, new_people=new)
        for channel_id, outcomes in written.items():
            self._note(channel_id, outcomes, batches[channel_id] if new else ())
        return written

    async def _write_for_assistants(
        self, channel_id: UUID, items: Sequence[tuple[Submission, AssistantPart]]
    ) -> list[Outcome]:
        submissions, part = [submission for submission, _ in items], AssistantSends([part for _, part in items])
        outcomes = await accept_messages(self._db, channel_id, submissions, self._clock.now(), part=part)
        self._note(channel_id, outcomes)
        return outcomes

    async def _write_together(self, batches: Mapping[UUID, Sequence[Submission]]) -> dict[UUID, list[Outcome]]:
        written = await accept_together(self._db, batches, self._clock.now())
        for channel_id, outcomes in written.items():
            self._note(channel_id, outcomes, batches[channel_id])
        return written

    def _note(
        self, channel_id: UUID, outcomes: Sequence[Outcome | PlainOutcome], new: Sequence[Submission] = ()
    ) -> None:
        """Count accepted messages. The recipients of new ones are known from now on."""
        self._count(sum(isinstance(one, AcceptResult) and not one.replayed for one in outcomes))
        for submission, outcome in zip(new, outcomes, strict=False):
            if isinstance(outcome, AcceptResult) and submission.message.phone:
                self._recent.add(channel_id, submission.message.phone, new=outcome.new_contact)

    def trace(
        self, caller: Caller, began: datetime, outcomes: Sequence[Outcome], traceparent: str | None = None
    ) -> None:
        """Record the acceptance of new messages, with which their traces begin."""
        if self._tracer is None:
            return
        now, link, shown = self._clock.now(), parse_traceparent(traceparent), {"gatepost.channel.id": caller.ref.id}
        for one in outcomes:
            if isinstance(one, AcceptResult) and not one.replayed and (id_ := accepted_id(one.answer)):
                name = "message accept"
                self._tracer.record(id_, ACCEPT, name, began, now, shown, parent=None, kind=SERVER, link=link)


def _weigh(submission: Submission) -> int:
    """Return the weight of a message in a batch. A long one counts as many, so that the size of a commit is limited."""
    return 1 + len(submission.message.content) // _LONG


def new_batch_id(channel_id: UUID, key: IdempotencyKey | None, now: datetime) -> UUID:
    """Return the id of a batch. The same key and body get the same id."""
    if key is None:
        return ids.new_id(now)
    name = channel_id.bytes + key.body_hash + key.key.encode()
    return UUID(bytes=hashlib.sha256(name).digest()[:16])
