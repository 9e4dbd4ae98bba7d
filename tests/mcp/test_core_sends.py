"""Messages of assistants: judged, counted, repeated and recorded in the commit that accepts them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.account import Plan
from gatepost.model.draft import WAITING_MAX
from gatepost.model.errors import GatepostError, Invalid, Unavailable
from gatepost.model.mcp_policy import Policy, Recipients
from gatepost.outbound.accept import Acceptor
from gatepost.store.contacts.changes import merge_contacts
from gatepost.store.drafts import NewDraft, insert_drafts
from gatepost.store.mcp.conversations import insert_handover
from gatepost.store.pool import Database
from tests.mcp.core_assistant import ANYONE, SEND, Assistant, make_assistant
from tests.outbound.stage import NOW, PLANS, Stage, check_no_link, make_stage

ANA, BEA, NEW = "5511999990001", "5511999990002", "5511999990003"
replace = msgspec.structs.replace


@asynccontextmanager
async def second_node(stage: Stage, common_url: str) -> AsyncIterator[Acceptor]:
    """Yield an acceptor with its own connections, as another process has."""
    db = await Database.connect(common_url, connections=4)
    yield Acceptor(db, stage.clock, PLANS, 1000, check_no_link)
    await db.close()


async def sent_messages(stage: Stage) -> list[str]:
    rows = await stage.rows("messages", "AND NOT incoming ORDER BY id")
    return [msgspec.json.decode(row["content"])["body"] for row in rows]


# -- one call ----------------------------------------------------------------------------------------------------------


async def test_a_message_is_sent_and_recorded(stage: Stage) -> None:
    assistant = await make_assistant(stage)
    answer = await assistant.send(ANA, "Hi")
    (message,) = await stage.rows("messages")
    (call,) = await stage.rows("mcp_calls")
    assert answer.message == ids.message_id(message["id"])
    assert (answer.outcome, answer.status, answer.repeated) == ("sent", "PENDING", False)
    assert message["sent_by"] == f"key|{ids.format_id('key', assistant.key_id)}|Assistant"
    assert (call["outcome"], call["ids"], call["contact_id"]) == ("sent", [answer.message], message["contact_id"])
    await stage.take_over()
    await stage.drive(1)
    assert stage.network.bodies == ["Hi"]


async def test_without_a_policy_a_message_becomes_a_draft(stage: Stage) -> None:
    assistant = await make_assistant(stage, None)
    assert await assistant.result(ANA) == "refused recipients"
    await stage.receive_text(ANA)
    answer = await assistant.send(ANA, "Hi")
    (draft,) = await stage.rows("drafts")
    assert (answer.outcome, answer.draft, answer.message) == ("draft", ids.format_id("drf", draft["id"]), None)
    assert (draft["state"], draft["rule"], draft["phone"], draft["revision"]) == ("waiting", "mode", ANA, 1)
    assert (draft["contact_id"], draft["key_id"]) == (await assistant.contact(ANA), assistant.key_id)
    assert draft["expires_at"] == NOW + timedelta(hours=24)
    assert msgspec.json.decode(draft["body"])["body"] == "Hi"
    assert await sent_messages(stage) == []
    assert await assistant.calls() == [("refused", "recipients", "policy_refused"), ("draft", "mode", None)]


async def test_a_dry_run_writes_nothing_but_the_call(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, dry_run=True, sends_per_hour=1))
    for _ in range(2):
        answer = await assistant.send(NEW, "Hi", fingerprint=b"1")
        assert (answer.outcome, answer.would, answer.repeated) == ("dry_run", "send", False)
    assert (await assistant.send(NEW, "Hi", draft=True)).would == "draft"
    await assistant.allow(Policy(dry_run=True))
    assert await assistant.result(NEW) == "refused recipients"
    for table in ("messages", "drafts", "contacts", "events"):
        assert await stage.rows(table) == []
    assert [call[0] for call in await assistant.calls()] == ["dry_run"] * 3 + ["refused"]


async def test_errors_are_recorded(stage: Stage) -> None:
    assistant = await make_assistant(stage)
    assert await assistant.result(ANA, "") == "failed invalid_field"
    assert await assistant.result("12") == "failed invalid_phone"
    assert await assistant.result(ANA, reply_to="0" * 32) == "failed invalid_field"
    window = Assistant(stage, replace(assistant.caller, window=True))
    stage.acceptor = Acceptor(stage.db, stage.clock, PLANS, 100, check_no_link)
    assert await window.result(ANA) == "failed window_closed"
    assert await window.result(ANA, draft=True) == "failed window_closed"
    assert Counter(await assistant.calls()) == {
        ("failed", None, "invalid_field"): 2,
        ("failed", None, "invalid_phone"): 1,
        ("failed", None, "window_closed"): 2,
    }
    assert await stage.rows("messages") == []


async def test_the_quota_of_the_plan_applies(stage: Stage) -> None:
    assistant = await make_assistant(stage)
    plans = {"unlimited": Plan("Test", messages_per_month=2)}
    stage.acceptor = Acceptor(stage.db, stage.clock, plans, 100, check_no_link)
    results = await asyncio.gather(*(assistant.result(ANA, str(i)) for i in range(5)))
    assert Counter(results) == {"sent": 2, "failed plan_quota_exceeded": 3}
    assert Counter(call[0] for call in await assistant.calls()) == {"sent": 2, "failed": 3}
    assert await assistant.result(ANA, draft=True) == "draft"  # it counts when it is approved


async def test_without_a_database_nothing_is_sent(stage: Stage) -> None:
    assistant = await make_assistant(stage)
    closed = await Database.connect("postgresql://127.0.0.1:1/none", connections=1)
    acceptor = Acceptor(closed, stage.clock, PLANS, 100, check_no_link)
    with pytest.raises(Unavailable):
        await assistant.send(ANA, acceptor=acceptor)
    assert await assistant.calls() == []
    await closed.close()


async def test_a_link_is_looked_up_only_if_the_message_is_sent(stage: Stage) -> None:
    looked_up = []

    async def check(link: str) -> None:
        looked_up.append(link)
        if "internal" in link:
            raise Invalid("No.", "forbidden_url")

    assistant = await make_assistant(stage, replace(SEND, link_hosts=("shop.com", "internal.shop.com")))
    stage.acceptor = Acceptor(stage.db, stage.clock, PLANS, 100, check)

    async def result(link: str, **options: bool) -> str:
        return await assistant.result(ANA, None, type="image", media={"link": link}, fingerprint=b"1", **options)

    assert await result("https://secret.evil.com/a.png") == "refused link_hosts"
    assert await result("https://shop.com/a.png", draft=True) == "draft"
    assert await result("https://shop.com/a.png") == "repeated"
    assert looked_up == []
    assistant.later(minutes=10)
    assert await asyncio.gather(*(result("https://shop.com/a.png") for _ in range(3))) == [
        "sent",
        "repeated",
        "repeated",
    ]
    assert set(looked_up) == {"https://shop.com/a.png"}
    assistant.later(minutes=10)
    assert await result("https://internal.shop.com/a.png") == "failed forbidden_url"
    assert [call[0] for call in await assistant.calls()][-1] == "failed"
    assert len(await stage.rows("messages")) == 1


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["sends_per_hour", "sends_per_conversation", "unanswered"])
async def test_one_left_and_fifty_calls_on_two_nodes(stage: Stage, common_url: str, rule: str) -> None:
    assistant = await make_assistant(stage, replace(SEND, **{rule: 3}))
    for text in ("a", "b"):
        assert await assistant.result(ANA, text) == "sent"
    async with second_node(stage, common_url) as other:
        calls = (assistant.result(ANA, str(i), acceptor=other if i % 2 else stage.acceptor) for i in range(50))
        results = Counter(await asyncio.gather(*calls))
    assert results == {"sent": 1, f"refused {rule}": 49}
    assert len(await sent_messages(stage)) == 3
    assert Counter(call[0] for call in await assistant.calls()) == {"sent": 3, "refused": 49}
    if rule == "unanswered":
        await stage.receive_text(ANA)
    else:
        assistant.later(hours=1)
    assert await assistant.result(ANA, "later") == "sent"


async def test_many_calls_and_a_message_that_fails_does_not_count(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, sends_per_hour=1))
    wrong = {"reply_to": "0" * 32}
    results = await asyncio.gather(
        assistant.result(ANA, "1", **wrong), assistant.result(ANA, "2", **wrong), assistant.result(ANA, "3")
    )
    assert list(results) == ["failed invalid_field", "failed invalid_field", "sent"]


async def test_limits_count_each_key_and_each_person(stage: Stage) -> None:
    policy = replace(SEND, sends_per_conversation=1)
    first, second = await make_assistant(stage, policy), await make_assistant(stage, policy)
    assert [await first.result(ANA), await first.result(BEA), await second.result(ANA)] == ["sent"] * 3
    assert await first.result(ANA) == "refused sends_per_conversation"
    assistant = await make_assistant(stage, replace(SEND, unanswered=1, mode="draft"))
    both = await asyncio.gather(assistant.result("551188887777"), assistant.result("5511988887777"))  # one number
    assert list(both) == ["draft", "refused unanswered"]
    assert await assistant.result("5511988887777") == "refused unanswered"
    await stage.receive_text("5511988887777")
    assistant.later(seconds=1)
    assert await assistant.result("551188887777") == "draft"
    assert await assistant.result("5511988887777") == "refused unanswered"


@pytest.mark.parametrize("rule", ["sends_per_hour", "sends_per_conversation", "unanswered"])
async def test_a_key_and_its_successor_share_what_is_left(stage: Stage, rule: str) -> None:
    old = await make_assistant(stage, replace(SEND, **{rule: 1}))
    new = await old.rotated()
    results = await asyncio.gather(*(one.result(ANA, str(i)) for i, one in enumerate((old, new, old, new))))
    assert list(results) == ["sent", *[f"refused {rule}"] * 3]


async def test_a_draft_counts_until_it_is_refused_or_expires(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, mode="draft", unanswered=1))
    await stage.receive_text(ANA)
    assistant.later(seconds=1)
    assert await assistant.result(ANA) == "draft"
    assert await assistant.result(ANA) == "refused unanswered"
    assistant.later(hours=24)
    assert await assistant.result(ANA) == "draft"
    await assistant.allow(replace(SEND, mode="draft", sends_per_hour=1))
    assert await assistant.result(BEA) == "refused sends_per_hour"
    assistant.later(hours=1)
    assert await assistant.result(BEA) == "draft"


async def test_a_refusal_says_when_it_works_again(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, sends_per_hour=2))
    await assistant.send(ANA)
    assistant.later(minutes=10)
    await assistant.send(ANA)
    assistant.later(minutes=10)
    with pytest.raises(GatepostError) as error:
        await assistant.send(ANA)
    assert error.value.retry_after == 40 * 60
    assert "2026-11-15T11:00:00.000Z" in error.value.message
    assistant.later(minutes=40, seconds=-1)
    assert await assistant.result(ANA) == "refused sends_per_hour"
    assistant.later(seconds=1)
    assert await assistant.result(ANA) == "sent"


async def test_drafts_have_a_limit(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, mode="draft"))
    async with stage.db.transaction() as conn:
        old = [
            NewDraft(
                ids.new_id(NOW),
                None,
                NEW,
                "{}",
                "operator||",
                None,
                None,
                None,
                NOW,
                NOW + timedelta(hours=2),
                ids.ZERO,
            )
            for _ in range(WAITING_MAX - 1)
        ]
        await insert_drafts(conn, stage.channel_id, old)
    results = await asyncio.gather(*(assistant.result(ANA, str(i)) for i in range(3)))
    assert results == ["draft", "failed wrong_state", "failed wrong_state"]
    assistant.later(hours=2)
    assert await assistant.result(ANA) == "draft"


# -- the same call again -----------------------------------------------------------------------------------------------


async def test_the_same_call_returns_the_first_answer(stage: Stage) -> None:
    assistant = await make_assistant(stage)
    first = await assistant.send(ANA, "Hi", fingerprint=b"same")
    assistant.later(minutes=9, seconds=59)
    again = await assistant.send(ANA, "Hi", fingerprint=b"same")
    assert again == replace(first, repeated=True)
    assert await assistant.result(ANA, "Hi") == "sent"  # without a fingerprint it is a new call
    other = await make_assistant(stage)
    assert await other.result(ANA, "Hi", fingerprint=b"same") == "sent"
    assistant.later(seconds=1)
    assert await assistant.result(ANA, "Hi", fingerprint=b"same") == "sent"
    assert [call[0] for call in await assistant.calls()] == ["sent", "repeated", "sent", "sent"]


async def test_many_equal_calls_at_once_send_one_message(stage: Stage, common_url: str) -> None:
    assistant = await make_assistant(stage)
    async with second_node(stage, common_url) as other:
        calls = (
            assistant.send(ANA, "Hi", fingerprint=b"same", acceptor=other if i % 2 else stage.acceptor)
            for i in range(50)
        )
        answers = await asyncio.gather(*calls)
    assert len({answer.message for answer in answers}) == 1
    assert Counter(answer.repeated for answer in answers) == {True: 49, False: 1}
    assert await sent_messages(stage) == ["Hi"]
    assert Counter(call[0] for call in await assistant.calls()) == {"sent": 1, "repeated": 49}


async def test_equal_calls_with_a_key_and_its_successor_at_once_send_one_message(stage: Stage) -> None:
    old = await make_assistant(stage)
    new = await old.rotated()
    answers = await asyncio.gather(*(one.send(ANA, "Hi", fingerprint=b"same") for one in (old, new, old, new)))
    assert len({answer.message for answer in answers}) == 1
    assert await sent_messages(stage) == ["Hi"]
    other = await make_assistant(stage)
    assert await other.result(ANA, "Hi", fingerprint=b"same") == "sent"


async def test_a_repeated_draft_is_one_draft(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, mode="draft", unanswered=1))
    results = await asyncio.gather(*(assistant.result(ANA, fingerprint=b"same") for _ in range(5)))
    assert results == ["draft"] + ["repeated"] * 4
    assert len(await stage.rows("drafts")) == 1


async def test_what_was_refused_is_judged_again(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, recipients=Recipients()))
    assert await assistant.result(ANA, fingerprint=b"same") == "refused recipients"
    await stage.receive_text(ANA)
    assert await assistant.result(ANA, fingerprint=b"same") == "sent"


# -- crossing ----------------------------------------------------------------------------------------------------------


async def test_after_reading_one_conversation_a_message_to_another_is_a_draft(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, no_crossing=True))
    ana, _ = await assistant.contact(ANA), await assistant.contact(BEA)
    assert await assistant.result(BEA) == "sent"
    await assistant.read(ana)
    assert await assistant.result(ANA) == "sent"
    for phone in (BEA, NEW):  # in the same second; and somebody new
        answer = await assistant.send(phone)
        assert (answer.outcome, answer.rule) == ("draft", "no_crossing")
    assistant.later(minutes=59, seconds=59)
    assert await assistant.result(BEA) == "draft"
    assistant.later(seconds=1)
    assert await assistant.result(BEA) == "sent"
    await assistant.read(ana, await assistant.contact(BEA))
    assert [await assistant.result(ANA), await assistant.result(BEA)] == ["draft", "draft"]
    other = await make_assistant(stage, replace(SEND, no_crossing=True))
    assert await other.result(ANA) == "sent"


async def test_a_read_that_is_committed_first_is_seen(stage: Stage, common_url: str) -> None:
    assistant = await make_assistant(stage, replace(SEND, no_crossing=True))
    ana = await assistant.contact(ANA)
    async with second_node(stage, common_url) as other:

        async def read_and_tell(i: int) -> str:
            await assistant.read(ana)
            return await assistant.result(BEA, str(i), acceptor=other if i % 2 else stage.acceptor)

        assert set(await asyncio.gather(*(read_and_tell(i) for i in range(20)))) == {"draft"}


async def test_merged_contacts_are_one_conversation(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, no_crossing=True, sends_per_conversation=2))
    ana, bea = await assistant.contact(ANA), await assistant.contact(BEA)
    assert await assistant.result(ANA) == "sent"
    await assistant.read(ana, bea)  # one call that reveals both
    await assistant.read(bea)
    await merge_contacts(stage.db, stage.ref, stage.channel_id, ana, bea, stage.clock.now())
    assert await assistant.result(BEA) == "sent"
    assert await assistant.result(ANA) == "refused sends_per_conversation"


# -- people and switches -----------------------------------------------------------------------------------------------


async def test_a_conversation_that_was_handed_over_gets_no_message(stage: Stage) -> None:
    assistant, other = await make_assistant(stage), await make_assistant(stage)
    ana = await assistant.contact(ANA)
    async with stage.db.transaction() as conn:
        await insert_handover(conn, stage.channel_id, ana, assistant.key_id, "Angry", NOW)
    assert [await assistant.result(ANA), await assistant.result(ANA, draft=True)] == ["refused hand_over"] * 2
    assert [await assistant.result(BEA), await other.result(ANA)] == ["sent"] * 2


async def test_labels_allow_a_person(stage: Stage) -> None:
    label = UUID(int=5)
    allowed = Recipients(wrote_within_days=None, labels=(ids.format_id("lb", label),))
    assistant = await make_assistant(stage, replace(SEND, recipients=allowed))
    ana = await assistant.contact(ANA)
    assert await assistant.result(ANA) == "refused recipients"
    await stage.db.execute(
        "INSERT INTO label_uses VALUES ($1, $2, 'contact', $3, $4)", stage.channel_id, label, ana, NOW
    )
    assert [await assistant.result(ANA), await assistant.result(BEA)] == ["sent", "refused recipients"]


async def test_another_channel_is_not_judged_by_this_one(stage: Stage, db: Database) -> None:
    other = await make_stage(db)
    assistant, stranger = await make_assistant(stage, replace(SEND, no_crossing=True)), await make_assistant(other)
    ana = await assistant.contact(ANA)
    await assistant.read(ana)
    assert await stranger.result(ANA) == "sent"
    foreign = Assistant(other, replace(stranger.caller, principal=assistant.caller.principal))
    assert await foreign.result(ANA) == "refused recipients"  # a key has no policy on another channel


async def test_ordinary_messages_are_not_judged(stage: Stage) -> None:
    assistant = await make_assistant(stage, Policy(mode="read", recipients=ANYONE))
    assert await assistant.result(ANA) == "refused mode"
    await stage.accept(ANA)
    assert len(await stage.rows("mcp_calls")) == 1


async def test_a_cancelled_caller_changes_nothing_else(stage: Stage) -> None:
    """What was accepted stays accepted and recorded, whether its caller waits or not."""
    assistant = await make_assistant(stage)
    tasks = [asyncio.create_task(assistant.send(ANA, str(i))) for i in range(10)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await stage.acceptor.drain()
    assert len(await sent_messages(stage)) == len(await assistant.calls()) >= 5
