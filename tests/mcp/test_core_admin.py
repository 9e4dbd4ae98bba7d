"""Policies as owners save them, the switch that stops all assistants, rotation of keys, and retention."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from gatepost.admin import keys, mcp_policies
from gatepost.housekeeping import Housekeeper
from gatepost.model import ids
from gatepost.model.account_log import Actor
from gatepost.model.errors import Conflict, GatepostError, NotFound
from gatepost.model.mcp_policy import Policy, Recipients, sentences
from gatepost.services import assistant_changes
from gatepost.services.assistant_calls import count_sends_left
from gatepost.services.labels import LabelService, NewLabel, create_label, delete_label
from gatepost.settings import load
from gatepost.store.account_log import list_entries
from gatepost.store.channels import delete_channel
from gatepost.store.mcp.conversations import delete_handovers
from gatepost.store.mcp.policies import McpStop, StoredPolicy
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.notifications import ACCOUNT_CHANGES, AccountChange, read_notice
from gatepost.store.pool import Database
from tests.mcp.core_assistant import SEND, Assistant, make_assistant
from tests.outbound.stage import NOW, Stage, make_stage
from tests.patience import patience

ANA, BEA = "5511999990001", "5511999990002"
OWNER = Actor("user", UUID(int=7), "owner@example.com")
replace = msgspec.structs.replace


async def logged(stage: Stage) -> list[tuple[str, str, str, Any]]:
    entries = await list_entries(stage.db, stage.caller.account_id, before=None, limit=10)
    return [(one.action, one.target, one.actor.label, one.details) for one in entries if "mcp" in one.action]


async def test_a_policy_is_saved_with_an_entry_in_the_log(stage: Stage) -> None:
    assistant = await make_assistant(stage, None)
    db, place = stage.db, (stage.channel_id, assistant.key_id)
    assert (await mcp_policies.get_policy(db, *place)).stored == StoredPolicy()
    service = LabelService(db, stage.ref, stage.channel_id, NOW)
    vip = ids.format_id("lb", (await create_label(service, NewLabel("VIP"))).id)
    policy = Policy(mode="send", recipients=Recipients(wrote_within_days=None, labels=(vip,)))
    saved = await mcp_policies.save_policy(db, *place, policy, NOW, actor=OWNER)
    assert saved == await mcp_policies.get_policy(db, *place)
    assert saved.stored == StoredPolicy(policy, NOW, "owner@example.com")
    assert "It may write to people with the label “VIP”." in sentences(policy, saved.labels)
    details = {
        "name": "Assistant",
        "channel": ids.format_id("ch", stage.channel_id),
        "mode": "send",
        "changed": ["mode", "recipients"],
    }
    target = ids.format_id("key", assistant.key_id)
    assert await logged(stage) == [("mcp_policy_changed", target, "owner@example.com", details)]


async def test_changes_of_a_policy_at_the_same_time_are_all_kept(stage: Stage) -> None:
    assistant = await make_assistant(stage, None)
    changes: tuple[dict[str, Any], ...] = ({"mode": "read"}, {"sends_per_hour": 5}, {"dry_run": True}, {"files": True})

    async def change(**fields: Any) -> None:
        place = (stage.channel_id, assistant.key_id)
        await mcp_policies.change_policy(stage.db, *place, lambda policy: replace(policy, **fields), NOW)

    await asyncio.gather(*(change(**fields) for fields in changes))
    found = await mcp_policies.get_policy(stage.db, stage.channel_id, assistant.key_id)
    assert found.stored.policy == Policy(mode="read", sends_per_hour=5, dry_run=True, files=True)
    noted = sorted(details["changed"] for _, _, _, details in await logged(stage))
    assert noted == [["dry_run"], ["files"], ["mode"], ["sends_per_hour"]]


async def test_a_policy_with_a_label_that_was_deleted_can_be_made_stricter(stage: Stage) -> None:
    assistant = await make_assistant(stage, None)
    place = (stage.channel_id, assistant.key_id)
    service = LabelService(stage.db, stage.ref, stage.channel_id, NOW)
    label = ids.format_id("lb", (await create_label(service, NewLabel("VIP"))).id)
    policy = Policy(mode="send", recipients=Recipients(labels=(label,)))
    await mcp_policies.save_policy(stage.db, *place, policy, NOW)
    await delete_label(service, label)
    saved = await mcp_policies.save_policy(stage.db, *place, replace(policy, mode="read"), NOW)
    assert saved.stored.policy.mode == "read"


async def test_what_is_not_saved(stage: Stage, db: Database) -> None:
    assistant = await make_assistant(stage, None)
    plain = await keys.create_key(stage.db, stage.channel_id, "Shop", now=NOW)
    other = await make_stage(db)

    async def save(channel_id: UUID, key_id: UUID, **policy: Any) -> None:
        await mcp_policies.save_policy(stage.db, channel_id, key_id, Policy(**policy), NOW)

    for channel_id, key_id in ((other.channel_id, assistant.key_id), (stage.channel_id, uuid4())):
        with pytest.raises(NotFound):
            await save(channel_id, key_id)
        with pytest.raises(NotFound):
            await mcp_policies.get_policy(stage.db, channel_id, key_id)
    with pytest.raises(Conflict):
        await save(stage.channel_id, plain.key.id)
    with pytest.raises(GatepostError, match="sends_per_hour"):
        await save(stage.channel_id, assistant.key_id, sends_per_hour=-1)
    with pytest.raises(GatepostError, match="labels"):
        await save(stage.channel_id, assistant.key_id, recipients=Recipients(labels=("lb_" + "0" * 32,)))
    assert await logged(stage) == []


async def test_one_switch_stops_all_assistants(stage: Stage) -> None:
    assistant, account_id = await make_assistant(stage), stage.caller.account_id
    assert await mcp_policies.get_stop(stage.db, account_id) == McpStop(None, None)
    for _ in range(2):
        assert await mcp_policies.set_stop(stage.db, account_id, NOW, stopped=True, actor=OWNER) == McpStop(
            NOW, "owner@example.com"
        )
        assert await assistant.result(ANA) == "refused stopped"
    for _ in range(2):
        assert await mcp_policies.set_stop(stage.db, account_id, NOW, stopped=False, actor=OWNER) == McpStop(None, None)
        assert await assistant.result(ANA) == "sent"
    actions = sorted(action for action, *_ in await logged(stage) if "policy" not in action)
    assert actions == ["mcp_resumed", "mcp_stopped"]
    for work in (mcp_policies.set_stop(stage.db, uuid4(), NOW, stopped=True), mcp_policies.get_stop(stage.db, uuid4())):
        with pytest.raises(NotFound):
            await work


SEND_4 = replace(SEND, sends_per_hour=4)


async def test_a_rotated_key_keeps_its_policy_its_reads_and_what_was_handed_over(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, no_crossing=True))
    ana, bea = await assistant.contact(ANA), await assistant.contact(BEA)
    await assistant.read(ana)
    await stage.db.execute(
        "INSERT INTO mcp_handovers VALUES ($1, $2, $3, 'Angry', $4)", stage.channel_id, bea, assistant.key_id, NOW
    )
    rotated = await keys.rotate_key(stage.db, stage.channel_id, assistant.key_id, now=NOW)
    principal = replace(assistant.caller.principal, id=rotated.key.id)
    new = Assistant(stage, replace(assistant.caller, principal=principal))
    assert (await mcp_policies.get_policy(stage.db, stage.channel_id, new.key_id)).stored.policy.mode == "send"
    assert [await new.result(phone) for phone in (ANA, BEA, "5511999990003")] == ["sent", "refused hand_over", "draft"]
    plain = await keys.create_key(stage.db, stage.channel_id, "Shop", now=NOW)
    await keys.rotate_key(stage.db, stage.channel_id, plain.key.id, now=NOW)
    without = await make_assistant(stage, None)
    rotated = await keys.rotate_key(stage.db, stage.channel_id, without.key_id, now=NOW)
    assert (await mcp_policies.get_policy(stage.db, stage.channel_id, rotated.key.id)).stored == StoredPolicy()


async def test_what_a_rotated_key_has_sent_counts_for_the_new_one_and_back(stage: Stage) -> None:
    old = await make_assistant(stage, replace(SEND, sends_per_hour=4, sends_per_conversation=3, unanswered=2))
    for phone in (ANA, BEA):
        await old.contact(phone)
    old.later(minutes=1)
    assert await old.result(ANA) == "sent"
    rotated = await keys.rotate_key(stage.db, stage.channel_id, old.key_id, now=NOW)
    again = await keys.rotate_key(stage.db, stage.channel_id, rotated.key.id, now=NOW)
    new = Assistant(stage, replace(old.caller, principal=replace(old.caller.principal, id=again.key.id)))
    assert await count_sends_left(stage.db, new.caller, SEND_4, NOW) == 3
    assert await new.result(ANA, "two") == "sent"
    assert [await one.result(ANA, "three") for one in (new, old)] == ["refused unanswered"] * 2
    assert [await one.result(BEA, "one") for one in (new, old)] == ["sent"] * 2
    stranger = await make_assistant(stage, SEND_4)
    assert [await one.result(BEA, "five") for one in (new, old, stranger)] == [*["refused sends_per_hour"] * 2, "sent"]


async def test_what_a_rotated_key_reads_and_hands_over_counts_for_the_new_one_and_back(stage: Stage) -> None:
    old = await make_assistant(stage, replace(SEND, no_crossing=True))
    ana, bea = await old.contact(ANA), await old.contact(BEA)
    conversation = ids.format_id("cv", bea)
    rotated = await keys.rotate_key(stage.db, stage.channel_id, old.key_id, now=NOW)
    new = Assistant(stage, replace(old.caller, principal=replace(old.caller.principal, id=rotated.key.id)))
    for reader, writer in ((old, new), (new, old)):  # both are valid for a day
        await reader.read(ana)
        assert await writer.result(BEA) == "draft"
        note = writer.call("update_conversation")
        with pytest.raises(GatepostError, match="another conversation"):
            await assistant_changes.update_conversation(stage.db, writer.caller, note, conversation, note="4111")
        call = reader.call("hand_over")
        await assistant_changes.hand_over(stage.db, reader.caller, call, conversation, "Angry")
        assert await writer.result(BEA, "Anyway") == "refused hand_over"
        await delete_handovers(stage.db, stage.channel_id, bea)
        reader.later(minutes=61)
        assert await writer.result(BEA, "Later") == "sent"


async def nothing() -> None:
    """No key was used."""


async def test_housekeeping_expires_drafts_and_deletes_what_is_old(stage: Stage, tmp_path: Path) -> None:
    assistant = await make_assistant(stage, replace(SEND, mode="draft"))
    await assistant.read(await assistant.contact(ANA))
    assert await assistant.result(ANA) == "draft"
    settings = load(environ={}, overrides={"data": str(tmp_path), "retention.mcp_calls_days": 10})
    assert (settings.retention.mcp_calls_days, settings.mcp.draft_hours) == (10, 24)
    keeper = Housekeeper(settings, stage.db, ObjectStorage.open("", tmp_path / "media"), stage.clock, nothing)

    async def counts() -> list[int]:
        return [len(await stage.rows(table)) for table in ("drafts", "mcp_calls", "mcp_reads")]

    assistant.later(days=1, seconds=1)
    await keeper.turn(0)
    assert [row["state"] for row in await stage.rows("drafts")] == ["expired"]
    assert await counts() == [1, 2, 0]
    assistant.later(days=9)
    await keeper.turn(0)
    assert await counts() == [0, 0, 0]


async def test_a_deleted_channel_leaves_no_drafts_and_policies(stage: Stage) -> None:
    assistant = await make_assistant(stage, replace(SEND, mode="draft"))
    assert await assistant.result(ANA) == "draft"
    assert await delete_channel(stage.db, stage.caller.account_id, stage.channel_id)
    for table in ("drafts", "mcp_policies", "mcp_handovers"):
        assert await stage.rows(table) == []
    assert await assistant.result(ANA) == "failed not_found"


async def test_open_pages_are_notified_once_per_commit(stage: Stage, common_url: str) -> None:
    notified: list[str] = []
    news = asyncio.Event()
    conn = await asyncpg.connect(common_url)

    def listen(_conn: Any, _pid: int, _channel: str, payload: object) -> None:
        change = read_notice(str(payload), AccountChange)
        news.set()
        if change is not None and change.channel_id == stage.channel_id:
            notified.append(change.resource)

    async def until(reached: Callable[[], bool]) -> None:
        async with patience(lambda: notified):
            while not reached():
                news.clear()
                await news.wait()

    await conn.add_listener(ACCOUNT_CHANGES, listen)
    assistant = await make_assistant(stage, replace(SEND, mode="draft"))
    ana = await assistant.contact(ANA)
    await until(lambda: "mcp_policies" in notified)
    notified.clear()
    await assistant.read(ana)
    await until(lambda: notified == ["mcp_calls"])
    await assistant.result(ANA)
    await until(lambda: sorted(notified) == ["drafts", "mcp_calls", "mcp_calls"])
    await assistant.allow(Policy())
    await until(lambda: "mcp_policies" in notified)
    await conn.close()
