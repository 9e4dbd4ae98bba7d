"""The progress of messages: sent, delivered, read, played. One commit for several channels.

    results "sent" of our sends ─┐
    statuses of the network     ─┴─► heads locked ─► messages locked ─► who moves forward ─► messages, events,
                                                                                             deliveries, heads

This is one statement, in a shorter form if no message has several reports. It is for the plain case, which nearly all
results and statuses are: nothing failed, and each message is found by our own id. `mark_results` and `receive_updates`
do everything else, and everything that this statement leaves out: a channel is left out as a whole, with nothing
written, if

- its head is locked, or was changed since the statement began,
- its owner has changed, or a status waits for one of its messages to be known (`parked_statuses`),
- one of the messages is not found, or is a reaction that was not sent until now, or a recipient's number, as the
  network writes it, is not an address of the message's contact yet.

Because a changed head is left out, the statement sees everything that was committed before it had the lock. Every
transaction that changes what it reads also changes the head, by its events or by `renew_reads`. With `wait`, a channel
whose head was left out is locked by a statement of its own first.

Heads are locked in the order of the channels, and messages in key order. A head is locked by its own look-up, and the
result is one row of arrays, so that no step of the statement compares all channels of a batch with each other.

A message is looked up by an array of its id. With the id itself, PostgreSQL would choose the partition of each message
while the statement runs. That fails in version 18 as soon as the statement finds any row that was changed since it
began: it finds no further messages, or crashes. The row that was found is then updated by its place (`ctid`), because
the planner may prefer reading a range of messages to an array. The place of a message that was changed since the
statement began cannot be used: the message counts as not found.

Among these states, `may_follow` is "greater than the current state, which is not final". Events are numbered from the
head, and their text is the one of `render` with the values left open (`_form`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event import ACKNOWLEDGE, ChannelRef
from gatepost.model.event.acknowledgements import AckMessage
from gatepost.model.event.parts import MessageKey
from gatepost.model.message import ACK, STATUS, State
from gatepost.model.person import LID, USER
from gatepost.model.phone import SUFFIX
from gatepost.store.channel_head import fetch_with_heads
from gatepost.store.messages.event_forms import EVENT_ID, SEQUENCE, as_form, form_at
from gatepost.store.pool import Database
from gatepost.store.statement import GROUP_SEPARATOR, SEPARATOR, json_text, next_id, statement

STEPS = (State.SENT, State.DELIVERED, State.READ, State.PLAYED)


class ProgressReport(Protocol):
    """What results and statuses have in common."""

    @property
    def message_id(self) -> UUID | None: ...
    @property
    def state(self) -> State: ...
    @property
    def network_id(self) -> str | None: ...
    @property
    def error(self) -> dict[str, Any] | None: ...
    @property
    def details(self) -> dict[str, Any] | None: ...


def is_progress(report: ProgressReport) -> bool:
    """Return whether a report is of the plain kind."""
    name = report.network_id
    return bool(report.state in STEPS and report.message_id and report.error is None and name and name.isprintable())


class ChannelProgress(msgspec.Struct, frozen=True):
    """The reports of one channel: with the owner's epoch they are results, without it statuses of the network."""

    channel: ChannelRef
    reports: Sequence[ProgressReport]
    epoch: int | None = None
    aliases: Sequence[str | None] = ()  # of each result: the recipient's number as the network writes it, if it differs


async def write_progress(
    db: Database, batches: Mapping[UUID, ChannelProgress], now: datetime, *, wait: bool
) -> dict[UUID, list[State]]:
    """Write plain reports with their events. Return the state of each message, in order, of the channels written.

    `wait` for the lock only with a single channel.
    """
    channel_ids = sorted(batches)
    orders = [_by_key(batches[channel_id].reports) for channel_id in channel_ids]
    each = [_values(batches[id_], order, now) for id_, order in zip(channel_ids, orders, strict=True)]
    values = {name: _join_lists(column) for name, column in zip(_COLUMNS, zip(*each, strict=True), strict=True)}
    prepared = statement(
        _SQL_REPEATED if values["earlier"] else _SQL,
        channel_ids=channel_ids,
        starts=ids.new_ids(now, len(channel_ids)),
        **values,
        first=UUID(hex=min(order[0][0] for order in orders)),
        last=UUID(hex=max(order[-1][0] for order in orders)),
        now=now,
    )
    rows = await fetch_with_heads(db, prepared, channel_ids[0] if wait else None)
    if not rows or rows[0]["numbers"] is None:
        return {}
    written: dict[UUID, list[State]] = {}
    emits = dict(zip(rows[0]["numbers"], rows[0]["emits"], strict=True))
    states = iter(rows[0]["states"])
    for number, emitted in emits.items():
        channel_id, order = channel_ids[number - 1], orders[number - 1]
        if emitted:
            db.notify(channel_id, sending=False, tasks=False)
        reached = written[channel_id] = [State.QUEUED] * len(order)
        for (_, place), state in zip(order, states, strict=False):
            reached[place] = State(state)
    return written


def _by_key(reports: Sequence[ProgressReport]) -> list[tuple[str, int]]:
    """Return the ids of the messages in key order, each with its report's place."""
    return sorted((report.message_id.hex, place) for place, report in enumerate(reports) if report.message_id)


_COLUMNS = ("epochs", "forms", "counts", "ids", "states", "earlier", "network_ids", "aliases", "fields", "pricings")


def _values(batch: ChannelProgress, order: Sequence[tuple[str, int]], now: datetime) -> tuple[str, ...]:
    """Return the values of one channel, in the order of `_COLUMNS`. A list is one text: an array costs more."""
    reports = [batch.reports[place] for _, place in order]
    detailed = any(report.details for report in reports)
    return (
        "" if batch.epoch is None else str(batch.epoch),
        form_at(now, _form(batch.channel)),
        str(len(reports)),
        SEPARATOR.join([id_ for id_, _ in order]),
        SEPARATOR.join([_DIGIT[report.state] for report in reports]),
        _earlier(order, reports),
        SEPARATOR.join([report.network_id or "" for report in reports]),
        SEPARATOR.join([batch.aliases[place] or "" for _, place in order]) if any(batch.aliases) else "",
        SEPARATOR.join([_fields(report.details) for report in reports]) if detailed else "",
        SEPARATOR.join([_pricing(report.details) for report in reports]) if detailed else "",
    )


def _join_lists(column: Sequence[str]) -> str:
    return GROUP_SEPARATOR.join(column) if any(column) else ""


def _earlier(order: Sequence[tuple[str, int]], reports: Sequence[ProgressReport]) -> str:
    """Return the furthest state that reports before each one in the batch have of its message; "" if none has any."""
    if len({id_ for id_, _ in order}) == len(order):
        return ""
    furthest: dict[str, State] = {}
    earlier = []
    for (id_, _), report in zip(order, reports, strict=True):
        before = furthest.get(id_)
        earlier.append(_DIGIT[before] if before else "")
        furthest[id_] = max(before or report.state, report.state)
    return SEPARATOR.join(earlier)


_DIGIT = {state: str(state.value) for state in STEPS}


def _pricing(details: dict[str, Any] | None) -> str:
    return json_text(details["pricing"]) if details and "pricing" in details else ""


# -- the text of an event ---------------------------------------------------------------------------------------------

# In the order of the arguments of `format`
_MARKS = (EVENT_ID.hex, str(SEQUENCE), '"<jid>"', "<message>", "<status>", '"<ack>"', "<previous>", '"<rest>"')


@lru_cache(1_000)
def _form(channel: ChannelRef) -> str:
    """Return the event of a report as a template of PostgreSQL's `format`."""
    key = MessageKey("<jid>", True, "<message>")
    data = AckMessage(key, "<status>", "<ack>", "<previous>", "<rest>")  # type: ignore[arg-type]
    return as_form(data, channel, _MARKS)


def _fields(details: dict[str, Any] | None) -> str:
    """Return the fields of an event that only some reports have, as they follow the others."""
    if not details:
        return ""
    data = AckMessage.of(id_=ids.ZERO, phone="", state=State.SENT, previous="", client_ref=None, details=details)
    return json_text(data).partition('"client_ref":null')[2][:-1]


def _words(column: str, words: Mapping[State, Any]) -> str:
    return f"CASE {column} {' '.join(f'WHEN {state.value} THEN {word!r}' for state, word in words.items())} END"


_JID = f"""CASE WHEN starts_with(phone, '{LID}') THEN substr(phone, {len(LID) + 1}) || '@lid'
                WHEN starts_with(phone, '{USER}') THEN substr(phone, {len(USER) + 1}) || '@user'
                ELSE phone || '{SUFFIX}' END"""
_BODY = f"""format(form, event_id, seq + n, to_json({_JID}), upper(hex),
                   {_words("state", {state: STATUS[state] for state in STEPS})},
                   {_words("state", {state: str(ACK[state]) for state in STEPS})},
                   {_words("before", {state: STATUS[state] for state in (State.QUEUED, State.SENDING, *STEPS)})},
                   COALESCE(to_json(client_ref)::text, 'null') || COALESCE(fields, ''))"""


# -- the statement ----------------------------------------------------------------------------------------------------


def _event_id(n: str) -> str:
    return next_id("last_event", n)


def _list(name: str) -> str:
    """Return the SQL of a column with a text for each channel; a column without any value is empty."""
    return f"string_to_array(:{name}::text, chr({ord(GROUP_SEPARATOR)}), '')"


_THIS_MESSAGE = """m.channel_id = head.channel_id AND m.id = ANY (string_to_array(i.id, '')::uuid[])
                 AND m.id BETWEEN :first AND :last"""

# What changes in a message. If a batch has several reports of it, they change its row together.
_EACH = """SELECT *, CASE WHEN moves THEN state END AS new_state, ARRAY[event_id::uuid] AS event_ids,
              moves AND state = 2 AS sent, moves AND state = 3 AS delivered, moves AND state = 4 AS read,
              moves AND state = 5 AS played
       FROM step WHERE moves OR unnamed OR pricing IS NOT NULL"""
_TOGETHER = """SELECT part, row_place, bool_or(moves) AS moves, max(state) FILTER (WHERE moves) AS new_state,
              array_agg(event_id::uuid ORDER BY place) FILTER (WHERE moves) AS event_ids,
              bool_or(moves AND state = 2) AS sent, bool_or(moves AND state = 3) AS delivered,
              bool_or(moves AND state = 4) AS read, bool_or(moves AND state = 5) AS played,
              (array_agg(network_id ORDER BY place))[1] AS network_id,
              (array_agg(pricing ORDER BY place DESC) FILTER (WHERE pricing IS NOT NULL))[1] AS pricing
       FROM step GROUP BY part, row_place HAVING bool_or(moves OR unnamed OR pricing IS NOT NULL)"""


# `length(id) = 32` is always true. With it the planner expects one row, and so looks up each message by its key,
# whatever the statistics of the tables say.
def _sql(changes: str) -> str:
    return f"""WITH head AS MATERIALIZED (
           SELECT k.*, h.seq, replace(GREATEST(h.last_event_id, k.start)::text, '-', '') AS last_event,
                  ARRAY(SELECT p.id FROM endpoints p
                        WHERE p.channel_id = k.channel_id AND p.state <> 'disabled'
                          AND '{ACKNOWLEDGE}' = ANY (p.events)) AS endpoint_ids
           FROM unnest(:channel_ids::uuid[], :starts::uuid[], {_list("epochs")}::bigint[], {_list("forms")},
                       {_list("counts")}::int[], {_list("ids")}, {_list("states")}, {_list("earlier")},
                       {_list("network_ids")}, {_list("aliases")}, {_list("fields")}, {_list("pricings")})
                WITH ORDINALITY AS k (channel_id, start, epoch, form, count, ids, states, earlier, network_ids,
                                      aliases, fields, pricings, number)
           CROSS JOIN LATERAL (
               SELECT epoch, seq, last_event_id, ctid AS version
               FROM channel_heads WHERE channel_id = k.channel_id FOR NO KEY UPDATE SKIP LOCKED) h
           WHERE (k.epoch IS NULL OR h.epoch = k.epoch)
             AND h.version = (SELECT b.ctid FROM channel_heads b WHERE b.channel_id = k.channel_id)
           ORDER BY k.number
       ), report AS MATERIALIZED (
           SELECT head.number, head.channel_id, head.epoch, head.seq, head.last_event, head.form, head.count,
                  head.endpoint_ids, i.place, i.id AS hex, i.state::smallint AS state, i.network_id, i.fields,
                  i.pricing, GREATEST(m.current, i.earlier::smallint) AS before, m.*,
                  m.current >= 0 AND i.state::smallint > GREATEST(m.current, i.earlier::smallint) AS moves
           FROM head CROSS JOIN LATERAL unnest(
               string_to_array(head.ids, chr(30)), string_to_array(head.states, chr(30)),
               string_to_array(head.earlier, chr(30), ''), string_to_array(head.network_ids, chr(30)),
               string_to_array(head.aliases, chr(30), ''), string_to_array(head.fields, chr(30), ''),
               string_to_array(head.pricings, chr(30), '')
           ) WITH ORDINALITY AS i (id, state, earlier, network_id, alias, fields, pricing, place)
           CROSS JOIN LATERAL (
               SELECT m.tableoid AS part, m.ctid AS row_place, m.contact_id, m.phone, m.client_ref,
                      m.state AS current, m.network_id IS NULL AS unnamed
               FROM messages m
               WHERE {_THIS_MESSAGE} AND NOT m.incoming AND (m.target_id IS NULL OR m.state >= {State.SENT.value})
               FOR NO KEY UPDATE) m
           WHERE length(i.id) = 32 AND m.row_place = (SELECT m.ctid FROM messages m WHERE {_THIS_MESSAGE} LIMIT 1)
             AND (head.epoch IS NULL OR NOT EXISTS (
                 SELECT 1 FROM parked_statuses p WHERE p.channel_id = head.channel_id
                   AND p.network_id = ANY (string_to_array(head.network_ids, chr(30)))))
             AND (i.alias IS NULL OR m.contact_id = COALESCE(
               (SELECT id FROM contacts WHERE channel_id = head.channel_id AND phone = i.alias LIMIT 1),
               (SELECT contact_id FROM contact_aliases WHERE channel_id = head.channel_id AND alias = i.alias LIMIT 1)))
       ), step AS MATERIALIZED (
           SELECT *, CASE WHEN moves THEN {_event_id("n")} END AS event_id
           FROM (SELECT *, count(*) OVER channel AS found, count(*) FILTER (WHERE moves) OVER channel AS emitted,
                        bool_or(moves AND epoch IS NULL AND current = 0) OVER channel AS settled,
                        count(*) FILTER (WHERE moves) OVER (PARTITION BY number ORDER BY place) AS n
                 FROM report WINDOW channel AS (PARTITION BY number)) r
           WHERE found = count
       ), changed AS (
           UPDATE messages m
           SET state = COALESCE(c.new_state, m.state), network_id = COALESCE(m.network_id, c.network_id),
               next_at = NULL,
               sent_at = COALESCE(m.sent_at, CASE WHEN c.sent THEN :now::timestamptz END),
               delivered_at = COALESCE(m.delivered_at, CASE WHEN c.delivered THEN :now END),
               read_at = COALESCE(m.read_at, CASE WHEN c.read THEN :now END),
               played_at = COALESCE(m.played_at, CASE WHEN c.played THEN :now END),
               pricing = COALESCE(c.pricing, m.pricing),
               event_ids = CASE WHEN c.moves THEN m.event_ids || c.event_ids ELSE m.event_ids END
           FROM ({changes}) c
           WHERE m.tableoid = c.part AND m.ctid = c.row_place AND m.id BETWEEN :first AND :last
       ), ends AS (
           UPDATE channel_heads h SET seq = e.seq + e.n, last_event_id = e.event_id::uuid, work_at = :now,
                                      queue_version = h.queue_version + e.settled::int
           FROM step e WHERE e.moves AND e.n = e.emitted AND h.channel_id = e.channel_id
       ), new AS (
           INSERT INTO events (channel_id, id, seq, type, body, conversation_id)
           SELECT channel_id, event_id::uuid, seq + n, '{ACKNOWLEDGE}', {_BODY}, contact_id FROM step WHERE moves
       ), owed AS (
           INSERT INTO deliveries (channel_id, endpoint_id, event_id)
           SELECT channel_id, unnest(endpoint_ids), event_id::uuid FROM step WHERE moves
       )
       SELECT written.* FROM (
           SELECT array_agg(number) AS numbers, array_agg(emitted > 0) AS emits, array_agg(reached) AS states
           FROM (SELECT number::int, emitted, CASE WHEN current < 0 THEN current WHEN moves THEN state ELSE before END
                          AS reached
                 FROM step ORDER BY number, place) s) written
       WHERE EXISTS (SELECT FROM head)"""


_SQL, _SQL_REPEATED = _sql(_EACH), _sql(_TOGETHER)
