"""Reactions, edits and revokes: what each does to its target message, no matter who sends it and when it comes."""

import secrets
from itertools import permutations
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.api.contract.messages import Message, Reaction
from gatepost.model import ids, times
from gatepost.model.send_request import SendRequest
from gatepost.networks.base import (
    Incoming,
    NetworkError,
    Outgoing,
    Person,
    RemoteMedia,
    SendAccepted,
    StatusUpdate,
)
from gatepost.store.messages.amend import EMOJI_MAX, EVENTS_MAX, MEMBERS_MAX
from gatepost.store.messages.parked_changes import APPLIED
from tests.inbound.incoming_messages import (
    ANA,
    BOB,
    contact_of,
    contact_view,
    content_of,
    data,
    message_from,
    read_events,
    receive,
    row_of,
)
from tests.outbound.stage import Stage

PHONE = "5511999998888"
NAMES = {"reaction": "reaction", "edit": "edited", "revoke": "deleted"}


def touch(stage: Stage, person: Person, type_: str, target: str, word: str = "Olá", **more: Any) -> Incoming:
    contents: dict[str, Any] = {
        "reaction": {"reaction": {"emoji": word}},
        "edit": {"edit": {"type": "text", "content": {"body": word}}},
        "revoke": {},
    }
    return message_from(stage, person, type_, contents[type_], target=target, **more)


async def reactions(stage: Stage, update: Incoming) -> list[Any]:
    message = await stage.message((await row_of(stage, update))["id"])
    return list(Message.of(message, stage.clock.now()).reactions)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("type_", NAMES)
async def test_an_amendment_of_ones_own_message_changes_it_and_is_reported(
    stage: Stage, type_: str, together: bool
) -> None:
    target = message_from(stage, ANA, age=60)
    change = touch(stage, ANA, type_, target.network_id)
    for report in [[change, target]] if together else [[target], [change]]:
        await receive(stage, *report)
    row, own, contact = (
        await row_of(stage, target),
        await row_of(stage, change),
        await contact_of(stage, "5511999998888"),
    )
    assert [e["action"] for e in await read_events(stage)] == ["created", "updated"]
    assert own["target_id"] == row["id"]
    event_id = ids.parse_id("evt", (await read_events(stage))[-1]["id"])
    assert own["event_ids"] == [event_id]
    assert row["event_ids"][-1] == event_id
    more = {"reaction": {"emoji": "Olá", "from": ids.format_id("ct", contact["id"])}} if type_ == "reaction" else {}
    assert (await data(stage))[-1] == {
        "key": {"remoteJid": f"{ANA.phone}@s.whatsapp.net", "fromMe": False, "id": ids.message_id(row["id"])},
        "direction": "in",
        "type": "text",
        "content": {"body": "Olá" if type_ == "edit" else "Oi"},
        "timestamp": times.format_time(target.at),
        "contact": contact_view(stage, contact),
        "conversation": {"id": ids.format_id("cv", contact["id"])},
        "context": None,
        "change": NAMES[type_],
        **more,
    }
    assert row["edited_at"] == (change.at if type_ == "edit" else None)
    assert row["deleted_at"] == (change.at if type_ == "revoke" else None)


async def test_an_edit_keeps_the_old_words_in_its_own_row(stage: Stage) -> None:
    target = message_from(stage, ANA)
    edit = touch(stage, ANA, "edit", target.network_id)
    await receive(stage, target, edit)
    new = {"type": "text", "content": {"body": "Olá"}}
    assert await content_of(stage, edit) == {"edit": new, "previous": {"body": "Oi"}}
    assert await content_of(stage, target) == {"body": "Olá"}


@pytest.mark.parametrize("type_", NAMES)
async def test_an_amendment_of_an_unknown_message_is_stored_and_reported_as_a_message(stage: Stage, type_: str) -> None:
    change = touch(stage, ANA, type_, "wamid.nobody")
    await receive(stage, change)
    (event,) = await read_events(stage)
    assert (event["action"], event["data"]["type"]) == ("created", type_)
    row = await row_of(stage, change)
    assert (row["target_id"], row["type"]) == (None, type_)
    if type_ == "reaction":
        assert await content_of(stage, change) == {"reaction": {"emoji": "Olá", "message_id": None}}


@pytest.mark.parametrize(("length", "parked"), [(511, 1), (512, 1), (513, 0), (20_000, 0)])
async def test_a_change_of_a_message_with_a_long_id_is_stored(stage: Stage, length: int, parked: int) -> None:
    letters = "".join(chr(0x1F600 + secrets.randbelow(60)) for _ in range(length))  # four bytes each, hard to compress
    await receive(stage, touch(stage, ANA, "edit", letters))
    assert len(await stage.rows("messages")) == 1
    assert len(await stage.rows("parked_statuses")) == parked


@pytest.mark.parametrize("from_me", [True, False])
@pytest.mark.parametrize("type_", NAMES)
async def test_a_touch_that_comes_before_its_message_changes_it_when_it_comes(
    stage: Stage, type_: str, from_me: bool
) -> None:
    """The network repeats a report that was not answered, after those that came later."""
    target = message_from(stage, ANA, age=30, from_me=from_me)
    changes = [touch(stage, ANA, type_, target.network_id, word, from_me=from_me) for word in ("Olá", "Bom dia")]
    early = message_from(stage, BOB, "edit", {}, target=target.network_id)  # of somebody who may not
    await receive(stage, early, *changes)
    for _ in range(2):
        await receive(stage, target)
    row, first, last = [await row_of(stage, update) for update in (target, *changes)]
    done = changes if type_ != "revoke" else changes[:1]  # a message is deleted once
    assert (first["target_id"], last["target_id"]) == (row["id"], row["id"] if len(done) == 2 else None)
    assert (await row_of(stage, early))["target_id"] is None
    told = [event["data"]["change"] for event in await read_events(stage, "message", "updated")]
    assert told == [NAMES[type_]] * len(done)
    assert (row["edited_at"], row["deleted_at"]) == (
        done[-1].at if type_ == "edit" else None,
        done[-1].at if type_ == "revoke" else None,
    )
    assert await content_of(stage, target) == {"body": "Bom dia" if type_ == "edit" else "Oi"}
    if type_ == "reaction":
        assert [reaction.emoji for reaction in await reactions(stage, target)] == ["Bom dia"]
        shown = {"emoji": "Olá", "message_id": ids.message_id(row["id"])}
        assert await content_of(stage, changes[0]) == {"reaction": shown}
    assert await stage.rows("parked_statuses") == []


async def test_of_many_changes_that_come_before_their_message_the_newest_are_applied(stage: Stage) -> None:
    """Each takes several statements under the lock of the channel, and a stranger can send thousands."""
    target = message_from(stage, ANA, age=30)
    for batch in range(2):
        changes = [touch(stage, ANA, "edit", target.network_id, f"{batch}.{i}") for i in range(APPLIED)]
        await receive(stage, *changes)
        stage.clock.advance(1)
    await receive(stage, target)
    assert len(await read_events(stage, "message", "updated")) == APPLIED
    assert await content_of(stage, target) == {"body": f"1.{APPLIED - 1}"}
    assert await stage.rows("parked_statuses") == []


@pytest.mark.parametrize("from_me", [True, False])
@pytest.mark.parametrize("type_", ["edit", "revoke"])
async def test_nobody_edits_or_deletes_what_another_wrote(stage: Stage, type_: str, from_me: bool) -> None:
    """Not another person; not the person what the business wrote; not the business what the person wrote."""
    target = message_from(stage, ANA, from_me=from_me)
    await receive(stage, target)
    before = await row_of(stage, target)
    tries = [
        touch(stage, ANA, type_, target.network_id, from_me=not from_me),
        touch(stage, BOB, type_, target.network_id),
    ]
    for change in tries:
        await receive(stage, change)
        assert "previous" not in await content_of(stage, change)
    assert repr(await row_of(stage, target)) == repr(before)
    assert await read_events(stage, action="updated") == []


@pytest.mark.parametrize("early", [True, False])
async def test_in_a_group_only_the_author_edits_a_message(stage: Stage, early: bool) -> None:
    """All messages of a group belong to one contact, the group."""
    group = Person(user_id="120363000000000000@g.us", name="Team")
    ana, bob = ({"chat": {"kind": "group"}, "author": {"phone": one.phone, "lid": "1"}} for one in (ANA, BOB))
    bob["author"] = {"phone": BOB.phone}
    target = message_from(stage, group, age=30, context=ana)
    wrong = touch(stage, group, "edit", target.network_id, "I quit", context=bob)
    right = touch(stage, group, "edit", target.network_id, "Olá", age=10, context={"author": {"lid": "1"}})
    for update in [wrong, right, target] if early else [target, right, wrong]:
        await receive(stage, update)
    assert await content_of(stage, target) == {"body": "Olá"}
    assert len(await read_events(stage, action="updated")) == 1


@pytest.mark.parametrize("type_", NAMES)
async def test_the_business_changes_its_own_from_its_own_phone(stage: Stage, type_: str) -> None:
    await stage.take_over()
    id_ = await stage.accept(ANA.phone or "", "Hello", client_ref="mine")
    await stage.settle()
    network_id = (await stage.message(id_)).network_id or ""
    await receive(stage, touch(stage, ANA, type_, network_id, from_me=True))
    event = (await data(stage, "message", "updated"))[-1]
    assert event["key"]["id"] == ids.message_id(id_)
    assert (event["direction"], event["status"], event["client_ref"]) == ("out", "SENT", "mine")
    assert event["change"] == NAMES[type_]
    if type_ == "reaction":
        assert event["reaction"]["from"] == "me"


async def test_a_person_reacts_to_what_we_sent(stage: Stage) -> None:
    await stage.take_over()
    id_ = await stage.accept(ANA.phone or "", "Hello")
    await stage.settle()
    change = touch(stage, ANA, "reaction", (await stage.message(id_)).network_id or "", "❤️")
    await receive(stage, change)
    assert await content_of(stage, change) == {"reaction": {"emoji": "❤️", "message_id": ids.message_id(id_)}}
    assert (await data(stage))[-1]["reaction"]["emoji"] == "❤️"


async def test_one_reaction_per_person_stands_and_an_empty_one_takes_it_back(stage: Stage) -> None:
    target = message_from(stage, ANA)
    await receive(stage, target, touch(stage, ANA, "reaction", target.network_id, "👍"))
    await receive(stage, touch(stage, ANA, "reaction", target.network_id, "❤️"))
    await receive(stage, touch(stage, ANA, "reaction", target.network_id, "😀", from_me=True))
    await receive(stage, touch(stage, BOB, "reaction", target.network_id, "👀"))
    ana, bob = [ids.format_id("ct", (await contact_of(stage, p.phone or ""))["id"]) for p in (ANA, BOB)]
    assert await reactions(stage, target) == [
        Reaction("❤️", ana),
        Reaction("😀", "me"),
        Reaction("👀", bob),
    ]
    await receive(stage, touch(stage, ANA, "reaction", target.network_id, ""))
    assert [r.sender for r in await reactions(stage, target)] == ["me", bob]
    assert (await data(stage))[-1]["reaction"] == {"emoji": "", "from": ana}


async def test_in_a_group_each_member_has_one_reaction(stage: Stage) -> None:
    group = Person(user_id="120363000000000000@g.us", name="Team")
    target = message_from(stage, group, age=90, context={"author": {"phone": ANA.phone}})
    await receive(stage, target, touch(stage, group, "reaction", target.network_id, "😶", age=80))

    async def by(emoji: str, age: float, **author: Any) -> None:
        chat = {"chat": {"kind": "group"}, "author": {**author, "name": "Somebody"}}
        await receive(stage, touch(stage, group, "reaction", target.network_id, emoji, age=age, context=chat))

    async def shown() -> list[tuple[str, dict[str, str]]]:
        rows = await reactions(stage, target)
        assert {row.sender for row in rows} == {team}
        return [(row.emoji, msgspec.to_builtins(row.author)) for row in rows if row.author]

    team = (await reactions(stage, target))[0].sender  # stored by a version that kept one for the whole group
    await by("👍", 70, phone=ANA.phone)
    await by("👀", 60, lid="1")
    await by("❤️", 50, phone=BOB.phone)
    assert await shown() == [("👍", {"phone": ANA.phone}), ("👀", {"lid": "1"}), ("❤️", {"phone": BOB.phone})]
    await by("😀", 40, phone=ANA.phone, lid="1")  # two ids of one person
    await by("😢", 65, lid="1")  # late
    assert await shown() == [("❤️", {"phone": BOB.phone}), ("😀", {"phone": ANA.phone, "lid": "1"})]
    await by("", 30, lid="1")
    assert await shown() == [("❤️", {"phone": BOB.phone})]
    assert (await data(stage))[-1]["reaction"] == {"emoji": "", "from": team, "author": {"lid": "1"}}
    await receive(stage, touch(stage, group, "reaction", target.network_id, "🎉", from_me=True, context={"author": {}}))
    assert [row.sender for row in await reactions(stage, target)] == [team, "me"]


async def test_reactions_of_a_large_group_are_limited_to_the_newest(stage: Stage) -> None:
    group = Person(user_id="120363000000000000@g.us", name="Team")
    target = message_from(stage, group, age=2 * MEMBERS_MAX)
    await receive(stage, target, touch(stage, group, "reaction", target.network_id, "🎉", from_me=True))
    change = [
        touch(
            stage, group, "reaction", target.network_id, "👍", age=MEMBERS_MAX - i, context={"author": {"lid": str(i)}}
        )
        for i in range(MEMBERS_MAX + 2)
    ]
    await receive(stage, *change)
    me, *others = await reactions(stage, target)
    assert (me.sender, [one.author.lid for one in others]) == ("me", [str(i + 2) for i in range(MEMBERS_MAX)])


async def test_a_reaction_of_any_length_is_stored_as_an_emoji(stage: Stage) -> None:
    target = message_from(stage, ANA)
    await receive(stage, target, touch(stage, ANA, "reaction", target.network_id, "👍" * 10_000))
    assert [one.emoji for one in await reactions(stage, target)] == ["👍" * EMOJI_MAX]
    await receive(stage, touch(stage, ANA, "reaction", target.network_id, ""))
    assert await reactions(stage, target) == []


async def react(stage: Stage, target: Incoming, emoji: str) -> UUID:
    """React to a message as the API does; return the id of the reaction."""
    named = {"message_id": ids.message_id((await row_of(stage, target))["id"]), "emoji": emoji}
    request = SendRequest(phone=ANA.phone, type="reaction", reaction=named)
    accepted = await stage.acceptor.accept(stage.caller, request)
    return UUID(hex=msgspec.json.decode(accepted.answer)["data"]["key"]["id"])


@pytest.mark.parametrize("status_first", [False, True])
async def test_our_own_reaction_is_shown_when_it_is_sent(stage: Stage, status_first: bool) -> None:
    async def report_first(message: Outgoing) -> SendAccepted:
        name = f"wamid.{message.id.hex}.1"
        if status_first:
            await receive(stage, StatusUpdate(name, "delivered", stage.clock.now(), message_id=message.id, attempt=1))
        return SendAccepted(name)

    stage.network.answer = report_first
    target = message_from(stage, ANA)
    await receive(stage, target)
    for emoji in ("👍", "❤️", ""):
        stage.clock.advance(10)
        await react(stage, target, emoji)
        before = await reactions(stage, target)
        if not hasattr(stage, "lane"):
            await stage.take_over()
        await stage.settle()
        assert await reactions(stage, target) == ([Reaction(emoji, "me")] if emoji else [])
        assert await reactions(stage, target) != before
        changed = [one for one in await data(stage) if one.get("change") == "reaction"]
        assert changed[-1]["reaction"] == {"emoji": emoji, "from": "me"}
    assert len(changed) == 3


async def test_a_reaction_that_the_network_refuses_later_is_removed(stage: Stage) -> None:
    await stage.take_over()
    target = message_from(stage, ANA)
    await receive(stage, target)
    first = await react(stage, target, "👍")
    await stage.settle()
    stage.clock.advance(10)
    failed = StatusUpdate(
        f"wamid.{first.hex}.1",
        "failed",
        stage.clock.now(),
        message_id=first,
        attempt=1,
        error=NetworkError(131047, "Re-engagement message"),
    )
    await receive(stage, failed)
    assert await reactions(stage, target) == []
    assert (await data(stage))[-1]["reaction"] == {"emoji": "", "from": "me"}
    second = await react(stage, target, "👍")
    await stage.settle()
    stage.clock.advance(10)
    await react(stage, target, "❤️")
    await stage.settle()
    await receive(
        stage,
        msgspec.structs.replace(failed, network_id=f"wamid.{second.hex}.1", message_id=second, at=stage.clock.now()),
    )
    assert await reactions(stage, target) == [Reaction("❤️", "me")]


@pytest.mark.parametrize("together", [True, False])
async def test_an_edit_and_a_reaction_do_not_undo_each_other(stage: Stage, together: bool) -> None:
    for order in permutations(["edit", "reaction", "revoke"]):
        if order.index("revoke") < order.index("edit"):
            continue  # what was deleted is not edited any more
        target = message_from(stage, ANA)
        changes = [touch(stage, ANA, type_, target.network_id, "new") for type_ in order]
        for report in [[target, *changes]] if together else [[target], *([change] for change in changes)]:
            await receive(stage, *report)
        row = await row_of(stage, target)
        assert await content_of(stage, target) == {"body": "new"}
        assert [r.emoji for r in await reactions(stage, target)] == ["new"]
        assert row["edited_at"]
        assert row["deleted_at"]
        assert len(row["event_ids"]) == 4


async def test_what_comes_late_does_not_undo_what_came_after(stage: Stage) -> None:
    for late_first in (True, False):
        target = message_from(stage, ANA, age=100)
        await receive(stage, target)
        for type_ in ("edit", "reaction"):
            old = touch(stage, ANA, type_, target.network_id, "old", age=50)
            new = touch(stage, ANA, type_, target.network_id, "new", age=10)
            for change in (new, old) if late_first else (old, new):
                await receive(stage, change)
        assert await content_of(stage, target) == {"body": "new"}
        assert [r.emoji for r in await reactions(stage, target)] == ["new"]


async def test_a_reaction_that_was_taken_back_does_not_return_with_a_late_report(stage: Stage) -> None:
    target = message_from(stage, ANA, age=100)
    await receive(stage, target, touch(stage, ANA, "reaction", target.network_id, "", age=10))
    await receive(stage, touch(stage, ANA, "reaction", target.network_id, "👍", age=50))
    assert await reactions(stage, target) == []


async def test_a_message_remembers_a_bounded_number_of_events(stage: Stage) -> None:
    target = message_from(stage, ANA)
    await receive(stage, target)
    known = [ids.new_id(stage.clock.now()) for _ in range(EVENTS_MAX - 1)]
    async with stage.db.connection() as conn:
        await conn.execute("UPDATE messages SET event_ids = $2 WHERE channel_id = $1", stage.channel_id, known)
    for emoji in "ab":
        await receive(stage, touch(stage, ANA, "reaction", target.network_id, emoji))
    row, changes = await row_of(stage, target), await read_events(stage, "message", "updated")
    assert row["event_ids"] == [*known, ids.parse_id("evt", changes[0]["id"])]
    assert [reaction.emoji for reaction in await reactions(stage, target)] == ["b"]


async def test_what_was_deleted_is_not_edited_nor_deleted_again(stage: Stage) -> None:
    target = message_from(stage, ANA, age=100)
    await receive(stage, target, touch(stage, ANA, "revoke", target.network_id, age=50))
    before = repr(await row_of(stage, target))
    await receive(stage, touch(stage, ANA, "edit", target.network_id), touch(stage, ANA, "revoke", target.network_id))
    assert repr(await row_of(stage, target)) == before


async def test_an_edited_caption_leaves_the_file_where_it_is(stage: Stage) -> None:
    file = RemoteMedia("handle", "image/png")
    target = message_from(stage, ANA, "image", {"media": {"mime_type": "image/png"}, "caption": "old"}, media=file)
    await receive(stage, target)
    media = (await content_of(stage, target))["media"]
    new = {"edit": {"type": "image", "content": {"media": {"mime_type": "image/png"}, "caption": "new"}}}
    await receive(stage, message_from(stage, ANA, "edit", new, target=target.network_id, media=file))
    assert await content_of(stage, target) == {"media": media, "caption": "new"}
    assert len(await stage.rows("media")) == 1


async def test_an_edit_of_an_unknown_picture_brings_its_file(stage: Stage) -> None:
    new = {"edit": {"type": "image", "content": {"media": {"mime_type": "image/png"}, "caption": "new"}}}
    edit = message_from(stage, ANA, "edit", new, target="nobody's", media=RemoteMedia("handle", "image/png"))
    await receive(stage, edit)
    (file,) = await stage.rows("media")
    media = {"id": ids.format_id("med", file["id"]), "mime_type": "image/png"}
    assert (await content_of(stage, edit))["edit"]["content"] == {"caption": "new", "media": media}
