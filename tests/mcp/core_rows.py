"""Many rows of assistants, and every statement about them once."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg

from gatepost.model import ids
from gatepost.model.dates import IdRange, first_id
from gatepost.model.draft import DraftState
from gatepost.model.mcp_call import CallResult, McpCall
from gatepost.model.mcp_policy import Policy
from gatepost.store import drafts
from gatepost.store.drafts import DraftDecision, DraftFilter, NewDraft
from gatepost.store.mcp import calls, conversations, policies
from gatepost.store.mcp.calls import CallFilter, CallRecord
from gatepost.store.mcp.conversations import merge_assistant_rows
from gatepost.store.mcp.facts import KeyAndPerson, read_counts
from gatepost.store.mcp.policies import KeyPolicies
from gatepost.store.pool import Database
from tests.outbound.stage import NOW
from tests.store.query_plans import Explained, Plan

CHANNEL, KEY, CONTACT, OTHER = UUID(int=1), UUID(int=1001), UUID(int=2001), UUID(int=2002)
PHONE = "5511999998888"
DAYS = 90
Note = Callable[[str], None]
_ID = """(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5({salt} || i), 1, 3)
          || 'a' || substr(md5({salt} || i), 4, 15))::uuid"""
_AT = """(SELECT i, $1::timestamptz - (interval '90 days') * ((i::float8 + 0.5) / $2) AS at
          FROM generate_series(0, $2 - 1) i) t"""
_UUID = "lpad(to_hex({}), 32, '0')::uuid"


async def fill_rows(url: str, count: int) -> None:
    """Add calls and drafts of ninety days, of ten channels with four keys each, and reads of the last two hours."""
    conn = await asyncpg.connect(url)
    channel, key, contact = _UUID.format("1 + i % 10"), _UUID.format("1001 + i % 40"), _UUID.format("2001 + i % 5000")
    call_id, draft_id = _ID.format(salt="'call'"), _ID.format(salt="'draft'")
    await conn.execute(
        f"""INSERT INTO mcp_calls (channel_id, id, key_id, at, client, transport, tool, arguments, outcome, contact_id,
                                   ids, fingerprint, answer)
            SELECT {channel}, {call_id}, {key}, at, 'Test 1.0', 'http',
                   (ARRAY['read_conversation', 'search_messages', 'send_text'])[1 + i / 40 % 3], '{{"text":"Hello"}}',
                   CASE WHEN i / 40 % 10 < 8 THEN 'done' WHEN i / 40 % 10 = 8 THEN 'sent'
                        WHEN i / 40 % 30 = 9 THEN 'refused' ELSE 'draft' END,
                   {contact}, '{{}}', decode(md5(i::text), 'hex'), '{{}}' FROM {_AT}""",
        NOW,
        count,
    )
    await conn.execute(
        f"""INSERT INTO drafts (channel_id, id, contact_id, phone, body, state, created_by, key_id, revision,
                                created_at, expires_at, seen_event_id)
            SELECT {channel}, {draft_id}, CASE WHEN i / 10 % 10 > 0 THEN {contact} END,
                   '55119' || lpad((i % 5000)::text, 8, '0'), '{{}}',
                   CASE WHEN i < 5000 THEN 'waiting' ELSE (ARRAY['sent', 'refused', 'expired'])[1 + i / 10 % 3] END,
                   'key||', {key}, 1, at, at + interval '24 hours', {draft_id} FROM {_AT}""",
        NOW,
        count,
    )
    await conn.execute(
        f"""INSERT INTO mcp_reads (channel_id, call_id, contact_id, key_id, read_at)
            SELECT {channel}, gen_random_uuid(), {contact}, {key},
                   $1::timestamptz - interval '2 hours' * (i::float8 / $2)
            FROM generate_series(0, $2 - 1) i""",
        NOW,
        max(count // 10, 1),
    )
    await conn.execute(
        f"""INSERT INTO contacts (channel_id, id, phone, created_at, updated_at)
            SELECT {_UUID.format("1 + i % 10")}, {contact}, '55119' || lpad(i::text, 8, '0'), $1, $1
            FROM generate_series(0, 4999) i""",
        NOW,
    )
    await conn.close()


async def run_all(explained: Explained) -> dict[str, Plan]:
    """Run every statement once, each in a state that it is meant for. Return the plans by name."""
    db, plans = explained
    named: dict[str, Plan] = {}

    def note(name: str) -> None:
        named.update({f"{name} {i}" if i else name: plan for i, plan in enumerate(plans)})
        plans.clear()

    await _add_channel(db)
    plans.clear()
    await _judge(db, note)
    await _log(db, note)
    await _drafts(db, note)
    await _rest(db, note)
    return named


async def _add_channel(db: Database) -> None:
    await db.execute("INSERT INTO accounts VALUES ($1, '', '', false, $2, $2)", CHANNEL, NOW)
    await db.execute(
        """INSERT INTO channels (id, account_id, kind, phone, name, network, limits, connection, created_at)
           VALUES ($1, $1, '', '', '', '{}', '{}', '', $2)""",
        CHANNEL,
        NOW,
    )


async def _judge(db: Database, note: Note) -> None:
    call = McpCall(ids.new_id(NOW), KEY, NOW, "Test 1.0", "http", "send_text", "{}", b"new")
    async with db.transaction() as conn:
        await calls.find_answers_again(conn, [call], NOW)
        note("judge: same call")
        await policies.read_policies(conn, CHANNEL, [KEY])
        note("judge: policy")
        pairs = [KeyAndPerson(KEY, CONTACT, PHONE, PHONE), KeyAndPerson(KEY, None, PHONE, PHONE)]
        await read_counts(conn, CHANNEL, pairs, KeyPolicies(False, {KEY: Policy()}, {KEY: KEY}), NOW)
        note("judge: facts")
        await drafts.count_waiting(conn, CHANNEL, NOW)
        note("judge: drafts that wait")
        record = CallRecord(call, CallResult("sent", contact_id=CONTACT, ids=("x",)), frozenset({CONTACT, OTHER}))
        await calls.insert_calls(conn, CHANNEL, [record])
        note("write: call with two reads")
        new = NewDraft(
            ids.new_id(NOW), CONTACT, PHONE, "{}", "key||", KEY, None, None, NOW, NOW + timedelta(days=1), ids.ZERO
        )
        await drafts.insert_drafts(conn, CHANNEL, [new])
        note("write: draft")
        await drafts.decide_drafts(conn, CHANNEL, [DraftDecision(new.id, "refused", None)], NOW)
        note("write: decision")


async def _log(db: Database, note: Note) -> None:
    span = IdRange(first_id(NOW - timedelta(days=60)), first_id(NOW - timedelta(days=30)))
    filters = {
        "all": CallFilter(),
        "time": CallFilter(span),
        "key": CallFilter(key_id=KEY),
        "tool": CallFilter(tool="send_text"),
        "outcome": CallFilter(outcome="refused"),
        "conversation": CallFilter(contact_id=CONTACT),
        "conversation and time": CallFilter(span, contact_id=CONTACT),
        "done": CallFilter(outcome="done"),
    }
    for name, filter_ in filters.items():
        await calls.list_calls(db, CHANNEL, before=None, limit=50, filter_=filter_)
        note(f"log: {name}")


async def _drafts(db: Database, note: Note) -> None:
    states: tuple[DraftState | None, ...] = (None, "waiting", "sent", "refused", "expired")
    for state in states:
        for contact_id in (None, CONTACT):
            filter_ = DraftFilter(state, contact_id)
            found = await drafts.list_drafts(db, CHANNEL, before=None, limit=50, now=NOW, filter_=filter_)
            note(f"drafts: {state}{' of a conversation' if contact_id else ''}")
            if found:
                await drafts.get_draft(db, CHANNEL, found[0].id, NOW)
                note("drafts: one")


async def _rest(db: Database, note: Note) -> None:
    async with db.transaction() as conn:
        await conversations.insert_handover(conn, CHANNEL, CONTACT, KEY, "x", NOW)
        await conversations.list_handovers(conn, CHANNEL, CONTACT)
        note("hand-overs")
        await merge_assistant_rows(conn, CHANNEL, OTHER, CONTACT)
        note("merge")
        await policies.read_label_rules(conn, CHANNEL)
        note("labels of policies")
        await policies.copy_to_key(conn, CHANNEL, UUID(int=1041), uuid4())
        note("rotation")
    await calls.forget_calls(db, NOW, DAYS)
    await drafts.forget_drafts(db, NOW, DAYS)
    await drafts.expire_drafts(db, NOW - timedelta(days=DAYS))
    await conversations.forget_reads(db, NOW)
    note("housekeeping")
