"""The commit that accepts messages: idempotency, quota, contacts, rows and events, all or nothing."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import msgspec

from gatepost.compute import in_parts
from gatepost.model import ids, times
from gatepost.model.errors import LimitReached, LimitState, overloaded
from gatepost.model.event.messages import MessageCreated
from gatepost.model.quota import NO_LIMIT
from gatepost.store.channel_head import EventBuffer, no_head
from gatepost.store.contacts.rows import KnownContact, MissingContacts, add_missing
from gatepost.store.conversations.changes import emit_created
from gatepost.store.idempotency import find_answers, store_answers
from gatepost.store.messages.accept_rows import AcceptedRows, LockedChannel, add_batch, open_channels, write_accepted
from gatepost.store.messages.recipients import (
    ContactKey,
    FoundRecipient,
    find_recipients,
    recipient_problem,
)
from gatepost.store.messages.submission import Submission, read_send_checks, refusal
from gatepost.store.pool import Connection, Database
from gatepost.store.quota import Quota, QuotaShort, covers, provide, refill, spend

_TRIES = 100  # each time, other batches have used up the slice that this one was granted


class AcceptResult(msgspec.Struct, frozen=True):
    """The answer for the caller, new or replayed."""

    rendered: bytes | Callable[[], bytes]  # the answer, or what renders it when it is needed
    replayed: bool = False
    new_contact: bool = False  # its recipient was none before

    @property
    def answer(self) -> bytes:
        """Return the answer as JSON."""
        return self.rendered if isinstance(self.rendered, bytes) else self.rendered()


Outcome = AcceptResult | Exception


class ChannelGroup(msgspec.Struct):
    """The submissions of one channel, and their outcomes."""

    channel_id: UUID
    submissions: Sequence[Submission]
    opened: LockedChannel
    outcomes: list[Outcome | None] = []
    fresh: list[int] = []
    slice_left: int = 0
    batch_id: UUID | None = None

    @property
    def chosen(self) -> list[Submission]:
        return [self.submissions[i] for i in self.fresh]


class CommitPart(Protocol):
    """Decides about messages in the commit that accepts them, and adds its own rows (`mcp/judge.py`)."""

    async def decide(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        """Set the outcomes of messages that are not accepted; those that stay in `group.fresh` are."""

    async def record(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        """Write what belongs to the messages. All outcomes are set."""


async def accept_messages(
    db: Database,
    channel_id: UUID,
    submissions: Sequence[Submission],
    now: datetime,
    batch_id: UUID | None = None,
    part: CommitPart | None = None,
) -> list[Outcome]:
    """Accept a batch of one channel in one commit, each item with its own result.

    With a `batch_id`, its messages can be found together later.
    """
    quota = quota_of(submissions, now)
    for _ in range(_TRIES):
        try:
            async with db.transaction(wakes=channel_id, tasks=False) as conn:
                groups = await _open(conn, {channel_id: submissions}, wait=True)
                if not groups:
                    raise await no_head(conn, channel_id)
                groups[0].batch_id = batch_id
                await _check(conn, groups[0], now)
                if part is not None:
                    await part.decide(conn, groups[0], now)
                await _count(conn, groups[0], quota, now)
                await _write(conn, groups, now)
                if part is not None:
                    await part.record(conn, groups[0], now)
                return _results(groups[0])
        except QuotaShort as short:
            lacks = short
        await provide(db, channel_id, quota, lacks)
    raise overloaded()


async def accept_together(
    db: Database, batches: Mapping[UUID, Sequence[Submission]], now: datetime
) -> dict[UUID, list[Outcome]]:
    """Accept batches of several channels in one commit, without waiting for a lock.

    A channel is left out if it is deleted, its head is locked, or its quota slice is too small. If all slices are too
    small, they are refilled first. There is at most one commit, so that an error applies to all.
    """
    groups, short = await _accept_covered(db, batches, now)
    if short and not groups:
        refilled = {}
        for group in short:
            quota = quota_of(group.submissions, now)
            if await refill(db, group.channel_id, quota, group.opened.held, len(group.fresh)):
                refilled[group.channel_id] = group.submissions
        groups, _ = await _accept_covered(db, refilled, now) if refilled else ([], [])
    return {group.channel_id: _results(group) for group in groups}


async def _accept_covered(
    db: Database, batches: Mapping[UUID, Sequence[Submission]], now: datetime
) -> tuple[list[ChannelGroup], list[ChannelGroup]]:
    """Accept the batches of channels whose slice is large enough. Return these groups, and the others."""
    groups, short = [], []
    async with db.transaction() as conn:
        for group in await _open(conn, batches, wait=False):
            await _check(conn, group, now)
            quota = quota_of(group.submissions, now)
            if covers(quota, group.opened.held, len(group.fresh)):
                await _count(conn, group, quota, now)
                groups.append(group)
            else:
                short.append(group)
        await _write(conn, groups, now)
    for group in groups:
        db.notify(group.channel_id, tasks=False)
    return groups, short


def quota_of(submissions: Sequence[Submission], now: datetime) -> Quota:
    """Return the quota that the messages of a channel are counted against."""
    last = submissions[-1]
    limit = last.sender.monthly_limit
    return Quota(last.sender.account_id, times.month_of(now), NO_LIMIT if limit is None else limit)


async def _open(
    conn: "Connection[Any]", batches: Mapping[UUID, Sequence[Submission]], *, wait: bool
) -> list[ChannelGroup]:
    """Lock the channels and find the recipients of their batches."""
    phones = {
        channel_id: list({s.message.phone for s in batch if s.message.contact is None})
        for channel_id, batch in batches.items()
    }
    with_last_in = any(s.window for batch in batches.values() for s in batch)
    opened = await open_channels(conn, phones, with_last_in=with_last_in, wait=wait)
    groups = [ChannelGroup(channel_id, batches[channel_id], one) for channel_id, one in opened.items()]
    await _find_recipients(conn, groups)
    return groups


async def _find_recipients(conn: "Connection[Any]", groups: Sequence[ChannelGroup]) -> None:
    """Find the addresses of recipients that are named as contacts."""
    wanted = [(g.channel_id, s.message.contact) for g in groups for s in g.submissions if s.message.contact]
    found = await find_recipients(conn, wanted) if wanted else {}
    for (channel_id, _), recipient in found.items():
        address = recipient.contact.phone
        opened = next(group.opened for group in groups if group.channel_id == channel_id)
        opened.people[address], opened.last_in[address] = recipient.contact, recipient.last_in_at
    for group in groups if wanted else ():
        group.submissions = [_addressed(group.channel_id, s, found) for s in group.submissions]


def _addressed(channel_id: UUID, submission: Submission, found: Mapping[ContactKey, FoundRecipient]) -> Submission:
    if submission.message.contact is None:
        return submission
    recipient = found.get((channel_id, submission.message.contact))
    message = msgspec.structs.replace(submission.message, phone=recipient.contact.phone if recipient else "")
    return msgspec.structs.replace(submission, message=message)


async def _check(conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
    """Replay answers of known keys and refuse what fails a check; the rest is new."""
    known = await find_answers(conn, group.channel_id, [s.key for s in group.submissions])
    group.outcomes = [AcceptResult(one, replayed=True) if isinstance(one, bytes) else one for one in known]
    for i, submission in enumerate(group.submissions):
        if submission.message.contact and group.outcomes[i] is None:
            group.outcomes[i] = recipient_problem(submission.message.phone, submission.sender.hidden_people)
    checked = {i: s for i, s in enumerate(group.submissions) if s.needs_checks and group.outcomes[i] is None}
    if checked:
        grounds = await read_send_checks(conn, group.channel_id, list(checked.values()), group.opened)
        for i, submission in checked.items():
            group.outcomes[i] = refusal(submission, grounds, now)
    group.fresh = [i for i, outcome in enumerate(group.outcomes) if outcome is None]


async def _count(conn: "Connection[Any]", group: ChannelGroup, quota: Quota, now: datetime) -> None:
    """Count new messages against the quota, and refuse those above it."""
    if group.fresh:
        room, group.slice_left = await spend(conn, quota, group.opened.held, len(group.fresh))
        for i in group.fresh[room:]:
            group.outcomes[i] = quota_exceeded(quota.limit, now)
        group.fresh = group.fresh[:room]


async def _write(conn: "Connection[Any]", groups: Sequence[ChannelGroup], now: datetime) -> None:
    if not (accepting := [group for group in groups if group.fresh]):
        return
    missing = {g.channel_id: MissingContacts(g.opened.people, [s.message.phone for s in g.chosen]) for g in accepting}
    made = await add_missing(conn, missing, now)
    written = [await _prepare(group, made[group.channel_id], now) for group in accepting]
    await write_accepted(conn, written, now)
    for group, rows in zip(accepting, written, strict=True):
        await _schedule(conn, group.channel_id, group.chosen, rows.new_ids)
        if group.batch_id is not None:
            await add_batch(conn, group.channel_id, group.batch_id, rows.new_ids, now)
        answers = await in_parts(lambda s, id_: s.sender.answer(s.message, id_, now), group.chosen, rows.new_ids)
        keyed = [(s.key, answer) for s, answer in zip(group.chosen, answers, strict=True) if s.key]
        await store_answers(conn, group.channel_id, keyed, now)
        new = {contact.id for contact in made[group.channel_id]}
        for i, answer, contact_id in zip(group.fresh, answers, rows.contact_ids, strict=True):
            group.outcomes[i] = AcceptResult(answer, new_contact=contact_id in new)


async def _prepare(group: ChannelGroup, made: Sequence[KnownContact], now: datetime) -> AcceptedRows:
    """Return the rows of a channel's accepted messages, with the events of its new contacts."""
    head, people, chosen = group.opened.head, group.opened.people, group.chosen
    new_ids, event_buffer = ids.next_ids(head.last_message_id, now, len(chosen)), EventBuffer(head, now)
    emit_created(made, event_buffer, now)
    recipients = [people[s.message.phone] for s in chosen]
    event_ids = await in_parts(partial(_emit_message_created, event_buffer, now), new_ids, chosen, recipients)
    return AcceptedRows(
        head=head,
        channel=chosen[-1].sender.channel,
        slice_left=group.slice_left,
        messages=[s.message for s in chosen],
        senders=[s.sender.sent_by for s in chosen],
        new_ids=new_ids,
        contact_ids=[contact.id for contact in recipients],
        event_ids=event_ids,
        events=event_buffer.events,
    )


def _results(group: ChannelGroup) -> list[Outcome]:
    return [outcome for outcome in group.outcomes if outcome is not None]


def quota_exceeded(limit: int, now: datetime) -> LimitReached:
    left = int((times.month_end(now) - now).total_seconds()) + 1
    return LimitReached(
        f"The plan's {limit:,} messages for this month are used up. Choose a larger plan, or wait for the next month.",
        "plan_quota_exceeded",
        retry_after=left,
        retryable=False,
        limit=LimitState("plan-month", limit, times.month_seconds(now), 0, left),
    )


async def _schedule(
    conn: "Connection[Any]", channel_id: UUID, chosen: Sequence[Submission], new_ids: Sequence[UUID]
) -> None:
    later = [(channel_id, s.message.send_at, id_) for s, id_ in zip(chosen, new_ids, strict=True) if s.message.send_at]
    if later:
        await conn.executemany(
            "INSERT INTO scheduled_messages (channel_id, send_at, message_id) VALUES ($1, $2, $3)", later
        )


def _emit_message_created(
    event_buffer: EventBuffer, now: datetime, id_: UUID, submission: Submission, contact: KnownContact
) -> UUID:
    message = submission.message
    data = MessageCreated.of(
        id_=id_,
        phone=message.phone,
        contact_id=contact.id,
        name=contact.display_name,
        incoming=False,
        type_=message.type,
        content=message.content,
        timestamp=now,
        reply_to=message.reply_to,
        client_ref=message.client_ref,
        sent_by=submission.sender.sent_by,
        scheduled=message.send_at is not None,
    )
    return event_buffer.add(data, contact.id, id_)
