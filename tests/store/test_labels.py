"""Labels that a linked phone brings, beside those that people make here: one name, one label."""

from typing import Any
from uuid import UUID

from gatepost.model.label import NAME_MAX, PALETTE, numbered, shown_color
from gatepost.networks.base import LabelUpdate
from gatepost.store.channel_head import channel_transaction
from gatepost.store.labels import CONTACT, CONVERSATION, ChannelLabels, get_label, list_labels, read_labels_by_contact
from tests.inbound.incoming_messages import ANA, contact_of, data, message_from, read_events, receive
from tests.outbound.stage import Stage, make_stage


def news(stage: Stage, network_id: str, name: str | None, color: int | None = None, **more: Any) -> LabelUpdate:
    return LabelUpdate(network_id, more.pop("action", "changed"), stage.clock.now(), name, color, **more)


async def make(stage: Stage, name: str) -> UUID:
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as change:
        return (await ChannelLabels(change).add(name, "#123456")).id


async def names(stage: Stage) -> list[str]:
    return [label.name for label in await list_labels(stage.db, stage.channel_id)]


async def test_a_label_of_the_phone_with_a_name_that_is_here_is_the_same_label(stage: Stage) -> None:
    label_id = await make(stage, "vip")
    for _ in range(2):
        await receive(stage, news(stage, "L1", "VIP", 2))
    (row,) = await stage.rows("labels")
    assert (row["id"], row["network_id"], row["name"]) == (label_id, "L1", "VIP")
    assert [event["action"] for event in await read_events(stage, "label")] == ["created", "updated"]
    assert [event["color"] for event in await data(stage, "label")] == ["#123456", PALETTE[2]]


async def test_two_labels_of_the_phone_with_one_name_stay_two(stage: Stage) -> None:
    for _ in range(2):
        await receive(stage, news(stage, "L1", "VIP"), news(stage, "L2", "vip"), news(stage, "L3", "Vip"))
    assert await names(stage) == ["VIP", "vip (2)", "Vip (3)"]
    assert [event["action"] for event in await read_events(stage, "label")] == ["created"] * 3
    await receive(stage, news(stage, "L2", "late"), news(stage, "L3", "LATE"))
    assert await names(stage) == ["late", "LATE (2)", "VIP"]
    await make(stage, "mine")
    await receive(stage, news(stage, "L1", "Mine"))
    assert await names(stage) == ["late", "LATE (2)", "mine", "Mine (2)"]


async def test_a_name_of_any_length_fits(stage: Stage) -> None:
    long = "x" * 10_000
    for _ in range(2):
        await receive(
            stage, news(stage, "L1", long), news(stage, "L2", long), news(stage, long, None, action="assigned")
        )
    assert [len(name) for name in await names(stage)] == [NAME_MAX] * 3
    assert len(set(await names(stage))) == 3


def test_numbers_and_colours() -> None:
    assert numbered("VIP", 1) == "VIP"
    assert numbered("x" * 64, 2) == "x" * 60 + " (2)"
    shown = [shown_color(stored) for stored in ("#abcdef", "0", "3", str(len(PALETTE)), "", "-1", "²")]
    assert shown == ["#abcdef", PALETTE[0], PALETTE[3], PALETTE[0], PALETTE[0], PALETTE[0], PALETTE[0]]
    assert len(set(PALETTE)) == len(PALETTE)


async def test_labels_of_several_people_by_what_they_are_on(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA))
    contact_id = (await contact_of(stage, ANA.phone or ""))["id"]
    one, two = await make(stage, "b"), await make(stage, "A")
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as change:
        labels = ChannelLabels(change)
        person = await labels.find_person(contact_id)
        assert person is not None
        for label_id, target in ((one, CONVERSATION), (two, CONVERSATION), (two, CONTACT)):
            label = await labels.find(label_id)
            assert label is not None
            await labels.assign(label, person, target)
        nobody = UUID(int=7)
        on_talks = await read_labels_by_contact(change.conn, stage.channel_id, [contact_id, nobody], CONVERSATION)
        on_people = await read_labels_by_contact(change.conn, stage.channel_id, [contact_id], CONTACT)
    assert {key: [label.name for label in found] for key, found in on_talks.items()} == {
        contact_id: ["A", "b"],
        nobody: [],
    }
    assert [label.id for label in on_people[contact_id]] == [two]


async def test_channels_share_no_names(stage: Stage) -> None:
    other = await make_stage(stage.db)
    mine, theirs = await make(stage, "VIP"), await make(other, "vip")
    assert await get_label(stage.db, stage.channel_id, theirs) is None
    assert [label.id for label in await list_labels(stage.db, stage.channel_id)] == [mine]
