"""What assistants change besides messages: one commit with the recorded call, within the policy."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from msgspec import UNSET

from gatepost.model import ids
from gatepost.model.account_log import OPERATOR, new_entry
from gatepost.model.errors import GatepostError, NotFound, Unavailable
from gatepost.model.mcp_policy import Policy, Recipients
from gatepost.model.mcp_verdict import PolicyRefused
from gatepost.networks.base import Network
from gatepost.services import assistant_changes as changes
from gatepost.services.assistant_calls import check_reading, count_sends_left, read_policy_in_force
from gatepost.services.labels import LabelService, NewLabel, create_label
from gatepost.store.channels import ChannelConfig
from gatepost.store.contacts.changes import delete_contact, merge_contacts
from gatepost.store.mcp.conversations import delete_handovers, list_handovers
from gatepost.store.mcp.policies import McpStop, set_stop
from gatepost.store.pool import Database
from tests.mcp.core_assistant import SEND, Assistant, make_assistant
from tests.outbound.stage import NOW, Stage, make_stage

ANA, BEA = "5511999990001", "5511999990002"
DRAFT = Policy()
replace = msgspec.structs.replace
Change = Callable[[Assistant, str], Awaitable[Any]]


async def silent(_channel: ChannelConfig) -> Network | None:
    return None


async def label(assistant: Assistant, conversation: str) -> Any:
    service = LabelService(assistant.stage.db, assistant.stage.ref, assistant.stage.channel_id, NOW)
    made = await create_label(service, NewLabel(f"VIP {uuid4()}"))
    return await changes.set_labels(
        assistant.stage.db,
        assistant.caller,
        assistant.call("set_labels"),
        conversation,
        [ids.format_id("lb", made.id)],
        [],
    )


async def close(assistant: Assistant, conversation: str) -> Any:
    call = assistant.call("update_conversation")
    return await changes.update_conversation(assistant.stage.db, assistant.caller, call, conversation, "closed", "Done")


async def hand_over(assistant: Assistant, conversation: str) -> Any:
    call = assistant.call("hand_over")
    return await changes.hand_over(assistant.stage.db, assistant.caller, call, conversation, "Angry")


async def mark_read(assistant: Assistant, conversation: str) -> Any:
    call = assistant.call("mark_read")
    return await changes.mark_read(assistant.stage.db, silent, assistant.caller, call, conversation)


ALL: tuple[Change, ...] = (label, close, hand_over, mark_read)


async def started(stage: Stage, policy: Policy = DRAFT) -> tuple[Assistant, UUID, str]:
    assistant = await make_assistant(stage, policy)
    ana = await assistant.contact(ANA)
    return assistant, ana, ids.format_id("cv", ana)


async def state(stage: Stage) -> tuple[Any, ...]:
    """Return everything that the changes change, apart from the labels themselves and the log."""
    (conversation,) = await stage.rows("conversations")
    rest = [await stage.rows(table) for table in ("label_uses", "mcp_handovers", "conversation_notes")]
    return conversation["status"], conversation["note"], conversation["unread"], *(len(rows) for rows in rest)


@pytest.mark.parametrize("change", ALL)
async def test_each_change_is_recorded(stage: Stage, change: Change) -> None:
    assistant, ana, conversation = await started(stage)
    before = await state(stage)
    assert (await change(assistant, conversation)).outcome == "done"
    assert await state(stage) != before
    (call,) = await stage.rows("mcp_calls")
    assert (call["outcome"], call["contact_id"], call["key_id"]) == ("done", ana, assistant.key_id)


@pytest.mark.parametrize("change", ALL)
async def test_each_change_obeys_the_policy(stage: Stage, change: Change) -> None:
    assistant, _, conversation = await started(stage, Policy(mode="read"))
    before = await state(stage)
    for policy, rule in (
        (Policy(mode="read"), "mode"),
        (Policy(mode="send", ends_at=NOW), "ends_at"),
    ):
        await assistant.allow(policy)
        with pytest.raises(PolicyRefused) as refused:
            await change(assistant, conversation)
        assert refused.value.rule == rule
    await assistant.allow(Policy(dry_run=True))
    assert (await change(assistant, conversation)).outcome == "dry_run"
    account_id = assistant.caller.account_id
    entry = new_entry(account_id, OPERATOR, "mcp_stopped", NOW)
    await set_stop(stage.db, account_id, McpStop(NOW, "operator"), entry)
    with pytest.raises(PolicyRefused):
        await change(assistant, conversation)
    assert await state(stage) == before
    assert await assistant.calls() == [
        ("refused", "mode", "policy_refused"),
        ("refused", "ends_at", "policy_refused"),
        ("dry_run", None, None),
        ("refused", "stopped", "policy_refused"),
    ]


@pytest.mark.parametrize("change", ALL)
async def test_conversations_of_others_do_not_exist(stage: Stage, db: Database, change: Change) -> None:
    assistant, _, conversation = await started(stage)
    stranger = await make_assistant(await make_stage(db), SEND)
    with pytest.raises(NotFound):
        await change(stranger, conversation)
    for wrong in (ids.format_id("cv", uuid4()), "cv_", "ct_" + "0" * 32):
        with pytest.raises(NotFound):
            await change(assistant, wrong)
    assert await stranger.calls() == [("failed", None, "not_found")]
    assert [call[2] for call in await assistant.calls()] == ["not_found"] * 3


@pytest.mark.parametrize("change", ALL)
async def test_without_a_database_nothing_changes(stage: Stage, change: Change) -> None:
    assistant, _, conversation = await started(stage)
    closed = await Database.connect("postgresql://127.0.0.1:1/none", connections=1)
    before, open_db = await state(stage), stage.db
    if change is not label:  # which makes a label first
        stage.db = closed
        with pytest.raises(Unavailable):
            await change(assistant, conversation)
        stage.db = open_db
    assert await state(stage) == before
    await closed.close()


# -- labels ------------------------------------------------------------------------------------------------------------


async def made_labels(stage: Stage, count: int) -> list[str]:
    service = LabelService(stage.db, stage.ref, stage.channel_id, NOW)
    made = [await create_label(service, NewLabel(f"Label {i} {uuid4()}")) for i in range(count)]
    return [ids.format_id("lb", one.id) for one in made]


async def test_labels_are_set_all_or_none(stage: Stage) -> None:
    assistant, _, conversation = await started(stage)
    first, second = await made_labels(stage, 2)

    async def set_(add: list[str], remove: list[str]) -> None:
        await changes.set_labels(stage.db, assistant.caller, assistant.call(), conversation, add, remove)

    async def used() -> set[str]:
        return {ids.format_id("lb", row["label_id"]) for row in await stage.rows("label_uses")}

    await set_([first, first], [second])
    await set_([first], [])
    assert await used() == {first}
    with pytest.raises(NotFound):
        await set_([second, ids.format_id("lb", uuid4())], [first])
    assert await used() == {first}
    for add, remove in (([first], [first]), (["lb_" + "0" * 32] * 51, [])):
        with pytest.raises(GatepostError, match=r"add|remove"):
            await set_(add, remove)
    await set_([second], [first])
    assert await used() == {second}


async def test_a_label_that_chooses_recipients_cannot_be_assigned(stage: Stage) -> None:
    assistant, _, conversation = await started(stage)
    vip, other = await made_labels(stage, 2)
    rule = Recipients(wrote_within_days=None, labels=(vip,))
    for owner in (assistant, await make_assistant(stage)):  # its own policy, and that of another key
        await owner.allow(Policy(mode="send", recipients=rule))
        with pytest.raises(PolicyRefused) as refused:
            await changes.set_labels(stage.db, assistant.caller, assistant.call(), conversation, [other, vip], [])
        assert refused.value.rule == "recipients"
        await owner.allow(Policy())
    assert await stage.rows("label_uses") == []
    await assistant.allow(Policy(mode="send", recipients=rule))
    await changes.set_labels(stage.db, assistant.caller, assistant.call(), conversation, [other], [vip])


# -- conversations -----------------------------------------------------------------------------------------------------


async def test_status_and_note(stage: Stage) -> None:
    assistant, _, conversation = await started(stage)

    async def update(**fields: Any) -> None:
        await changes.update_conversation(stage.db, assistant.caller, assistant.call(), conversation, **fields)

    await update(status="closed", note="Paid")
    await update(status="closed")
    assert (await state(stage))[:2] == ("closed", "Paid")
    await update(note=None)
    assert (await state(stage))[:2] == ("closed", None)
    for wrong in ({"status": "lost"}, {"note": " "}, {"note": "x" * 4097}, {"note": "\x00"}):
        with pytest.raises(GatepostError):
            await update(**wrong)
    assert (await state(stage))[:2] == ("closed", None)
    assert [call[0] for call in await assistant.calls()] == ["done"] * 3 + ["failed"] * 4


async def test_a_conversation_is_handed_over_until_it_is_given_back(stage: Stage) -> None:
    assistant, ana, conversation = await started(stage, SEND)
    await close(assistant, conversation)
    results = await asyncio.gather(*(hand_over(assistant, conversation) for _ in range(5)))
    assert {one.outcome for one in results} == {"done"}
    status, *_, handed_over, notes = await state(stage)
    assert (status, handed_over, notes) == ("open", 1, 1)
    (note,) = await stage.rows("conversation_notes")
    assert (note["author_kind"], note["author"], note["body"]) == ("key", "Assistant", "Angry")
    assert await assistant.result(ANA) == "refused hand_over"
    (found,) = await list_handovers(stage.db, stage.channel_id, ana)
    assert (found.key_id, found.key_name, found.reason) == (assistant.key_id, "Assistant", "Angry")
    assert await delete_handovers(stage.db, stage.channel_id, ana) == 1
    assert await delete_handovers(stage.db, stage.channel_id, ana) == 0
    assert await assistant.result(ANA) == "sent"
    for wrong in ("", " ", "x" * 1001, "\x00"):
        with pytest.raises(GatepostError, match="reason"):
            await changes.hand_over(stage.db, assistant.caller, assistant.call(), conversation, wrong)
    assert await list_handovers(stage.db, stage.channel_id, ana) == []


async def test_a_hand_over_follows_a_merged_contact(stage: Stage) -> None:
    assistant, ana, conversation = await started(stage, SEND)
    bea = await assistant.contact(BEA)
    await hand_over(assistant, conversation)
    await hand_over(assistant, ids.format_id("cv", bea))
    await merge_contacts(stage.db, stage.ref, stage.channel_id, bea, ana, NOW)
    assert [await assistant.result(phone) for phone in (ANA, BEA)] == ["refused hand_over"] * 2
    assert await delete_contact(stage.db, stage.ref, stage.channel_id, bea, NOW)
    assert await stage.rows("mcp_handovers") == []
    assert await assistant.result(ANA) == "sent"


async def test_reading_marks_are_shown_after_the_commit(stage: Stage) -> None:
    assistant, _, conversation = await started(stage)
    await stage.receive_text(ANA, "Second")
    recorded = []

    async def speak(_channel: ChannelConfig) -> Network | None:
        recorded.append(await assistant.calls())
        return stage.network

    call = assistant.call("mark_read")
    read = await changes.mark_read(stage.db, speak, assistant.caller, call, conversation)
    assert (read.outcome, read.read_shown) == ("done", True)
    assert recorded == [[("done", None, None)]]
    assert (await state(stage))[2] == 0
    await assistant.allow(Policy(dry_run=True))
    again = await changes.mark_read(stage.db, speak, assistant.caller, assistant.call(), conversation)
    assert (again.outcome, again.read_shown, len(recorded)) == ("dry_run", False, 1)


async def test_a_note_is_no_way_from_one_conversation_to_another(stage: Stage) -> None:
    assistant, ana, conversation = await started(stage, replace(SEND, no_crossing=True))
    bea = await assistant.contact(BEA)

    async def note(text: str | None, status: Any = UNSET) -> str:
        call = assistant.call("update_conversation")
        try:
            done = await changes.update_conversation(stage.db, assistant.caller, call, conversation, status, text)
        except PolicyRefused as refused:
            return refused.rule
        return done.outcome

    await assistant.read(ana)
    assert await note("Likes tea") == "done"
    await assistant.read(bea)
    assert await note("Bea's card is 4111") == "no_crossing"
    assert await note("Bea's card is 4111", "closed") == "no_crossing"
    assert {row["status"] for row in await stage.rows("conversations")} == {"open"}  # all or nothing
    assert await note(None) == "done"
    assistant.later(minutes=61)
    assert await note("Likes tea") == "done"
    await assistant.read(bea)
    await assistant.allow(SEND)
    assert await note("Bea, too") == "done"


# -- reading -----------------------------------------------------------------------------------------------------------


async def test_reading_stops_with_the_policy(stage: Stage) -> None:
    assistant, _, _ = await started(stage, replace(SEND, sends_per_hour=2))
    key = (stage.channel_id, assistant.key_id)
    policy = check_reading(await read_policy_in_force(stage.db, key), NOW)
    assert (policy.mode, policy.sends_per_hour) == ("send", 2)
    with pytest.raises(PolicyRefused) as refused:
        check_reading(await read_policy_in_force(stage.db, key), NOW, files=True)
    assert refused.value.rule == "files"
    await assistant.send(ANA)
    assert await count_sends_left(stage.db, assistant.caller, policy, NOW) == 1
    await assistant.send(ANA, "And another one")
    assert await count_sends_left(stage.db, assistant.caller, policy, NOW) == 0
    assert await count_sends_left(stage.db, assistant.caller, Policy(mode="read"), NOW) == 0
    await assistant.allow(Policy(ends_at=NOW))
    with pytest.raises(PolicyRefused):
        check_reading(await read_policy_in_force(stage.db, key), NOW)


async def test_many_reads_at_once_are_all_recorded(stage: Stage) -> None:
    assistant, ana, _ = await started(stage)
    await asyncio.gather(*(assistant.read(ana) for _ in range(100)))
    assert len(await assistant.calls()) == len(await stage.rows("mcp_reads")) == 100
    await assistant.recorder.drain()
