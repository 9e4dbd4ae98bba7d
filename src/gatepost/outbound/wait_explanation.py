"""Why a message has not left yet, and until when: computed on request, on any node.

scheduled? sending? its own back-off?   the message's own row
no owner? not connected? back-off?      the channel's head, where its owner writes why it waits
a message ahead in the conversation?    its row
a conversation to be opened?            the conversation, and the head
pair limit?                             when the last ones were sent, by the rule that the owner uses
the rest                                the messages ahead, and the throughput
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, waits
from gatepost.model.message import State
from gatepost.model.waits import Wait
from gatepost.outbound import pace
from gatepost.store.messages.history import StoredMessage
from gatepost.store.messages.queue import COUNTED, MessageAhead, WaitFacts, count_ahead, read_wait_facts
from gatepost.store.pool import Database

_UNTAKEN = timedelta(seconds=5)  # after which a channel without an owner is a reason


async def explain_wait(db: Database, channel_id: UUID, message: StoredMessage, now: datetime) -> Wait | None:
    """The rule that holds a message back at the moment; None when it waits no more."""
    if message.incoming or message.state not in (State.QUEUED, State.SENDING):
        return None
    known = _explain_by_row(message, now)
    if known is not None:
        return known
    facts = await read_wait_facts(db, channel_id, message, now)
    known = explain_by_facts(message, facts, now)
    if known is not None:
        return known
    shown = _pace(facts)
    ahead = await count_ahead(db, channel_id, message) if message.send_at is None else int(shown.get("queued", 0))
    return _explain_by_throughput(ahead, shown.get("throughput", {}).get("limit"), now)


def _explain_by_row(message: StoredMessage, now: datetime) -> Wait | None:
    """What the message's own row says."""
    if message.state is State.SENDING:
        return Wait(waits.UNKNOWN, message.next_at) if message.next_at else Wait(waits.SENDING)
    if message.send_at is not None and message.send_at > now:
        return Wait(waits.SCHEDULED, message.send_at)
    if message.next_at is not None and message.next_at > now:
        return Wait(waits.RETRY, message.next_at)
    return None


def explain_by_facts(message: StoredMessage, facts: WaitFacts, now: datetime) -> Wait | None:
    """What the channel and the conversation say; None: nothing but the messages ahead."""
    shown = _pace(facts)
    if not facts.owned and now - max(message.created_at, message.send_at or message.created_at) > _UNTAKEN:
        return Wait(waits.NO_WORKER)
    held = _current_wait(shown.get("waiting"), now)
    if held is not None and held.rule in (waits.NOT_CONNECTED, waits.HOLD):
        return held
    line = sorted((one for one in facts.line if one.id != message.id), key=_turn)
    before = [one for one in line if _turn(one) < _turn(message)]
    ahead = _explain_by_order(line, before, now)
    if ahead is not None:
        return ahead
    if pace.opens_conversation(facts.last_in_at, facts.opened_at, now):
        no_new = _current_wait(shown.get("new"), now)
        if no_new is not None:
            return no_new
    return _explain_by_pair_limit(shown.get("pair") or {}, facts.sent, len(before), now)


def _pace(facts: WaitFacts) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(facts.pace)
    return found


def _current_wait(shown: dict[str, Any] | None, now: datetime) -> Wait | None:
    """The wait that the owner wrote, unless it is over: the owner writes twice a second at most."""
    if shown is None or "rule" not in shown:
        return None
    until = datetime.fromisoformat(shown["until"]) if shown["until"] else None
    return Wait(shown["rule"], until, because=shown["because"]) if until is None or until > now else None


def _turn(one: MessageAhead | StoredMessage) -> tuple[bool, datetime, UUID]:
    """The order of a conversation: chat before bulk, then by the time of arrival or schedule."""
    return one.bulk, one.send_at or ids.time_of(one.id), one.id


def _explain_by_order(line: Sequence[MessageAhead], before: Sequence[MessageAhead], now: datetime) -> Wait | None:
    """One message of a conversation is in flight at a time, and the first one that waits delays the others."""
    for one in line:
        if one.state is State.SENDING:
            return Wait(waits.UNKNOWN, one.next_at, one.id) if one.next_at else Wait(waits.SENDING, None, one.id)
    first = before[0] if before else None
    if first is not None and first.next_at is not None and first.next_at > now:
        return Wait(waits.RETRY, first.next_at, first.id)
    return None


def _explain_by_pair_limit(shown: dict[str, Any], sent: Sequence[datetime], before: int, now: datetime) -> Wait | None:
    seconds, burst = shown.get("seconds") or 0.0, shown.get("burst") or 1
    free = pair_free(sent, seconds, burst, before, now) if seconds > 0 else now
    return Wait(waits.PAIR, free, because=waits.pair_words(seconds, burst)) if free > now else None


def pair_free(sent: Sequence[datetime], seconds: float, burst: int, before: int, now: datetime) -> datetime:
    """When one more may be sent to a person who got messages at these times, after `before` others."""
    started = due = 0.0
    for at in sent:
        wait, begun, paid = pace.space_with_burst(started, due, at.timestamp(), seconds, burst)
        started, due = (at.timestamp(), at.timestamp() + seconds) if wait else (begun, paid)
    moment = now.timestamp()
    for _ in range(before + 1):
        wait, started, due = pace.space_with_burst(started, due, moment, seconds, burst)
        if wait:
            moment = due
            _, started, due = pace.space_with_burst(started, due, moment, seconds, burst)
    return now + timedelta(seconds=moment - now.timestamp())


def _explain_by_throughput(ahead: int, rate: float | None, now: datetime) -> Wait:
    if not ahead or not rate:
        return Wait(waits.QUEUE)
    because = waits.throughput_words(rate, ahead, more=ahead >= COUNTED)
    return Wait(waits.THROUGHPUT, now + timedelta(seconds=ahead / rate), because=because)
