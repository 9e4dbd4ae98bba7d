"""The statement that accepts plain messages (`accept_plain.py`). It does what `accept.py` does for them:

    given     the messages of the batches, in columns of text
    known     those whose recipient is a contact (in bulk: who wants marketing), whose customer-service window is open
              if they need one, and whose Idempotency-Key is new
    head      the channels' heads, locked without waiting
    chosen    the heads whose quota slice is large enough for their known messages
    fresh     the known messages of these channels, with the next ids and sequence numbers
    and then  the rows of messages, keys, conversations, events, deliveries and heads

With `new_people`, a recipient that is no contact becomes one: its first message in `fresh` makes it, with a
conversation, an alias for the other form of its number, and two events before that of the message.

The statement leaves out a head that is locked or was changed since the statement began. So it reads contacts and
endpoints as they are under the lock, and does not update an old version of a row that it has locked in a newer one:
PostgreSQL would wait there for everyone who waits for this row, and call it a deadlock.
"""

from functools import cache

from gatepost.model.event import CHAT, CONTACT, MESSAGE
from gatepost.store.statement import next_id


def _next_id(before: str, nth: str) -> str:
    return next_id(f"replace({before}::text, '-', '')", nth)


# What the statement has in addition if there are Idempotency-Keys; without them, it takes a tenth less time to start.
_KEY_VALUES = """,
                   string_to_array(:routes, E'\\x1e', ''), string_to_array(:keys, E'\\x1e', ''),
                   string_to_array(:hashes, ',', ''), string_to_array(:repeated, ',')::boolean[],
                   string_to_array(:answers, E'\\x1e', '')"""
_KEY_NAMES = ", route, key, body_hash, repeated, answer"
_KEY_IS_NEW = """AND (g.key IS NULL OR (NOT g.repeated AND (
             SELECT i.key FROM idempotency_keys i
             WHERE i.channel_id = g.channel_id AND i.route = g.route AND i.key = g.key) IS NULL))"""
_KEY_ROWS = """, keyed AS (
       INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
       SELECT channel_id, route, key, decode(body_hash, 'hex'),
              convert_to(replace(answer, :answer_id, upper(id)), 'UTF8'), :now::timestamptz
       FROM fresh WHERE key IS NOT NULL
   )"""


# A message to a contact, and one to a person who may be none.
def contact_sql(channel_id: str) -> str:
    """Return the join with the contact that a number in `g.phone` belongs to."""
    return f"""CROSS JOIN LATERAL (
           SELECT id, name, given_name, opted_out FROM contacts WHERE channel_id = {channel_id} AND phone = g.phone
           UNION ALL
           SELECT p.* FROM contact_aliases a CROSS JOIN LATERAL (
               SELECT id, name, given_name, opted_out FROM contacts
               WHERE channel_id = {channel_id} AND id = a.contact_id LIMIT 1) p
           WHERE a.channel_id = {channel_id} AND a.alias = g.phone
           LIMIT 1) c"""


_CONTACT = contact_sql("g.channel_id")
_CONTACT_OR_NEW = f"{_CONTACT.replace('CROSS', 'LEFT', 1)} ON true"
_NUMBERED = "NOT MATERIALIZED (SELECT *, nth AS event_nth FROM known)"
_NUMBERED_WITH_NEW = """MATERIALIZED (
       SELECT *, nth + 2 * count(*) FILTER (WHERE makes) OVER (PARTITION BY number ORDER BY place) AS event_nth
       FROM (SELECT *, new AND row_number() OVER (PARTITION BY number, contact_id ORDER BY place) = 1 AS makes
             FROM known) k)"""
_NEW_PEOPLE_VALUES = """,
                   string_to_array(:new_contacts, ',', '')::uuid[], string_to_array(:others, ',', '')"""
_NEW_PEOPLE_ROWS = """, person AS (
       INSERT INTO contacts (channel_id, id, phone, created_at, updated_at)
       SELECT channel_id, contact_id, phone, :now::timestamptz, :now::timestamptz FROM fresh WHERE makes
   ), conversation AS (
       INSERT INTO conversations (channel_id, contact_id, created_at, last_message_id)
       SELECT channel_id, contact_id, :now::timestamptz, id::uuid FROM last WHERE new
   ), form AS (
       INSERT INTO contact_aliases (channel_id, alias, contact_id)
       SELECT channel_id, other, contact_id FROM fresh WHERE makes AND other IS NOT NULL
       ON CONFLICT DO NOTHING
   )"""

_TO_NEW = "ARRAY(SELECT f.place FROM fresh f WHERE f.channel_id = h.channel_id AND f.new)"


def _events_of_new(before: int, type_: str, forms: str) -> str:
    """Return the SQL of an event of each new person, so many before the event of the message."""
    return f"""UNION ALL
       SELECT channel_id, id::uuid, seq, '{type_}',
              format((:{forms}::text[])[number], id, seq, phone, replace(contact_id::text, '-', '')),
              contact_id, NULL::uuid
       FROM (SELECT channel_id, number, phone, contact_id, seq - {before} AS seq,
                    {_next_id("event_before", f"event_nth - {before}")} AS id FROM fresh WHERE makes) p"""


@cache
def accept_sql(keyed: bool, new_people: bool) -> str:
    """Return the statement: a row for each head that it has locked."""
    return f"""WITH given AS MATERIALIZED (
       SELECT (:channel_ids::uuid[])[number] AS channel_id, *
       FROM unnest(string_to_array(:numbers, ',')::int[], string_to_array(:places, ',')::int[],
                   string_to_array(:phones, ','), string_to_array(:types, ','),
                   string_to_array(:contents, E'\\x1e'), string_to_array(:client_refs, E'\\x1e', ''),
                   string_to_array(:lives, ',')::int[], string_to_array(:fails_unknown, ',')::boolean[],
                   string_to_array(:bulk, ',')::boolean[], string_to_array(:windows, ',')::boolean[],
                   string_to_array(:form_numbers, ',')::int[]{_KEY_VALUES if keyed else ""}
                   {_NEW_PEOPLE_VALUES if new_people else ""})
         AS g (number, place, phone, type, content, client_ref, life, fail_unknown, bulk, window_needed, form
               {_KEY_NAMES if keyed else ""}{", new_contact, other" if new_people else ""})
   ), known AS MATERIALIZED (
       SELECT g.*, {"COALESCE(c.id, g.new_contact)" if new_people else "c.id"} AS contact_id, c.id IS NULL AS new,
              COALESCE(c.given_name, c.name) AS name, row_number() OVER (PARTITION BY g.number ORDER BY g.place) AS nth
       FROM given g {_CONTACT_OR_NEW if new_people else _CONTACT}
       WHERE (NOT g.bulk OR c.opted_out IS NULL)
         AND (NOT g.window_needed OR (SELECT v.last_in_at > :opened_after FROM conversations v
                                      WHERE v.channel_id = g.channel_id AND v.contact_id = c.id))
         {"AND COALESCE(c.id, g.new_contact) IS NOT NULL" if new_people else ""}
         {_KEY_IS_NEW if keyed else ""}
   ), numbered AS {_NUMBERED_WITH_NEW if new_people else _NUMBERED}, counted AS MATERIALIZED (
       SELECT number, channel_id, count(*), max(event_nth) AS events FROM numbered GROUP BY number, channel_id
   ), head AS MATERIALIZED (
       SELECT * FROM (
           SELECT channel_id, seq, last_event_id, last_message_id, slice_month, slice_limit, slice_left, ctid AS version
           FROM channel_heads WHERE channel_id = ANY (:channel_ids::uuid[]) FOR NO KEY UPDATE SKIP LOCKED) h
       WHERE h.version = (SELECT b.ctid FROM channel_heads b WHERE b.channel_id = h.channel_id)
   ), chosen AS MATERIALIZED (
       SELECT h.channel_id, h.seq, k.count, k.events,
              GREATEST(h.last_message_id, (:new_ids::uuid[])[k.number]) AS message_before,
              GREATEST(h.last_event_id, (:new_event_ids::uuid[])[k.number]) AS event_before
       FROM head h JOIN counted k ON k.channel_id = h.channel_id
       WHERE h.slice_month = :month AND h.slice_limit = (:limits::bigint[])[k.number] AND h.slice_left >= k.count
   ), fresh AS MATERIALIZED (
       SELECT k.*, c.event_before, c.seq + k.event_nth AS seq, {_next_id("c.message_before", "k.nth")} AS id,
              {_next_id("c.event_before", "k.event_nth")} AS event_id
       FROM numbered k JOIN chosen c ON c.channel_id = k.channel_id
   ), last AS (
       SELECT DISTINCT ON (channel_id, contact_id) channel_id, contact_id, id, new FROM fresh
       ORDER BY channel_id, contact_id, nth DESC
   ), message AS (
       INSERT INTO messages (incoming, state, created_at, channel_id, id, contact_id, phone, type, content, bulk,
                             fail_unknown, client_ref, expires_at, sent_by, event_ids)
       SELECT false, 0, :now::timestamptz, channel_id, id::uuid, contact_id, phone, type, content, bulk,
              fail_unknown, client_ref, :now::timestamptz + make_interval(secs => life), (:senders::text[])[form],
              ARRAY[event_id::uuid]
       FROM fresh
   ){_KEY_ROWS if keyed else ""}{_NEW_PEOPLE_ROWS if new_people else ""}, newest AS (
       UPDATE conversations v SET last_message_id = GREATEST(v.last_message_id, t.id::uuid)
       FROM last t WHERE NOT t.new AND v.channel_id = t.channel_id AND v.contact_id = t.contact_id
   ), logged AS {"" if new_people else "NOT"} MATERIALIZED (
       SELECT channel_id, event_id::uuid AS id, seq, '{MESSAGE}' AS type,
              format((:forms::text[])[form], event_id, seq, phone, upper(id), type, content,
                     replace(contact_id::text, '-', ''), COALESCE(to_json(name)::text, 'null'),
                     COALESCE(to_json(client_ref)::text, 'null')) AS body,
              contact_id AS conversation_id, id::uuid AS message_id
       FROM fresh
       {_events_of_new(2, CONTACT, "contact_forms") if new_people else ""}
       {_events_of_new(1, CHAT, "chat_forms") if new_people else ""}
   ), event AS (
       INSERT INTO events (channel_id, id, seq, type, body, conversation_id, message_id)
       SELECT * FROM logged
   ), endpoint AS MATERIALIZED (
       SELECT channel_id, id, events FROM endpoints
       WHERE channel_id = ANY (:channel_ids::uuid[]) AND state <> 'disabled'
   ), delivery AS (
       INSERT INTO deliveries (channel_id, endpoint_id, event_id)
       SELECT l.channel_id, e.id, l.id FROM logged l JOIN endpoint e ON e.channel_id = l.channel_id
       WHERE l.type = ANY (e.events)
   ), changed AS (
       UPDATE channel_heads h
       SET seq = c.seq + c.events, work_at = :now::timestamptz, slice_left = h.slice_left - c.count,
           last_event_id = {_next_id("c.event_before", "c.events")}::uuid,
           last_message_id = {_next_id("c.message_before", "c.count")}::uuid
       FROM chosen c WHERE h.channel_id = c.channel_id
   )
   SELECT h.channel_id, c.message_before, COALESCE(k.count, 0),
          CASE WHEN k.count = (:sizes::int[])[k.number] THEN NULL ELSE ARRAY(
              SELECT g.place FROM given g WHERE g.channel_id = h.channel_id
              EXCEPT SELECT k.place FROM known k WHERE k.channel_id = h.channel_id) END,
          {_TO_NEW if new_people else "NULL"},
          h.slice_month, h.slice_limit, h.slice_left
   FROM head h LEFT JOIN counted k ON k.channel_id = h.channel_id LEFT JOIN chosen c ON c.channel_id = h.channel_id"""
