"""Updates of labels, templates, the number and preferences: each is stored, and reported if something changed."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from gatepost.model import ids, times
from gatepost.model.label import PALETTE
from gatepost.model.template.values import Template
from gatepost.networks.base import (
    ErrorReaction,
    LabelUpdate,
    NetworkError,
    NumberUpdate,
    Person,
    StatusUpdate,
    TemplateUpdate,
)
from gatepost.store.contacts.changes import ContactFields, change_contact
from gatepost.store.network_updates import STALE_TEMPLATES
from gatepost.store.templates import find_templates, put_template
from tests.inbound.incoming_messages import (
    ANA,
    BOB,
    contact_of,
    contact_view,
    data,
    message_from,
    read_events,
    receive,
    snapshot,
)
from tests.outbound.stage import Stage


def label(stage: Stage, action: Any, name: str | None = "VIP", color: int | None = 3, **more: Any) -> LabelUpdate:
    return LabelUpdate(more.pop("id", "L1"), action, stage.clock.now(), name, color, **more)


async def again(stage: Stage, *updates: Any) -> None:
    """Takes in news, and then twice more, which changes nothing."""
    await receive(stage, *updates)
    before = await snapshot(stage)
    await receive(stage, *updates, *updates)
    await receive(stage, *updates)
    assert await snapshot(stage) == before


# -- labels -----------------------------------------------------------------------------------------------------------


async def test_the_life_of_a_label(stage: Stage) -> None:
    await again(stage, label(stage, "changed"))
    (row,) = await stage.rows("labels")
    assert (row["network_id"], row["name"], row["color"]) == ("L1", "VIP", "3")
    await again(stage, label(stage, "changed", "Very important", 4))
    await again(stage, label(stage, "assigned", None, None, person=ANA))
    (use,), contact = await stage.rows("label_uses"), await contact_of(stage, ANA.phone or "")
    assert (use["label_id"], use["contact_id"], use["target"]) == (row["id"], contact["id"], "conversation")
    await again(stage, label(stage, "removed", None, None, person=ANA))
    assert await stage.rows("label_uses") == []
    await again(stage, label(stage, "assigned", None, None, person=BOB))
    await again(stage, label(stage, "deleted"))
    assert await stage.rows("labels") + await stage.rows("label_uses") == []
    shown_as = {"id": ids.format_id("lb", row["id"]), "name": "Very important", "color": PALETTE[4]}
    on_ana = {
        "target": "conversation",
        "contact": contact_view(stage, contact),
        "conversation": {"id": ids.format_id("cv", contact["id"])},
    }
    events = [(event["action"], event["data"]) for event in await read_events(stage, "label")]
    assert events[:4] == [
        ("created", {**shown_as, "name": "VIP", "color": PALETTE[3]}),
        ("updated", shown_as),
        ("assigned", {**shown_as, **on_ana}),
        ("removed", {**shown_as, **on_ana}),
    ]
    assert [action for action, _ in events[4:]] == ["assigned", "deleted"]


async def test_a_label_that_is_used_before_it_is_named(stage: Stage) -> None:
    await again(stage, label(stage, "assigned", None, None, person=ANA))
    await again(stage, label(stage, "changed", "VIP", 3))
    assert [e["action"] for e in await read_events(stage, "label")] == ["created", "assigned", "updated"]
    assert [e["name"] for e in await data(stage, "label")] == ["L1", "L1", "VIP"]


@pytest.mark.parametrize("action", ["removed", "deleted"])
async def test_a_label_that_nobody_knows_is_not_made_to_be_taken_away(stage: Stage, action: str) -> None:
    await again(stage, label(stage, action, person=ANA if action == "removed" else None))
    assert await stage.rows("labels") == []
    assert await read_events(stage, "label") == []


async def test_a_whole_life_in_one_report(stage: Stage) -> None:
    await receive(
        stage,
        label(stage, "changed"),
        label(stage, "assigned", person=ANA),
        label(stage, "removed", person=ANA),
        label(stage, "assigned", person=BOB),
        label(stage, "deleted"),
        message_from(stage, ANA),
    )
    actions = ["created", "assigned", "removed", "assigned", "deleted"]
    assert [e["action"] for e in await read_events(stage, "label")] == actions
    assert len(await stage.rows("contacts")) == 2


# -- templates --------------------------------------------------------------------------------------------------------


async def test_what_the_network_says_of_a_template_is_noted(stage: Stage) -> None:
    body = [{"type": "BODY", "text": "Hello"}]
    template = Template("hello", "en_US", "UTILITY", body, status="PENDING", network_id="900")
    now = stage.clock.now()
    await put_template(stage.db, stage.ref, stage.channel_id, template, now, now)
    await receive(stage, TemplateUpdate("900", "hello", "en_US", status="REJECTED", reason="INVALID_FORMAT"))
    await receive(
        stage, TemplateUpdate("900", "hello", "en_US", quality="RED"), TemplateUpdate("77", "who", "en_US", "PAUSED")
    )
    await receive(stage, TemplateUpdate("900", "hello", "en_US", category="MARKETING"))
    async with stage.db.connection() as conn:
        (found,) = (await find_templates(conn, stage.channel_id, [("hello", "en_US")])).values()
    assert (found.status, found.reason, found.quality) == ("REJECTED", "INVALID_FORMAT", "RED")
    assert found.category == "MARKETING"
    assert [e["action"] for e in await read_events(stage, "system")] == ["template_rejected"]


async def test_the_decisions_of_one_report_are_events_in_their_order(stage: Stage) -> None:
    now = stage.clock.now()
    template = Template("hello", "en_US", "UTILITY", [], status="PENDING", network_id="900")
    await put_template(stage.db, stage.ref, stage.channel_id, template, now, now)
    statuses = ("APPROVED", "APPROVED", "IN_APPEAL", "FLAGGED", "PAUSED", "PAUSED", "DELETED", "APPROVED")
    await receive(stage, *(TemplateUpdate("900", "hello", "en_US", status) for status in statuses))
    decisions = [(e["previous"], e["status"]) for e in await data(stage, "system")]
    assert decisions == [("PENDING", "APPROVED"), ("IN_APPEAL", "PAUSED")]


async def test_templates_are_read_again_after_a_report_that_may_be_older_than_what_is_known(stage: Stage) -> None:
    now = stage.clock.now()
    template = Template("hello", "en_US", "UTILITY", [], status="PENDING", network_id="900")
    await put_template(stage.db, stage.ref, stage.channel_id, template, now, now)

    async def stale_after(*reports: tuple[str, float]) -> bool:
        updates = [TemplateUpdate("900", "hello", "en_US", s, at=now + timedelta(seconds=at)) for s, at in reports]
        await receive(stage, *updates)
        async with stage.db.connection() as conn:
            marked = "UPDATE channels SET state = state - $2::text WHERE id = $1 AND state ? $2 RETURNING 1"
            return await conn.fetchval(marked, stage.channel_id, STALE_TEMPLATES) is not None

    stage.clock.advance(60.9)
    assert not await stale_after(("APPROVED", 10), ("PAUSED", 20))
    assert await stale_after(("APPROVED", 10)), "the first one once more"
    assert not await stale_after(("APPROVED", 60), ("PAUSED", 61))
    stage.clock.advance(60)
    assert await stale_after(("DISABLED", 100), ("PAUSED", 99)), "in the wrong order"


# -- the number -------------------------------------------------------------------------------------------------------


async def channel(stage: Stage) -> tuple[Any, Any, str, str | None]:
    async with stage.db.connection() as conn:
        row = await conn.fetchrow(
            "SELECT state, limits, connection, reason FROM channels WHERE id = $1", stage.channel_id
        )
    assert row is not None
    return msgspec.json.decode(row["state"]), msgspec.json.decode(row["limits"]), row["connection"], row["reason"]


async def test_tier_throughput_and_quality_are_noted(stage: Stage) -> None:
    await receive(stage, NumberUpdate("THROUGHPUT_UPGRADE", throughput=1000), NumberUpdate("ONBOARDING", tier=10_000))
    stage.clock.advance(60)
    await receive(stage, NumberUpdate("UPGRADE", tier=0, quality="GREEN"))
    state, limits, _, _ = await channel(stage)
    now = times.format_time(stage.clock.now())
    assert limits == {"throughput": 1000, "tier": 0}
    assert state.pop("number_stale_since") == now, "what else has changed is to be read"
    assert state == {"last_event": "UPGRADE", "quality": "GREEN", "tier_from": "network", "tier_since": now, "at": now}
    (event,) = await read_events(stage)
    assert (event["type"], event["action"]) == ("system_notification", "number_tier_changed")
    assert event["data"] == {"tier": 0, "previous": 10_000}, "the first values that were reported are no change"


async def test_a_problem_of_the_number_is_stored_for_the_sender(stage: Stage) -> None:
    at, later = stage.clock.now() - timedelta(seconds=5), stage.clock.now()
    unpaid = NetworkError(131042, "Unpaid", advice="Pay.")
    await receive(
        stage, StatusUpdate("wamid.1", "failed", at, error=NetworkError(131026, "t"), reaction=ErrorReaction.FINAL)
    )
    assert "trouble" not in (await channel(stage))[0]
    failed = [
        StatusUpdate(f"wamid.{n}", "failed", when, error=unpaid, reaction=ErrorReaction.BREAK)
        for n, when in ((2, at), (3, later))
    ]
    await receive(stage, *failed)
    assert (await channel(stage))[0]["trouble"] == {"because": "Pay.", "at": times.format_time(later)}
    stage.clock.advance(60)
    await receive(stage, NumberUpdate("error", details={"advice": "Unlock."}, reaction=ErrorReaction.BREAK))
    assert (await channel(stage))[0]["trouble"] == {"because": "Unlock.", "at": times.format_time(stage.clock.now())}


async def test_a_limit_of_new_conversations_is_stored_for_the_sender(stage: Stage) -> None:
    spam, unpaid = NetworkError(131048, "Spam", advice="Write less."), NetworkError(131042, "Unpaid", advice="Pay.")
    at = stage.clock.now()
    await receive(
        stage,
        StatusUpdate("wamid.1", "failed", at, error=spam, reaction=ErrorReaction.HOLD_NEW),
        StatusUpdate("wamid.2", "failed", at, error=unpaid, reaction=ErrorReaction.BREAK),
    )
    state = (await channel(stage))[0]
    assert state["trouble_with_new"] == {"because": "Write less.", "at": times.format_time(at)}
    assert state["trouble"] == {"because": "Pay.", "at": times.format_time(at)}


async def test_a_restriction_that_has_ended_is_no_problem(stage: Stage) -> None:
    now = stage.clock.now()
    restricted = NumberUpdate("ACCOUNT_RESTRICTION", details={"advice": "Wait."}, reaction=ErrorReaction.HOLD_NEW)
    await receive(stage, msgspec.structs.replace(restricted, until=now))
    assert "trouble_with_new" not in (await channel(stage))[0]
    await receive(stage, msgspec.structs.replace(restricted, until=now + timedelta(seconds=1)))
    assert (await channel(stage))[0]["trouble_with_new"] == {"because": "Wait.", "at": times.format_time(now)}


async def test_a_problem_is_not_of_a_time_that_has_not_come(stage: Stage) -> None:
    unpaid, ahead = NetworkError(131042, "Unpaid", advice="Pay."), stage.clock.now() + timedelta(hours=2)
    await receive(stage, StatusUpdate("wamid.1", "failed", ahead, error=unpaid, reaction=ErrorReaction.BREAK))
    assert (await channel(stage))[0]["trouble"]["at"] == times.format_time(stage.clock.now())


async def test_a_ban_and_its_end_are_reported_once_each(stage: Stage) -> None:
    before = (await channel(stage))[2]
    for _ in range(3):
        await receive(stage, NumberUpdate("DISABLED_UPDATE", banned=True), NumberUpdate("DISABLED_UPDATE", banned=True))
    assert (await channel(stage))[2] == "banned"
    for _ in range(2):
        await receive(stage, NumberUpdate("DISABLED_UPDATE", banned=False))
    states = [(e["state"], e["previous"]) for e in await data(stage, "ack", "connection")]
    assert states == [("banned", before), ("connected", "banned")]
    reasons = [e["reason"] for e in await data(stage, "ack", "connection")]
    assert "banned" in str(reasons[0])
    assert reasons[1] == "The network accepts messages from this number."


@pytest.mark.parametrize(
    ("status", "connection"),
    [
        ("RESTRICTED", "limited"),
        ("RATE_LIMITED", "limited"),
        ("FLAGGED", "connected"),
        ("DISCONNECTED", "disconnected"),
    ],
)
async def test_a_status_of_the_number_is_a_state_with_a_reason(stage: Stage, status: str, connection: str) -> None:
    await receive(stage, NumberUpdate("x", banned=True))
    for _ in range(2):
        await receive(stage, NumberUpdate("account_update", status=status))
    state, _, found, reason = await channel(stage)
    assert (state["status"], found) == (status, connection)
    assert reason
    assert len(await read_events(stage, "ack", "connection")) == 2
    await receive(stage, NumberUpdate("x", status="SOMETHING_NEW"))
    assert (await channel(stage))[2] == connection


# -- preferences ------------------------------------------------------------------------------------------------------


def option(person: dict[str, Any], value: str, **more: Any) -> NumberUpdate:
    one = {"person": person, "category": "marketing_messages", "value": value, **more}
    return NumberUpdate("user_preferences", details={"preferences": [one]})


async def test_somebody_wants_no_marketing_and_then_wants_it_again(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person(ANA.phone, user_id="US.1")))
    stop = stage.clock.now()
    for _ in range(3):
        await receive(stage, option({"user_id": "US.1"}, "stop"))
        stage.clock.advance(60)
    assert (await contact_of(stage, ANA.phone or ""))["opted_out"] == stop
    await receive(
        stage, option({"phone": ANA.phone}, "later"), option({"phone": ANA.phone}, "resume", category="other")
    )
    assert (await contact_of(stage, ANA.phone or ""))["opted_out"] == stop
    for _ in range(2):
        await receive(stage, option({"phone": ANA.phone}, "resume"))
    assert (await contact_of(stage, ANA.phone or ""))["opted_out"] is None
    events = [(e["changed"], e["opted_out"]) for e in await data(stage, "contact")]
    assert events == [(["opted_out"], True), (["opted_out"], False)]
    assert "tier" not in (await channel(stage))[0]


async def test_a_preference_that_comes_late_or_twice_does_not_undo_a_newer_one(stage: Stage) -> None:
    def said(value: str, age: int) -> NumberUpdate:
        return option({"phone": ANA.phone}, value, timestamp=int(start.timestamp()) - age)

    async def preferences() -> list[bool]:
        return [e["opted_out"] for e in await data(stage, "contact") if "opted_out" in e["changed"]]

    start = stage.clock.now()
    await receive(stage, message_from(stage, ANA), said("stop", 50), said("resume", 60))
    for value, age in (("resume", 60), ("resume", 51), ("stop", 50)):
        await receive(stage, said(value, age))
    assert await preferences() == [True]
    await receive(stage, said("resume", 40), said("stop", 50))
    await receive(stage, said("stop", 50))
    assert await preferences() == [True, False]
    await receive(stage, said("stop", -3600))  # a clock that is ahead counts as now
    await receive(stage, option({"phone": ANA.phone}, "resume"))  # no time: now
    assert await preferences() == [True, False, True, False]


async def test_a_preference_that_is_older_than_what_people_set_changes_nothing(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA))
    now, contact = stage.clock.now(), (await contact_of(stage, ANA.phone or ""))["id"]
    await change_contact(stage.db, stage.ref, stage.channel_id, contact, ContactFields(opted_out=True), now)
    await receive(stage, option({"phone": ANA.phone}, "resume", timestamp=int(now.timestamp()) - 60))
    assert (await contact_of(stage, ANA.phone or ""))["opted_out"] == now


async def test_a_preference_of_an_unknown_person_creates_a_contact(stage: Stage) -> None:
    await receive(stage, option({"user_id": "US.9"}, "stop"))
    assert (await contact_of(stage, "user:US.9"))["opted_out"] == stage.clock.now()
