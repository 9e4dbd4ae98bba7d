"""The tables of assistants: policies, calls, reads, hand-overs and drafts."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from gatepost.admin import keys
from gatepost.model import ids
from gatepost.model.account_log import OPERATOR, new_entry
from gatepost.model.dates import IdRange, first_id
from gatepost.model.draft import DraftState
from gatepost.model.mcp_call import ARGUMENTS_MAX, CallResult, McpCall, short_arguments, storable
from gatepost.model.mcp_policy import Policy
from gatepost.store import drafts
from gatepost.store.drafts import DraftDecision, DraftEdit, DraftFilter, NewDraft
from gatepost.store.mcp import calls, conversations, policies
from gatepost.store.mcp.calls import CallFilter, CallRecord
from gatepost.store.mcp.policies import McpStop
from tests.outbound.stage import NOW, Stage

KEY, OTHER = UUID(int=11), UUID(int=12)
ANA, BEA, NEW = "5511999990001", "5511999990002", "5511999990003"
HOUR = timedelta(hours=1)


def call(tool: str = "send_text", key_id: UUID = KEY, fingerprint: bytes | None = None, minutes: int = 0) -> McpCall:
    at = NOW + timedelta(minutes=minutes)
    return McpCall(ids.new_id(at), key_id, at, "Test 1.0", "http", tool, "{}", fingerprint)


async def record(stage: Stage, *records: CallRecord) -> None:
    async with stage.db.transaction() as conn:
        await calls.insert_calls(conn, stage.channel_id, records)


async def contact_of(stage: Stage, phone: str) -> UUID:
    (found,) = [row["id"] for row in await stage.rows("contacts") if row["phone"] == phone]
    return UUID(str(found))


async def test_a_policy_is_saved_for_a_key_of_the_channel(stage: Stage) -> None:
    made = await keys.create_key(stage.db, stage.channel_id, "Assistant", scopes=["mcp"], now=NOW)
    key_id, entry = made.key.id, new_entry(stage.caller.account_id, OPERATOR, "mcp_policy_saved", NOW)
    found = await policies.get_policy(stage.db, stage.channel_id, key_id)
    assert (found.policy, found.updated_at) == (Policy(), None)
    strict = Policy(mode="read", sends_per_hour=1)
    assert await policies.save_policy(stage.db, stage.channel_id, key_id, strict, NOW, "operator", entry)
    entry = msgspec.structs.replace(entry, id=uuid4())
    assert not await policies.save_policy(stage.db, uuid4(), key_id, Policy(), NOW, "operator", entry)
    found = await policies.get_policy(stage.db, stage.channel_id, key_id)
    assert (found.policy, found.updated_at, found.updated_by) == (strict, NOW, "operator")
    assert (await policies.get_policy(stage.db, uuid4(), key_id)).policy == Policy()
    read = await policies.read_policies(stage.db, stage.channel_id, [key_id, OTHER])
    assert (read.stopped, read.policies) == (False, {key_id: strict, OTHER: Policy()})


async def test_all_assistants_of_an_account_are_stopped(stage: Stage) -> None:
    account_id = stage.caller.account_id

    async def set_(stop: McpStop) -> bool:
        entry = new_entry(account_id, OPERATOR, "mcp_stopped", NOW)
        return await policies.set_stop(stage.db, account_id, stop, entry)

    assert await policies.get_stop(stage.db, uuid4()) is None
    assert await set_(McpStop(NOW, "operator"))
    assert not await set_(McpStop(NOW + HOUR, "operator"))
    assert await policies.get_stop(stage.db, account_id) == McpStop(NOW, "operator")
    assert (await policies.read_policies(stage.db, stage.channel_id, [KEY])).stopped
    assert await set_(McpStop(None, None))
    assert not await set_(McpStop(None, None))
    assert not (await policies.read_policies(stage.db, stage.channel_id, [KEY])).stopped


async def test_every_field_of_a_call_is_recorded(stage: Stage) -> None:
    strange = '"a\\ b\n\t\x01 \\u0000 \u2028 \ufdd0 😀'
    people = frozenset({uuid4(), uuid4()})
    first = msgspec.structs.replace(call(fingerprint=b"\x00\xff'"), client=strange, arguments=strange)
    result = CallResult("sent", "no_crossing", "not_found", uuid4(), ("drf_1", "a{b"))
    second = CallRecord(call("find_contacts"), CallResult("done"))
    await record(stage, CallRecord(first, result, people, strange, NOW + HOUR), second)
    rows = {row["id"]: row for row in await stage.rows("mcp_calls")}
    full = msgspec.structs.asdict(first) | msgspec.structs.asdict(result)
    full |= {"channel_id": stage.channel_id, "at": NOW + HOUR, "answer": strange, "ids": ["drf_1", "a{b"]}
    assert dict(rows[first.id]) == full
    plain = rows[second.call.id]
    assert (plain["ids"], plain["rule"], plain["fingerprint"], plain["answer"]) == ([], None, None, None)
    reads = await stage.rows("mcp_reads")
    assert {(row["call_id"], row["contact_id"], row["key_id"], row["read_at"]) for row in reads} == {
        (first.id, person, KEY, NOW + HOUR) for person in people
    }


async def test_the_log_is_filtered(stage: Stage) -> None:
    await stage.receive_text(ANA)
    ana = await contact_of(stage, ANA)
    made = [
        CallRecord(call("find_contacts", minutes=0), CallResult("done")),
        CallRecord(call("read_conversation", minutes=1), CallResult("done", contact_id=ana), frozenset({ana})),
        CallRecord(call("send_text", minutes=2), CallResult("sent", contact_id=ana, ids=("A", "B"))),
        CallRecord(call("send_text", OTHER, minutes=3), CallResult("refused", rule="mode", code="policy_refused")),
    ]
    await record(stage, *made)

    async def listed(before: UUID | None = None, limit: int = 10, **filter_: object) -> list[int]:
        found = await calls.list_calls(
            stage.db,
            stage.channel_id,
            before=before,
            limit=limit,
            filter_=CallFilter(**filter_),  # type: ignore[arg-type]
        )
        return [[one.call.id for one in made].index(row.id) for row in found]

    assert await listed() == [3, 2, 1, 0]
    assert await listed(limit=2) == [3, 2]
    assert await listed(before=made[2].call.id) == [1, 0]
    assert await listed(key_id=KEY) == [2, 1, 0]
    assert await listed(tool="send_text") == [3, 2]
    assert await listed(tool="send_text", key_id=OTHER) == [3]
    assert await listed(outcome="refused") == [3]
    assert await listed(outcome="done") == [1, 0]
    assert await listed(outcome="done", tool="find_contacts") == [0]
    assert await listed(outcome="sent", key_id=OTHER) == []
    assert await listed(contact_id=ana) == [2, 1]
    assert await listed(contact_id=ana, outcome="done", before=made[2].call.id) == [1]
    span = IdRange(first_id(NOW + timedelta(minutes=1)), first_id(NOW + timedelta(minutes=3)))
    assert await listed(span=span) == [2, 1]
    assert await listed(span=span, key_id=KEY, before=made[2].call.id) == [1]
    assert await calls.list_calls(stage.db, uuid4(), before=None, limit=10) == []
    sent = (await calls.list_calls(stage.db, stage.channel_id, before=None, limit=2))[1]
    assert (sent.ids, sent.contact_id, sent.outcome, sent.at) == (("A", "B"), ana, "sent", NOW + timedelta(minutes=2))
    assert [row["contact_id"] for row in await stage.rows("mcp_reads")] == [ana]


async def test_equal_calls_are_found_for_ten_minutes(stage: Stage) -> None:
    same, refused = call(fingerprint=b"same"), call(fingerprint=b"refused")
    await record(
        stage,
        CallRecord(same, CallResult("sent"), answer='{"a":1}'),
        CallRecord(refused, CallResult("refused"), answer=None),
    )
    late = call(fingerprint=b"same", key_id=OTHER)
    async with stage.db.transaction() as conn:
        found = await calls.find_answers_again(conn, [same, refused, late], NOW + calls.REPEAT - timedelta(seconds=1))
        assert found == {(KEY, b"same"): '{"a":1}'}
        assert await calls.find_answers_again(conn, [same], NOW + calls.REPEAT) == {}
        assert await calls.find_answers_again(conn, [call()], NOW) == {}


async def test_old_rows_are_deleted(stage: Stage) -> None:
    ana = uuid4()
    await record(
        stage,
        CallRecord(call(minutes=0), CallResult("done"), frozenset({ana})),
        CallRecord(call(minutes=90 * 24 * 60), CallResult("done"), frozenset({ana})),
    )
    await calls.forget_calls(stage.db, NOW + timedelta(days=90), 90)
    assert len(await stage.rows("mcp_calls")) == 2
    await calls.forget_calls(stage.db, NOW + timedelta(days=90, seconds=1), 90)
    assert len(await stage.rows("mcp_calls")) == 1
    await conversations.forget_reads(stage.db, NOW + timedelta(days=90))
    assert len(await stage.rows("mcp_reads")) == 1


async def test_a_conversation_is_handed_over_once(stage: Stage) -> None:
    ana = uuid4()
    async with stage.db.transaction() as conn:
        assert await conversations.insert_handover(conn, stage.channel_id, ana, KEY, "Angry", NOW)
        assert not await conversations.insert_handover(conn, stage.channel_id, ana, KEY, "Again", NOW + HOUR)
    (found,) = await conversations.list_handovers(stage.db, stage.channel_id, ana)
    assert (found.key_id, found.reason, found.at) == (KEY, "Angry", NOW)
    assert await conversations.list_handovers(stage.db, uuid4(), ana) == []
    assert await conversations.delete_handovers(stage.db, stage.channel_id, ana) == 1
    assert await conversations.delete_handovers(stage.db, stage.channel_id, ana) == 0


# -- drafts ------------------------------------------------------------------------------------------------------------


async def add(stage: Stage, phone: str, contact_id: UUID | None, minutes: int = 0) -> UUID:
    at = NOW + timedelta(minutes=minutes)
    (head,) = await stage.rows("channel_heads")
    new = NewDraft(
        ids.new_id(at), contact_id, phone, "{}", "key||", KEY, "mode", "Why", at, at + HOUR, head["last_event_id"]
    )
    async with stage.db.transaction() as conn:
        await drafts.insert_drafts(conn, stage.channel_id, [new])
    return new.id


async def test_drafts_are_listed_by_state_and_conversation(stage: Stage) -> None:
    for phone in (ANA, BEA):
        await stage.receive_text(phone)
    ana, bea = await contact_of(stage, ANA), await contact_of(stage, BEA)
    made = [
        await add(stage, ANA, ana, 0),
        await add(stage, ANA, ana, 1),
        await add(stage, BEA, bea, 2),
        await add(stage, NEW, None, 3),
        await add(stage, ANA, ana, 4),
    ]
    async with stage.db.transaction() as conn:
        decisions = [
            DraftDecision(made[0], "refused", "user||Bob", comment="No"),
            DraftDecision(made[1], "sent", "user||Bob", uuid4()),
        ]
        await drafts.decide_drafts(conn, stage.channel_id, decisions, NOW)

    async def listed(
        state: DraftState | None = None,
        contact_id: UUID | None = None,
        before: UUID | None = None,
        limit: int = 10,
        minutes: int = 10,
    ) -> list[int]:
        found = await drafts.list_drafts(
            stage.db,
            stage.channel_id,
            before=before,
            limit=limit,
            now=NOW + timedelta(minutes=minutes),
            filter_=DraftFilter(state, contact_id),
        )
        assert all(state in (None, one.state) for one in found)
        return [made.index(one.id) for one in found]

    assert await listed() == [4, 3, 2, 1, 0]
    assert await listed(before=made[3], limit=2) == [2, 1]
    assert await listed("waiting") == [4, 3, 2]
    assert await listed("waiting", minutes=62) == [4, 3]
    assert await listed("expired", minutes=62) == [2]
    assert await listed("refused") == [0]
    assert await listed("sent") == [1]
    assert await listed(None, ana) == [4, 1, 0]
    assert await listed("waiting", ana) == [4]
    assert await listed("waiting", bea) == [2]
    await drafts.expire_drafts(stage.db, NOW + timedelta(minutes=63))
    assert await listed("expired", minutes=63) == [3, 2]
    assert await listed("expired", minutes=65) == [4, 3, 2]  # the last one is not written yet
    await drafts.expire_drafts(stage.db, NOW + timedelta(days=1))
    assert await listed("expired", minutes=0) == [4, 3, 2]
    await stage.receive_text(NEW)
    assert await listed("expired", await contact_of(stage, NEW)) == [3]
    assert await listed(None, uuid4()) == []
    async with stage.db.transaction() as conn:
        assert await drafts.count_waiting(conn, stage.channel_id, NOW) == 0
    await drafts.forget_drafts(stage.db, NOW + timedelta(days=90, minutes=2), 90)
    assert await listed() == [4, 3, 2]


async def test_a_draft_knows_that_the_person_has_written_since(stage: Stage) -> None:
    await stage.receive_text(ANA)
    ana = await contact_of(stage, ANA)
    known, new = await add(stage, ANA, ana), await add(stage, NEW, None)

    async def written(draft_id: UUID) -> bool:
        found = await drafts.get_draft(stage.db, stage.channel_id, draft_id, NOW)
        assert found is not None
        return found.written_since

    assert not await written(known)
    await stage.accept(ANA)
    await stage.receive_text(BEA)
    assert not await written(known)
    assert not await written(new)
    stage.clock.advance(-30)  # the network reports an earlier time: the order of commits counts
    await stage.receive_text(ANA)
    await stage.receive_text(NEW)
    assert await written(known)
    assert await written(new)
    (head,) = await stage.rows("channel_heads")
    async with stage.db.transaction() as conn:
        edit = DraftEdit('{"body":"Other"}', "user||Bob", NOW, head["last_event_id"])
        await drafts.edit_draft(conn, stage.channel_id, known, edit)
    found = await drafts.get_draft(stage.db, stage.channel_id, known, NOW)
    assert found is not None
    assert (found.written_since, found.revision, found.body) == (False, 2, '{"body":"Other"}')
    assert found.contact is not None
    assert (found.contact.id, found.contact.phone) == (ana, ANA)
    assert await drafts.get_draft(stage.db, uuid4(), known, NOW) is None


# -- what is recorded of a call ----------------------------------------------------------------------------------------


def test_arguments_are_shortened() -> None:
    assert short_arguments({"text": "a" * 300, "list": ["b\x00", 1, None]}) == (
        f'{{"text":"{"a" * 200}…","list":["b",1,null]}}'
    )
    for many in ({str(i): "x" * 100 for i in range(200)}, {"a": ['"\\' * 100] * 100}, {"ü" * 500: "ü" * 5000}):
        text = short_arguments(many)
        assert len(text.encode()) <= ARGUMENTS_MAX
        assert isinstance(msgspec.json.decode(text), dict)
    assert storable("a\x00\ud800b", 10) == "a?b"
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert short_arguments({"deep": deep}) == '{"deep":' + "[" * 19 + '"…"' + "]" * 19 + "}"


async def test_names_of_clients_are_stored(stage: Stage) -> None:
    strange = msgspec.structs.replace(call(), client=storable("é\x00\udfff", 100), arguments=short_arguments("\ud800"))
    await record(stage, CallRecord(strange, CallResult("done")))
    (row,) = await stage.rows("mcp_calls")
    assert row["client"] == "é?"


@pytest.mark.parametrize("count", [0, 3])
async def test_what_was_revealed_is_recorded_with_the_call(stage: Stage, count: int) -> None:
    await record(stage, CallRecord(call(), CallResult("done"), frozenset(uuid4() for _ in range(count))))
    assert len(await stage.rows("mcp_reads")) == count
