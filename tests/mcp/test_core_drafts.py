"""Drafts as people use them: created, edited, approved once, refused; what changed since is noticed."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.account import Caller, Plan, Principal
from gatepost.model.draft import COMMENT_MAX, WAITING_MAX
from gatepost.model.errors import Conflict, GatepostError, NotFound
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import Acceptor
from gatepost.services import drafts
from gatepost.store.contacts.changes import delete_contact, merge_contacts
from gatepost.store.drafts import DraftRow, count_waiting, expire_drafts
from gatepost.store.pool import Database
from tests.mcp.core_assistant import SEND, Assistant, make_assistant
from tests.mcp.test_core_sends import second_node, sent_messages
from tests.outbound.stage import NOW, Stage, check_no_link, make_stage

ANA, BEA, NEW = "5511999990001", "5511999990002", "5511999990003"
replace = msgspec.structs.replace


class People:
    """A person of the stage's account who decides about drafts."""

    def __init__(self, stage: Stage, name: str = "Bob") -> None:
        principal = Principal("session", uuid4(), frozenset({"send"}), user_id=uuid4(), label=name)
        self.stage = stage
        self.caller: Caller = replace(stage.caller, principal=principal)

    async def create(self, phone: str = ANA, body: str = "Hi", **options: Any) -> str:
        request = SendRequest(phone=phone, body=body)
        made = await drafts.create_draft(self.stage.db, self.caller, request, self.stage.clock.now(), **options)
        return ids.format_id("drf", made.id)

    async def edit(self, draft: str, body: str, phone: str = ANA, **options: Any) -> DraftRow:
        now, request = self.stage.clock.now(), SendRequest(phone=phone, body=body)
        return await drafts.edit_draft(self.stage.db, self.caller, draft, request, now, **options)

    async def approve(self, draft: str, acceptor: Acceptor | None = None, **options: Any) -> DraftRow:
        approve, now = (acceptor or self.stage.acceptor).approve, self.stage.clock.now()
        return await drafts.approve_draft(self.stage.db, approve, self.caller, draft, now, **options)

    async def refuse(self, draft: str, comment: str | None = None) -> DraftRow:
        return await drafts.refuse_draft(self.stage.db, self.caller, draft, comment, self.stage.clock.now())

    async def get(self, draft: str) -> DraftRow:
        return await drafts.access_draft(self.stage.db, self.stage.channel_id, draft, self.stage.clock.now())


async def code_of(work: Any) -> str:
    try:
        await work
    except GatepostError as error:
        return error.code
    return "done"


@pytest.fixture
def people(stage: Stage) -> People:
    return People(stage)


async def drafted(stage: Stage, phone: str = ANA, body: str = "Hi") -> tuple[Assistant, str]:
    assistant = await make_assistant(stage, replace(SEND, mode="draft"))
    answer = await assistant.send(phone, body)
    assert answer.draft is not None
    return assistant, answer.draft


async def test_an_approved_draft_is_sent_by_the_person(stage: Stage, people: People) -> None:
    assistant, draft = await drafted(stage)
    assert (await people.get(draft)).state == "waiting"
    sent = await people.approve(draft)
    (message,) = await stage.rows("messages")
    assert (sent.state, sent.message_id, sent.decided_at) == ("sent", message["id"], NOW)
    assert sent.decided_by == message["sent_by"] == people.caller.principal.sender_text
    assert sent.created_by == assistant.caller.principal.sender_text
    for work in (people.approve(draft), people.edit(draft, "x"), people.refuse(draft)):
        assert await code_of(work) == "wrong_state"
    assert await sent_messages(stage) == ["Hi"]
    await stage.take_over()
    await stage.drive(1)
    assert stage.network.bodies == ["Hi"]


async def test_of_many_approvals_at_once_one_sends(stage: Stage, people: People, common_url: str) -> None:
    _, draft = await drafted(stage)
    other = People(stage, "Eve")
    async with second_node(stage, common_url) as node:
        works = [
            code_of((people, other)[i % 2].approve(draft, acceptor=node if i % 3 else stage.acceptor))
            for i in range(20)
        ]
        works.append(code_of(people.refuse(draft)))
        works.append(code_of(people.edit(draft, "Other")))
        results = Counter(await asyncio.gather(*works))
    found = await people.get(draft)
    if found.state == "sent":
        assert await sent_messages(stage) in (["Hi"], ["Other"])
    else:
        assert (found.state, await sent_messages(stage)) == ("refused", [])
    assert results["done"] <= 2  # one decision, and perhaps an edit before it
    assert results["done"] + results["wrong_state"] == 22


async def test_two_approvals_send_one_message(stage: Stage, people: People) -> None:
    for number in range(5):
        _, draft = await drafted(stage, body=str(number))
        results = await asyncio.gather(*(code_of(people.approve(draft)) for _ in range(2)))
        assert sorted(results) == ["done", "wrong_state"]
    assert await sent_messages(stage) == ["0", "1", "2", "3", "4"]


async def test_what_is_sent_is_the_revision_that_was_read(stage: Stage, people: People) -> None:
    _, draft = await drafted(stage)
    edited = await people.edit(draft, "Better", revision=1)
    assert (edited.revision, edited.edited_by) == (2, people.caller.principal.sender_text)
    assert msgspec.json.decode(edited.body)["body"] == "Better"
    assert await code_of(people.edit(draft, "Worse", revision=1)) == "wrong_state"
    assert await code_of(people.approve(draft, revision=1)) == "wrong_state"

    async def edit_first(caller: Caller, request: SendRequest, approval: Any) -> object:
        await People(stage, "Eve").edit(draft, "Third")
        return await stage.acceptor.approve(caller, request, approval)

    work = drafts.approve_draft(stage.db, edit_first, people.caller, draft, NOW)
    assert await code_of(work) == "wrong_state"
    assert await code_of(people.approve(draft, revision=3)) == "done"
    assert await sent_messages(stage) == ["Third"]
    other = await people.create()
    with pytest.raises(GatepostError, match=r"message\.phone"):
        await people.edit(other, "Hi", phone=BEA)
    assert await code_of(people.edit(other, " ")) == "invalid_field"


async def test_the_person_has_written_since(stage: Stage, people: People) -> None:
    _, draft = await drafted(stage)
    await stage.receive_text(ANA)
    assert (await people.get(draft)).written_since
    assert await code_of(people.approve(draft)) == "conversation_changed"
    assert (await people.get(draft)).state == "waiting"
    assert not (await people.edit(draft, "After reading it")).written_since
    await stage.receive_text(ANA)
    assert await code_of(people.approve(draft)) == "conversation_changed"
    assert await code_of(people.approve(draft, anyway=True)) == "done"
    new = await people.create(NEW)
    await stage.receive_text(NEW)  # somebody who was not known
    assert await code_of(people.approve(new)) == "conversation_changed"


async def test_a_message_that_arrives_during_the_approval_is_noticed(stage: Stage, people: People) -> None:
    _, draft = await drafted(stage)

    async def receive_first(caller: Caller, request: SendRequest, approval: Any) -> object:
        await stage.receive_text(ANA)
        return await stage.acceptor.approve(caller, request, approval)

    assert (
        await code_of(drafts.approve_draft(stage.db, receive_first, people.caller, draft, NOW))
        == "conversation_changed"
    )
    assert await sent_messages(stage) == []


async def test_a_draft_expires_by_the_clock(stage: Stage, people: People) -> None:
    _, draft = await drafted(stage)
    stage.clock.advance(timedelta(hours=24).total_seconds() - 1)
    assert (await people.get(draft)).state == "waiting"
    assert await count_waiting(stage.db, stage.channel_id, stage.clock.now()) == 1
    stage.clock.advance(1)
    assert (await people.get(draft)).state == "expired"
    assert await count_waiting(stage.db, stage.channel_id, stage.clock.now()) == 0
    for work in (people.approve(draft), people.edit(draft, "x"), people.refuse(draft)):
        assert await code_of(work) == "wrong_state"
    await expire_drafts(stage.db, stage.clock.now() + timedelta(seconds=1))
    (row,) = await stage.rows("drafts")
    assert (row["state"], row["decided_at"]) == ("expired", NOW + timedelta(hours=24))
    assert await sent_messages(stage) == []


async def test_a_message_that_cannot_be_sent_leaves_the_draft(stage: Stage, people: People) -> None:
    _, draft = await drafted(stage)
    acceptor = Acceptor(stage.db, stage.clock, {"unlimited": Plan("Test", messages_per_month=0)}, 10, check_no_link)
    assert await code_of(people.approve(draft, acceptor=acceptor)) == "plan_quota_exceeded"
    windowed = People(stage)
    windowed.caller = replace(windowed.caller, window=True)
    assert await code_of(windowed.approve(draft)) == "window_closed"
    found = await people.get(draft)
    assert (found.state, found.revision) == ("waiting", 1)
    assert (await people.approve(draft)).state == "sent"


async def test_a_draft_is_refused_with_a_comment(stage: Stage, people: People) -> None:
    _, draft = await drafted(stage)
    refused = await people.refuse(draft, "Too long")
    assert (refused.state, refused.comment, refused.message_id) == ("refused", "Too long", None)
    assert refused.decided_by == people.caller.principal.sender_text
    other = await people.create()
    assert await code_of(people.refuse(other, "x" * (COMMENT_MAX + 1))) == "invalid_field"
    assert await code_of(people.refuse(other, "a\x00")) == "invalid_field"
    assert (await people.refuse(other)).comment is None


async def test_people_create_drafts(stage: Stage, people: People) -> None:
    draft = await people.get(await people.create(reason="Please check", life=timedelta(hours=1)))
    assert (draft.reason, draft.rule, draft.key_id, draft.contact) == ("Please check", None, None, None)
    assert (draft.expires_at, draft.created_by) == (NOW + timedelta(hours=1), people.caller.principal.sender_text)
    assert await code_of(people.create("12")) == "invalid_phone"
    assert await stage.rows("contacts") == []
    made = await asyncio.gather(*(code_of(people.create()) for _ in range(5)))
    assert set(made) == {"done"}
    await stage.db.execute(
        """INSERT INTO drafts SELECT channel_id, gen_random_uuid(), contact_id, phone, body, state, created_by, key_id,
               rule, reason, revision, created_at, edited_at, edited_by, expires_at, decided_at, decided_by, comment,
               message_id, seen_event_id FROM drafts, generate_series(1, $2) WHERE channel_id = $1 AND id = $3""",
        stage.channel_id,
        WAITING_MAX - 7,
        draft.id,
    )
    results = await asyncio.gather(*(code_of(people.create()) for _ in range(4)))
    assert Counter(results) == {"done": 1, "wrong_state": 3}


async def test_drafts_of_another_channel_do_not_exist(stage: Stage, people: People, db: Database) -> None:
    _, draft = await drafted(stage)
    stranger = People(await make_stage(db))
    for work in (stranger.get(draft), stranger.approve(draft), stranger.edit(draft, "x"), stranger.refuse(draft)):
        with pytest.raises(NotFound):
            await work
    for wrong in ("drf_x", "x", ids.format_id("ct", uuid4()), ids.format_id("drf", uuid4())):
        with pytest.raises(NotFound):
            await people.get(wrong)
    with pytest.raises(NotFound):
        await list_them(stranger, conversation=ids.format_id("cv", uuid4()))
    assert await list_them(stranger) == []


async def list_them(people: People, **filter_: Any) -> list[str]:
    stage = people.stage
    found = await drafts.list_drafts(
        stage.db, stage.channel_id, before=None, limit=10, now=stage.clock.now(), **filter_
    )
    return [ids.format_id("drf", one.id) for one in found]


async def test_lists(stage: Stage, people: People) -> None:
    _, draft = await drafted(stage)
    other = await people.create(BEA)
    ana = ids.format_id("cv", await Assistant(stage, stage.caller).contact(ANA))
    assert await list_them(people, conversation=ana) == [draft]
    await people.refuse(other)
    assert await list_them(people, state="waiting") == [draft]
    assert await list_them(people, state="refused") == [other]
    with pytest.raises(GatepostError, match="state"):
        await list_them(people, state="lost")


async def test_drafts_follow_a_merged_contact_and_are_refused_with_a_deleted_one(stage: Stage, people: People) -> None:
    assistant = await make_assistant(stage, replace(SEND, mode="draft", unanswered=1))
    ana, bea = await assistant.contact(ANA), await assistant.contact(BEA)
    stage.clock.advance(1)
    assert await assistant.result(BEA) == "draft"
    await merge_contacts(stage.db, stage.ref, stage.channel_id, ana, bea, stage.clock.now())
    conversation = ids.format_id("cv", ana)
    (draft,) = await list_them(people, conversation=conversation)
    assert await assistant.result(ANA) == "refused unanswered"
    unknown = await people.create(NEW)
    await stage.receive_text(NEW)
    new = await assistant.contact(NEW)
    for contact_id in (ana, new):
        assert await delete_contact(stage.db, stage.ref, stage.channel_id, contact_id, stage.clock.now())
    for gone in (draft, unknown):
        found = await people.get(gone)
        assert (found.state, found.comment) == ("refused", "The contact was deleted.")
    with pytest.raises(Conflict):
        await people.approve(draft)
