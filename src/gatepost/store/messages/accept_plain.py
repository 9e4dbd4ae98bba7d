"""Accepting plain messages: one statement and one commit for the batches of one channel or several.

A message is plain if no row can rule it out except those that the statement reads anyway: no template, file, reply,
reaction or schedule. What the statement (`accept_plain_sql.py`) leaves out is not written: `accept.py` accepts or
refuses it. So this module has no errors of its own, and remembers nothing that could be out of date.

With `wait`, a channel whose head was locked, or has changed, is locked by a statement of its own before another try.

The JSON of an event is the one of `model/event`: it is rendered once per channel and sender with placeholders in the
place of the values, and PostgreSQL fills them in. The answer that is stored under a key is rendered with a placeholder
in the place of the message's id.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain
from typing import Any
from uuid import UUID, uuid4

import msgspec

from gatepost.compute import in_parts
from gatepost.model import ids, times
from gatepost.model.event import ChannelRef
from gatepost.model.event.chats import ChatCreated
from gatepost.model.event.contacts import ContactCreated, contact_fields
from gatepost.model.event.messages import MessageCreated
from gatepost.model.number_forms import other_form
from gatepost.model.window import WINDOW
from gatepost.store.channel_head import fetch_with_heads
from gatepost.store.messages.accept import AcceptResult, quota_of
from gatepost.store.messages.accept_plain_sql import accept_sql
from gatepost.store.messages.event_forms import EVENT_ID, NOW, SEQUENCE, as_form, form_at
from gatepost.store.messages.submission import Submission
from gatepost.store.pool import Database
from gatepost.store.quota import Quota, QuotaSlice, covers, refill
from gatepost.store.statement import SEPARATOR, statement


class NotPlain(Exception):
    """The message was not written: `accept.py` accepts or refuses it."""


PlainOutcome = AcceptResult | NotPlain
Batches = Mapping[UUID, Sequence[Submission]]


def is_plain(submission: Submission) -> bool:
    """Whether a message can be accepted here, as far as it is known without the database."""
    message = submission.message
    return not (
        message.reply_to
        or message.target
        or message.media_ids
        or message.template
        or message.send_at
        or message.contact
        or (message.client_ref and SEPARATOR in message.client_ref)
    )


class _LockedHead(msgspec.Struct, frozen=True):
    """A channel after the statement."""

    before: UUID | None  # the id before those of the written messages; None: nothing is written
    known: int  # messages that are written if the quota slice is large enough
    left_out: Sequence[int]  # the others, by their places in the batch
    to_new: Sequence[int]  # the messages whose recipient became a contact by this statement
    held: QuotaSlice


async def accept_plain(
    db: Database, batches: Batches, now: datetime, *, wait: bool = False, new_people: bool = False
) -> dict[UUID, list[PlainOutcome]]:
    """Accept plain messages in one commit. Without `new_people`, messages to people who are no contacts are left out.

    A channel is missing in the result if its head is locked, or if its quota slice is too small. If nothing can be
    written because of that, slices are refilled first. There is at most one commit, so that an error applies to all.
    With a single channel it can `wait` for the lock; then none is missing.
    """
    write = partial(write_plain, db, now=now, wait=wait, new_people=new_people)
    heads = await write(batches)
    short = [id_ for id_, head in heads.items() if not covers(quota_of(batches[id_], now), head.held, head.known)]
    if short and not any(head.before for head in heads.values()):
        refilled = [id_ for id_ in short if await _refill(db, id_, quota_of(batches[id_], now), heads[id_])]
        if refilled:
            heads |= await write({id_: batches[id_] for id_ in refilled})
        short = []
    outcomes: dict[UUID, list[PlainOutcome]] = {}
    for channel_id, batch in batches.items():
        head = heads.get(channel_id)
        if head is not None and head.before is not None:
            outcomes[channel_id] = await _outcomes(batch, head, head.before.int, now)
        elif wait or (head is not None and channel_id not in short):
            outcomes[channel_id] = [NotPlain() for _ in batch]
    return outcomes


async def _refill(db: Database, channel_id: UUID, quota: Quota, head: _LockedHead) -> bool:
    return await refill(db, channel_id, quota, head.held, head.known)


async def write_plain(
    db: Database, batches: Batches, now: datetime, *, wait: bool, new_people: bool
) -> dict[UUID, _LockedHead]:
    """Run the statement, and wake the owners of the channels. Return the heads that it has locked."""
    submissions = list(chain.from_iterable(batches.values()))
    keyed = any(s.key for s in submissions)
    keys = _keys(submissions, await in_parts(partial(_answer_form, now), submissions)) if keyed else {}
    people = _people(batches, now) if new_people else {}
    prepared = statement(accept_sql(keyed, new_people), **_values(batches, now), **keys, **people)
    heads = {}
    for channel_id, before, known, left_out, to_new, *held in await fetch_with_heads(
        db, prepared, next(iter(batches)) if wait else None
    ):
        heads[channel_id] = _LockedHead(before, known, left_out or (), to_new or (), QuotaSlice(*held))
        if before is not None:
            db.notify(channel_id, tasks=False)
    return heads


async def _outcomes(batch: Sequence[Submission], head: _LockedHead, before: int, now: datetime) -> list[PlainOutcome]:
    """Return the answers of the written messages. Their ids follow each other, in the order of the batch."""
    written = [s for place, s in enumerate(batch, 1) if place not in head.left_out] if head.left_out else batch
    new_ids = range(before + 1, before + 1 + len(written))
    answers = iter(await in_parts(lambda s, id_: s.sender.answer(s.message, UUID(int=id_), now), written, new_ids))
    left_out, to_new = frozenset(head.left_out), frozenset(head.to_new)
    return [
        NotPlain() if place in left_out else AcceptResult(next(answers), new_contact=place in to_new)
        for place, _ in enumerate(batch, 1)
    ]


def _values(batches: Batches, now: datetime) -> dict[str, Any]:
    """Return the parameters of the statement. A column of messages is one text: arrays cost more to encode."""
    submissions = list(chain.from_iterable(batches.values()))
    messages = [submission.message for submission in submissions]
    forms: dict[tuple[ChannelRef, str | None], int] = {}
    for s in submissions:
        forms.setdefault((s.sender.channel, s.sender.sent_by), len(forms) + 1)
    return {
        "now": now,
        "month": times.month_of(now),
        "opened_after": now - WINDOW,
        "channel_ids": list(batches),
        "sizes": [len(batch) for batch in batches.values()],
        "limits": [quota_of(batch, now).limit for batch in batches.values()],
        # The ids before the first new ones, if the channel has no later one
        "new_ids": ids.new_ids(now, len(batches)),
        "new_event_ids": ids.new_ids(now, len(batches)),
        "forms": [event_form(channel, sender, now) for channel, sender in forms],
        "senders": [sender for _, sender in forms],
        "numbers": ",".join([str(number) for number, batch in enumerate(batches.values(), 1) for _ in batch]),
        "places": ",".join([str(place) for batch in batches.values() for place in range(1, len(batch) + 1)]),
        "phones": ",".join([message.phone for message in messages]),
        "types": ",".join([message.type for message in messages]),
        "contents": SEPARATOR.join([message.content for message in messages]),
        "client_refs": SEPARATOR.join([message.client_ref or "" for message in messages]),
        "lives": ",".join([str(message.ttl) for message in messages]),
        "fails_unknown": ",".join(["t" if message.fail_unknown else "f" for message in messages]),
        "bulk": ",".join(["t" if message.bulk else "f" for message in messages]),
        "windows": ",".join(["t" if s.window else "f" for s in submissions]),
        "form_numbers": ",".join([str(forms[s.sender.channel, s.sender.sent_by]) for s in submissions]),
    }


def _keys(submissions: Sequence[Submission], answers: Sequence[str]) -> dict[str, Any]:
    """Return the parameters for Idempotency-Keys. Of messages with the same key, only the first can be new."""
    seen: set[tuple[ChannelRef, str, str]] = set()
    repeated = []
    for s in submissions:
        place = (s.sender.channel, s.key.route, s.key.key) if s.key else None
        repeated.append("t" if place in seen else "f")
        if place:
            seen.add(place)
    return {
        "routes": SEPARATOR.join([s.key.route if s.key else "" for s in submissions]),
        "keys": SEPARATOR.join([s.key.key if s.key else "" for s in submissions]),
        "hashes": ",".join([s.key.body_hash.hex() if s.key else "" for s in submissions]),
        "repeated": ",".join(repeated),
        "answers": SEPARATOR.join(answers),
        "answer_id": _ANSWER_ID,
    }


def _people(batches: Batches, now: datetime) -> dict[str, Any]:
    """Return the parameters for recipients that may become contacts: an id for each of them.

    Two forms of one number are one person. If a batch has both, messages to the second one make no contact, and are
    left out unless it is a contact already.
    """
    new_contacts, others = [], []
    for batch in batches.values():
        made: dict[str, str] = {}
        for submission in batch:
            phone = submission.message.phone
            other = other_form(phone)
            if phone not in made:
                made[phone] = "" if other in made else ids.new_id(now).hex
            new_contacts.append(made[phone])
            others.append(other or "")
    forms = [_person_forms(batch[-1].sender.channel) for batch in batches.values()]
    return {
        "new_contacts": ",".join(new_contacts),
        "others": ",".join(others),
        "contact_forms": [form_at(now, contact) for contact, _ in forms],
        "chat_forms": [form_at(now, chat) for _, chat in forms],
    }


def _answer_form(now: datetime, submission: Submission) -> str:
    """Return the answer to store under the key of a message. In the place of its id it has `_ANSWER_ID`."""
    return submission.sender.answer(submission.message, _MESSAGE_ID, now).decode() if submission.key else ""


# -- the JSON of an event ----------------------------------------------------------------------------------------------

# Like those of `event_forms.py`, unknown outside of the process
_MESSAGE_ID, _CONTACT_ID = uuid4(), uuid4()
_ANSWER_ID = ids.message_id(_MESSAGE_ID)
_PHONE, _TYPE, _CONTENT, _NAME, _CLIENT_REF = (uuid4().hex for _ in range(5))


def event_form(channel: ChannelRef, sent_by: str | None, now: datetime) -> str:
    """Return the event of a plain message as a template of PostgreSQL's `format`."""
    return form_at(now, _event_form(channel, sent_by))


@lru_cache(1024)
def _event_form(channel: ChannelRef, sent_by: str | None) -> str:
    """Return the event of a plain message as a template of PostgreSQL's `format`. Its time is still `NOW`."""
    data = MessageCreated.of(
        id_=_MESSAGE_ID,
        phone=_PHONE,
        contact_id=_CONTACT_ID,
        name=_NAME,
        incoming=False,
        type_=_TYPE,
        content=f'"{_CONTENT}"',
        timestamp=NOW,
        reply_to=None,
        client_ref=_CLIENT_REF,
        sent_by=sent_by,
    )
    return as_form(data, channel, _PLACES)


@lru_cache(1024)
def _person_forms(channel: ChannelRef) -> tuple[str, str]:
    """Return the events of a new contact and of its conversation, in the same way."""
    person = (_CONTACT_ID, _PHONE, None)
    contact = ContactCreated(*contact_fields(*person), times.format_time(NOW))
    chat = ChatCreated.of(*person, NOW)
    return as_form(contact, channel, _PERSON_PLACES), as_form(chat, channel, _PERSON_PLACES)


_PLACES = (  # in the order of the arguments of `format`
    EVENT_ID.hex,
    str(SEQUENCE),
    _PHONE,
    _ANSWER_ID,
    _TYPE,
    f'"{_CONTENT}"',
    _CONTACT_ID.hex,
    f'"{_NAME}"',
    f'"{_CLIENT_REF}"',
)
_PERSON_PLACES = (EVENT_ID.hex, str(SEQUENCE), _PHONE, _CONTACT_ID.hex)
